import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import type { Catalog } from "#catalog/catalog.ts";
import type { CatalogMode } from "#catalog/catalog-draft.ts";
import { toActor, toMaker } from "#http/door/guard.ts";
import { json, route } from "#http/door/route.ts";
import { readSwitch, Switch } from "#http/door/switch.ts";
import { CatalogOutcome } from "#http/schemas/catalog.ts";
import { MODEL, PROVIDER } from "#http/schemas/examples.ts";
import { CatalogFile, CatalogRequest } from "#http/schemas/catalog-file.ts";
import { requireFreeMaker } from "#identity/keys.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toCatalogDraft, toCatalogFileView } from "#views/catalog-file.ts";
import { toCatalogOutcomeView } from "#views/catalog-outcome.ts";
import type { People } from "#people/people.ts";
import { type PeopleFile, toPeopleDraft, toPeopleFileView, toPeopleOutcomeView } from "#views/people-file.ts";

const PROVIDERS = { [PROVIDER.name]: { base_url: PROVIDER.base_url, api_key_env: "OPENAI_API_KEY" } };
const FILE = {
  lockport_catalog: 1,
  providers: PROVIDERS,
  models: {
    [MODEL.alias]: {
      provider: MODEL.provider,
      upstream_name: MODEL.upstream_name,
      capabilities: MODEL.capabilities,
    },
    fast: { target: MODEL.alias },
  },
  feeds: [{ version: "2026-03", prices: { [MODEL.upstream_name]: { input_tokens: 2.5 } } }],
};

export interface CatalogRoutesDeps {
  readonly catalog: Catalog;
  readonly people: People;
}

/** The whole catalog as one file, on request with the people, keys and limits of the installation. */
export function catalogRoutes({ catalog, people }: CatalogRoutesDeps) {
  return [
    route({
      method: "GET",
      path: "/admin/v1/catalog",
      tag: "Catalog",
      access: "admin",
      summary: "The whole catalog as one file",
      description: "What has its default is left out. No secret is in it.",
      query: [
        {
          name: "people",
          schema: Switch,
          description: "With `principals`, `keys` and `limits`.",
          example: "1",
        },
      ],
      answer: json(200, CatalogFile, FILE),
      errors: ["invalid_request"],
      run: async ({ request }) => {
        if (!readSwitch(new URL(request.url).searchParams, "people"))
          return toCatalogFileView(await catalog.snapshot());
        const current = await people.read();
        return { ...toCatalogFileView(current.catalog), ...toPeopleFileView(current.people) };
      },
    }),
    route({
      method: "POST",
      path: "/admin/v1/catalog",
      tag: "Catalog",
      access: "admin",
      summary: "Bring the catalog to a file",
      description:
        "All of it or nothing, in one transaction. What the file does not have stays, unless `prune` is set; a stored key or trust root of a provider always stays. `principals`, `keys` and `limits` are left alone where they are absent, and so are `providers`, `models`, `feeds` and `prices_to_come` where one of the former is there and none of these; terms of a key are set as by an admin, a secret that differs from a key's takes its place, and a limit goes on with what was used of it. `prune` keeps principals of single sign-on, the caller, and the keys of both. A key that has an expiry or models is refused `keys` with `admin_required`, also in a dry run. `param` of a refusal leads into the file: `models.gpt.prices.input_tokens`.",
      query: [
        {
          name: "dry_run",
          schema: Switch,
          description: "Answers what would change, and changes nothing.",
          example: "1",
        },
        {
          name: "prune",
          schema: Switch,
          description: "Removes what the file does not have, of people only in the sections that it has.",
        },
        {
          name: "add_only",
          schema: Switch,
          description:
            "Leaves what is there as it is, but for a provider's missing key; refuses what leads elsewhere.",
        },
      ],
      body: CatalogRequest,
      bodyBytesMax: FEED_BODY_BYTES_MAX,
      example: FILE,
      answer: json(200, CatalogOutcome, {
        applied: false,
        changes: [
          {
            action: "update",
            kind: "model",
            name: MODEL.alias,
            before: { hidden: true },
            after: { hidden: false },
          },
        ],
        kept: { providers: 0, models: 0, prices: 0 },
        missing: [],
      }),
      errors: [
        "invalid_name",
        "invalid_base_url",
        "invalid_endpoint",
        "invalid_override",
        "invalid_target",
        "invalid_pricing",
        "invalid_price_variants",
        "provider_not_found",
        "provider_exists",
        "alias_exists",
        "model_in_use",
        "model_not_found",
        "invalid_date",
        "too_many_schedules",
        "invalid_label",
        "invalid_expiry",
        "invalid_models",
        "invalid_tags",
        "principal_not_found",
        "key_not_found",
        "principal_exists",
        "limit_exists",
        "last_admin",
        "too_many_keys",
        "too_many_limits",
      ],
      run: async ({ body, request, caller }) => {
        const query = new URL(request.url).searchParams;
        const isDryRun = readSwitch(query, "dry_run");
        if (body.keys !== undefined) requireFreeMaker(toMaker(caller));
        const [mode, actor] = [readMode(query), toActor(caller)];
        const ofPeople = PEOPLE.find((section) => body[section] !== undefined);
        if (ofPeople === undefined) {
          const outcome = await catalog.apply(toCatalogDraft(body), { mode, isDryRun, actor });
          return toCatalogOutcomeView(outcome, !isDryRun);
        }
        if (mode === "add")
          throw new ProxyError(
            "invalid_request",
            "add_only takes providers, models, feeds and prices to come: send principals, keys and limits without it.",
            { param: ofPeople },
          );
        const isOfCatalog = CATALOG.some((section) => body[section] !== undefined);
        const draft = { catalog: isOfCatalog ? toCatalogDraft(body) : null, people: toPeopleDraft(body) };
        const outcome = await people.apply(draft, { isPruned: mode === "prune", isDryRun, actor });
        const view = toCatalogOutcomeView(outcome.catalog, !isDryRun);
        const { changes, kept, skipped } = toPeopleOutcomeView(outcome.people);
        return {
          ...view,
          changes: [...view.changes, ...changes],
          kept: { ...view.kept, ...kept },
          skipped,
        };
      },
    }),
  ] as const;
}

const PEOPLE = ["principals", "keys", "limits"] as const satisfies readonly (keyof PeopleFile)[];

const CATALOG = ["providers", "models", "feeds", "prices_to_come"] as const;

function readMode(query: URLSearchParams): CatalogMode {
  const [isPruned, isAdded] = [readSwitch(query, "prune"), readSwitch(query, "add_only")];
  if (isPruned && isAdded)
    throw new ProxyError("invalid_request", "Send either prune or add_only, not both.", {
      param: "add_only",
    });
  return isPruned ? "prune" : isAdded ? "add" : "keep";
}

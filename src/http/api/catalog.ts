import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import type { Catalog } from "#catalog/catalog.ts";
import type { CatalogMode } from "#catalog/catalog-draft.ts";
import { toActor } from "#http/door/guard.ts";
import { json, route } from "#http/door/route.ts";
import { readSwitch, Switch } from "#http/door/switch.ts";
import { CatalogOutcome } from "#http/schemas/catalog.ts";
import { MODEL, PROVIDER } from "#http/schemas/examples.ts";
import { CatalogFile, CatalogRequest } from "#http/schemas/catalog-file.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toCatalogDraft, toCatalogFileView } from "#views/catalog-file.ts";
import { toCatalogOutcomeView } from "#views/catalog-outcome.ts";

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

/** The whole catalog as one file. */
export function catalogRoutes(catalog: Catalog) {
  return [
    route({
      method: "GET",
      path: "/admin/v1/catalog",
      tag: "Catalog",
      access: "admin",
      summary: "The whole catalog as one file",
      description: "What has its default is left out. No secret is in it.",
      answer: json(200, CatalogFile, FILE),
      run: async () => toCatalogFileView(await catalog.snapshot()),
    }),
    route({
      method: "POST",
      path: "/admin/v1/catalog",
      tag: "Catalog",
      access: "admin",
      summary: "Bring the catalog to a file",
      description:
        "All of it or nothing, in one transaction. What the file does not have stays, unless `prune` is set; a stored key or trust root always stays. `param` of a refusal leads into the file: `models.gpt.prices.input_tokens`.",
      query: [
        {
          name: "dry_run",
          schema: Switch,
          description: "Answers what would change, and changes nothing.",
          example: "1",
        },
        { name: "prune", schema: Switch, description: "Removes what the file does not have." },
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
        "provider_not_found",
        "provider_exists",
        "alias_exists",
        "model_in_use",
      ],
      run: async ({ body, request, caller }) => {
        const query = new URL(request.url).searchParams;
        const isDryRun = readSwitch(query, "dry_run");
        const call = { mode: readMode(query), isDryRun, actor: toActor(caller) };
        return toCatalogOutcomeView(await catalog.apply(toCatalogDraft(body), call), !isDryRun);
      },
    }),
  ] as const;
}

function readMode(query: URLSearchParams): CatalogMode {
  const [isPruned, isAdded] = [readSwitch(query, "prune"), readSwitch(query, "add_only")];
  if (isPruned && isAdded)
    throw new ProxyError("invalid_request", "Send either prune or add_only, not both.", {
      param: "add_only",
    });
  return isPruned ? "prune" : isAdded ? "add" : "keep";
}

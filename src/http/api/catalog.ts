import { Elysia } from "elysia";
import type { Catalog } from "#catalog/catalog.ts";
import type { CatalogDraft } from "#catalog/catalog-draft.ts";
import type { CatalogMode } from "#catalog/catalog-plan.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { CatalogRequest } from "#http/schemas/requests.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toCatalogFileView, toCatalogOutcomeView } from "#views/catalog-file.ts";

/** The whole catalog as one file. Its guard reads bodies of up to FEED_BODY_BYTES_MAX. */
export function catalogRoutes(guard: Guard, catalog: Catalog) {
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .get("/catalog", async () => toCatalogFileView(await catalog.snapshot()), { access: "admin" })
    .post(
      "/catalog",
      async ({ body, query, caller }) => {
        const isDryRun = readSwitch(query, "dry_run");
        const call = { mode: readMode(query), isDryRun, actor: toActor(caller) };
        return toCatalogOutcomeView(await catalog.apply(toCatalogDraft(body), call), !isDryRun);
      },
      { access: "admin", body: CatalogRequest },
    );
}

type Query = { readonly [name: string]: string | undefined };

function readMode(query: Query): CatalogMode {
  const [isPruned, isAdded] = [readSwitch(query, "prune"), readSwitch(query, "add_only")];
  if (isPruned && isAdded)
    throw new ProxyError("invalid_request", "Send either prune or add_only, not both.", {
      param: "add_only",
    });
  return isPruned ? "prune" : isAdded ? "add" : "keep";
}

function readSwitch(query: Query, name: string): boolean {
  const value = query[name] ?? "0";
  if (value === "1" || value === "true") return true;
  // A dry run that is spelled wrong must not change anything.
  if (value === "0" || value === "false") return false;
  throw new ProxyError("invalid_request", `${name} is 1 or true, or left out.`, { param: name });
}

/** The file in the catalog's own words. */
export function toCatalogDraft({
  providers = {},
  models = {},
  feeds = [],
}: typeof CatalogRequest.static): CatalogDraft {
  return {
    providers: Object.entries(providers).map(([name, provider]) => ({
      name,
      baseUrl: provider.base_url,
      apiKey: provider.api_key,
      needsCredential: provider.api_key_env !== undefined || provider.api_key_file !== undefined,
      caPem: provider.ca_pem,
      needsCa: provider.ca_pem_file !== undefined,
      verifyTls: provider.verify_tls,
      timeoutConnectSeconds: provider.timeout_connect,
      timeoutReadSeconds: provider.timeout_read,
      maxConcurrency: provider.max_concurrency,
      endpoints: provider.endpoints,
      enabled: provider.enabled,
    })),
    models: Object.entries(models).map(([alias, model]) => ({
      alias,
      provider: model.provider,
      upstreamName: model.upstream_name,
      target: model.target,
      capabilities: model.capabilities,
      pricing: model.prices,
      hidden: model.hidden,
      origin: model.origin,
    })),
    feeds,
  };
}

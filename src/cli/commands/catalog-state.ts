import { isUnit } from "#kernel/units.ts";
import { toCapabilitySet, toPrices, type CatalogState } from "#interchange/catalog-state.ts";
import { ask, toPathPart, type Client } from "#cli/installation/client.ts";
import { listModels, listProviders } from "#cli/installation/lists.ts";

/** The whole catalog as an installation tells it. Reads only; not one moment's picture where others change it meanwhile. */
export async function readCatalogState(api: Client): Promise<CatalogState> {
  const providers: ProviderView[] = [];
  for (const { name } of await listProviders(api)) providers.push(await readProvider(api, name));
  const models = await listModels(api);
  const pricing = await ask(api.admin.v1.pricing.get());
  return {
    providers: new Map(providers.map((provider) => [provider.name, toProvider(provider)])),
    models: new Map(models.map((model) => [model.alias, toModel(model)])),
    // A unit that this version does not know is a newer server's, and stays as it is there.
    prices: pricing.entries.flatMap(({ model: name, unit, price_per_million: pricePerMillion, version }) =>
      isUnit(unit) ? [{ name, unit, pricePerMillion, version }] : [],
    ),
    feedVersion: pricing.version,
  };
}

type ProviderView = Awaited<ReturnType<typeof readProvider>>;
type ModelView = Awaited<ReturnType<typeof listModels>>[number];

/** With its endpoints, which lists leave out. */
async function readProvider(api: Client, name: string) {
  return ask(api.admin.v1.providers({ name: toPathPart(name) }).get());
}

function toProvider(provider: ProviderView) {
  return {
    baseUrl: provider.base_url,
    verifyTls: provider.verify_tls,
    timeoutConnectSeconds: provider.timeout_connect,
    timeoutReadSeconds: provider.timeout_read,
    maxConcurrency: provider.max_concurrency,
    enabled: provider.enabled,
    endpoints: provider.endpoints,
    hasCredential: provider.has_credential,
    hasCustomCa: provider.has_custom_ca,
  };
}

function toModel(model: ModelView) {
  const { provider, upstream_name: upstreamName, target } = model;
  return {
    route:
      target === null
        ? {
            kind: "binding" as const,
            provider,
            upstreamName,
            capabilities: toCapabilitySet(model.capabilities),
          }
        : { kind: "name" as const, target },
    origin: model.origin,
    hidden: model.hidden,
    prices: toPrices((unit) => model.pricing[unit]),
  };
}

import type { EndpointOverrides } from "#catalog/provider.ts";
import { ENDPOINTS } from "#catalog/capability.ts";
import { toCapabilitySet, toPrices, type CatalogState, type StatePrice } from "#interchange/catalog-state.ts";
import { isUnit } from "#kernel/units.ts";
import type { Installation } from "#cli/installation/installation.ts";
import {
  findNumber,
  findText,
  isWireObject,
  readBoolean,
  readNumber,
  readNumbers,
  readObjects,
  readText,
  readTexts,
  type WireObject,
} from "#cli/installation/wire.ts";

/** The whole catalog as an installation tells it. Reads only; not one moment's picture where others change it meanwhile. */
export async function readCatalogState(installation: Installation): Promise<CatalogState> {
  const listed = await installation.listProviders();
  const providers: WireObject[] = [];
  for (const provider of listed) providers.push(await installation.getProvider(readText(provider, "name")));
  const models = await installation.listModels({ provider: undefined });
  const pricing = await installation.readPricing();
  return {
    providers: new Map(providers.map((provider) => [readText(provider, "name"), toProvider(provider)])),
    models: new Map(models.map((model) => [readText(model, "alias"), toModel(model)])),
    prices: readObjects(pricing, "entries").flatMap(toPrice),
    feedVersion: findText(pricing, "version"),
  };
}

function toProvider(provider: WireObject) {
  return {
    baseUrl: readText(provider, "base_url"),
    verifyTls: readBoolean(provider, "verify_tls"),
    timeoutConnectSeconds: readNumber(provider, "timeout_connect"),
    timeoutReadSeconds: readNumber(provider, "timeout_read"),
    maxConcurrency: findNumber(provider, "max_concurrency"),
    enabled: readBoolean(provider, "enabled"),
    endpoints: toEndpoints(provider["endpoints"]),
    hasCredential: readBoolean(provider, "has_credential"),
    hasCustomCa: readBoolean(provider, "has_custom_ca"),
  };
}

function toEndpoints(value: unknown): EndpointOverrides {
  if (!isWireObject(value)) return {};
  return Object.fromEntries(
    ENDPOINTS.flatMap((endpoint): [string, string][] => {
      const url = findText(value, endpoint);
      return url === null ? [] : [[endpoint, url]];
    }),
  );
}

function toModel(model: WireObject) {
  const target = findText(model, "target");
  const prices = readNumbers(model, "pricing");
  return {
    route:
      target === null
        ? {
            kind: "binding" as const,
            provider: readText(model, "provider"),
            upstreamName: readText(model, "upstream_name"),
            capabilities: toCapabilitySet(readTexts(model, "capabilities")),
          }
        : { kind: "name" as const, target },
    origin: findText(model, "origin") === "discovered" ? ("discovered" as const) : ("declared" as const),
    hidden: readBoolean(model, "hidden"),
    prices: toPrices((unit) => prices.get(unit)),
  };
}

/** A unit that this version does not know is a newer server's, and stays as it is there. */
function toPrice(entry: WireObject): readonly StatePrice[] {
  const unit = entry["unit"];
  if (!isUnit(unit)) return [];
  return [
    {
      name: readText(entry, "model"),
      unit,
      pricePerMillion: readNumber(entry, "price_per_million"),
      version: findText(entry, "version"),
    },
  ];
}

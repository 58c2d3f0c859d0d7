import { isCapability, isEndpoint } from "#catalog/capability.ts";
import type { Capability, Endpoint } from "#catalog/capability.ts";
import type { Model, Route } from "#catalog/model.ts";
import type { EndpointOverrides, Provider } from "#catalog/provider.ts";
import type { CatalogWrite } from "#catalog/store.ts";

/** A provider as its columns hold it. */
interface ProviderRow extends Omit<Provider, "endpoints"> {
  /** JSON object: endpoint → URL. */
  readonly endpoints: string;
}

/** A model as its columns hold it: a binding, or a name for another row. */
export interface ModelRow extends Omit<Model, "route"> {
  readonly providerId: string | null;
  readonly upstreamName: string | null;
  /** JSON array; null for a name. */
  readonly capabilities: string | null;
  readonly targetId: string | null;
}

/** A row that the schema allows and no version of ours writes: the database was changed by hand. */
class UnreadableRowError extends Error {
  override readonly name = "UnreadableRowError";
}

export function toProvider(row: ProviderRow): Provider {
  return { ...row, endpoints: parseEndpoints(row) };
}

export function toProviderRow(provider: Provider) {
  const { sealedCredential } = provider;
  return {
    ...provider,
    endpoints: JSON.stringify(provider.endpoints),
    sealedCredential: sealedCredential === null ? null : Buffer.from(sealedCredential),
  };
}

export function toModel(row: ModelRow): Model {
  return {
    id: row.id,
    alias: row.alias,
    route: toRoute(row),
    origin: row.origin,
    hidden: row.hidden,
    createdAtUs: row.createdAtUs,
  };
}

export function toModelRow(model: Model): ModelRow {
  const { route, ...columns } = model;
  return route.kind === "name"
    ? { ...columns, targetId: route.targetId, providerId: null, upstreamName: null, capabilities: null }
    : {
        ...columns,
        targetId: null,
        providerId: route.providerId,
        upstreamName: route.upstreamName,
        capabilities: JSON.stringify(route.capabilities),
      };
}

function toRoute(row: ModelRow): Route {
  const { providerId, upstreamName, targetId } = row;
  if (targetId !== null) return { kind: "name", targetId };
  if (providerId === null || upstreamName === null)
    throw new UnreadableRowError(`model ${row.id} has no route`);
  return { kind: "binding", providerId, upstreamName, capabilities: parseCapabilities(row) };
}

function parseCapabilities(row: ModelRow): readonly Capability[] {
  const parsed: unknown = JSON.parse(row.capabilities ?? "null");
  if (!Array.isArray(parsed) || !parsed.every(isCapability)) {
    throw new UnreadableRowError(`model ${row.id} has an unknown capability`);
  }
  return parsed;
}

function parseEndpoints(row: ProviderRow): EndpointOverrides {
  const parsed: unknown = JSON.parse(row.endpoints);
  const endpoints: { [endpoint in Endpoint]?: string } = {};
  for (const [endpoint, url] of Object.entries(parsed ?? {})) {
    if (!isEndpoint(endpoint) || typeof url !== "string") {
      throw new UnreadableRowError(`provider ${row.id} has an unknown endpoint`);
    }
    endpoints[endpoint] = url;
  }
  return endpoints;
}

/** The key of the one row that tells of the newest load of a feed. */
export const FEED_ROW_ID = 1;

/** Whether the prices are others after it. */
export function isOfPrice({ kind }: CatalogWrite): boolean {
  return kind === "put_price" || kind === "delete_price";
}

/** Plans are made of the catalog as it is, so a row that is not there is a mistake of the plan, not a race. */
export function requireFound({ kind }: CatalogWrite, isFound: boolean): void {
  if (!isFound) throw new Error(`${kind} found no row`);
}

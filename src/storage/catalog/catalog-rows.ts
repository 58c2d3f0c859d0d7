import { isCapability } from "#catalog/capability.ts";
import { isEndpoint } from "#catalog/endpoint.ts";
import type { Capability } from "#catalog/capability.ts";
import type { Endpoint } from "#catalog/endpoint.ts";
import type { Model, Route } from "#catalog/model.ts";
import { isAuthStyle } from "#catalog/auth-style.ts";
import type { EndpointOverrides, Provider } from "#catalog/provider.ts";
import type { RowOf } from "#storage/sql/table.ts";
import { parseJson } from "./json-columns.ts";
import type { models, providers } from "./tables.ts";
import { UnreadableRowError } from "./unreadable.ts";

export type ProviderRow = RowOf<typeof providers>;
/** A binding, or a name for another row. */
export type ModelRow = RowOf<typeof models>;

/** Throws UnreadableRowError, as `toModel` does. */
export function toProvider(row: ProviderRow): Provider {
  const endpoints = parseEndpoints(row.endpoints);
  if (endpoints === null)
    throw new UnreadableRowError({ table: "providers", id: row.id, column: "endpoints" });
  if (!isAuthStyle(row.authStyle))
    throw new UnreadableRowError({ table: "providers", id: row.id, column: "auth_style" });
  return { ...row, endpoints };
}

export function toProviderRow(provider: Provider): ProviderRow {
  return { ...provider, endpoints: JSON.stringify(provider.endpoints) };
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
  const { id, providerId, upstreamName, targetId } = row;
  if (targetId !== null) return { kind: "name", targetId };
  const refuse = (column: string) => new UnreadableRowError({ table: "models", id, column });
  if (providerId === null) throw refuse("provider_id");
  if (upstreamName === null) throw refuse("upstream_name");
  const capabilities = parseCapabilities(row.capabilities ?? "null");
  if (capabilities === null) throw refuse("capabilities");
  return { kind: "binding", providerId, upstreamName, capabilities };
}

export function isReadableCapabilities(text: string): boolean {
  return parseCapabilities(text) !== null;
}

export function isReadableEndpoints(text: string): boolean {
  return parseEndpoints(text) !== null;
}

function parseCapabilities(text: string): readonly Capability[] | null {
  const parsed = parseJson(text);
  return Array.isArray(parsed) && parsed.every(isCapability) ? parsed : null;
}

function parseEndpoints(text: string): EndpointOverrides | null {
  const endpoints: { [endpoint in Endpoint]?: string } = {};
  for (const [endpoint, url] of Object.entries(parseJson(text) ?? {})) {
    if (!isEndpoint(endpoint) || typeof url !== "string") return null;
    endpoints[endpoint] = url;
  }
  return endpoints;
}

import { ProxyError } from "#kernel/errors.ts";
import { findNearest } from "#kernel/nearest.ts";
import { toQuoted } from "#kernel/printable.ts";
import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import type { Capability } from "./capability.ts";
import { type EndpointName, toRow } from "./endpoint.ts";
import { isInScope, type ModelScope } from "./model.ts";
import type { Provider } from "./provider.ts";
import type { CatalogSnapshot, ResolvedModel } from "./snapshot.ts";

/**
 * Resolves an alias as of this moment; used alike by the data plane and by `GET /admin/v1/resolve`.
 * Throws `model_not_found` (param `model`): for a model in scope whose provider is disabled with that as its reason.
 */
export function resolveModel(
  snapshot: CatalogSnapshot,
  alias: string,
  scope: ModelScope = null,
): ResolvedModel {
  const resolved = snapshot.findModel(alias);
  if (resolved === null || !isInScope(scope, alias)) throw toUnknownModel(snapshot, alias, scope);
  return requireEnabled(resolved);
}

/** Throws `model_not_found` (param `model`) for a model whose provider is disabled. */
export function requireEnabled(resolved: ResolvedModel): ResolvedModel {
  if (resolved.provider.enabled) return resolved;
  const { alias } = resolved.model;
  throw new ProxyError(
    "model_not_found",
    `The model ${toQuoted(alias, ALIAS_LENGTH_MAX)} is not served: its provider is disabled.`,
    { param: "model", model: alias },
  );
}

/** Names what was asked for, and the nearest model that `GET /v1/models` shows this caller. */
function toUnknownModel(snapshot: CatalogSnapshot, alias: string, scope: ModelScope): ProxyError {
  const nearest = alias.length > ALIAS_LENGTH_MAX ? null : findNearestModel(snapshot, alias, scope);
  const hint = nearest === null ? "" : ` Did you mean ${toQuoted(nearest, ALIAS_LENGTH_MAX)}?`;
  return new ProxyError(
    "model_not_found",
    `The model ${toQuoted(alias, ALIAS_LENGTH_MAX)} is not served here.${hint} GET /v1/models lists the models that are.`,
    { param: "model", model: alias },
  );
}

/**
 * Answers of one snapshot. Of 10,000 similar names a search takes some 10 ms, and a client that asks for a wrong one asks again;
 * a scope is short.
 */
const found = new WeakMap<CatalogSnapshot, Map<string, string | null>>();
const FOUND_MAX = 100;

function findNearestModel(snapshot: CatalogSnapshot, alias: string, scope: ModelScope): string | null {
  if (scope !== null) return searchNearest(snapshot, alias, scope);
  let known = found.get(snapshot);
  if (known === undefined || known.size >= FOUND_MAX) {
    known = new Map();
    found.set(snapshot, known);
  }
  const earlier = known.get(alias);
  if (earlier !== undefined) return earlier;
  const nearest = searchNearest(snapshot, alias, null);
  known.set(alias, nearest);
  return nearest;
}

function searchNearest(snapshot: CatalogSnapshot, alias: string, scope: ModelScope): string | null {
  // In lower case on both sides: a name in other letters is the nearest there is.
  const shown = new Map<string, string>();
  for (const { model, provider } of snapshot.models) {
    if (provider.enabled && !model.hidden && isInScope(scope, model.alias))
      shown.set(model.alias.toLowerCase(), model.alias);
  }
  const asked = alias.toLowerCase();
  const names = [...shown.keys()];
  // `openai/gpt-4o` for `gpt-4o`, and the other way round, as other gateways name them: no distance finds that.
  const nearest =
    findNearest(asked, names) ?? names.find((name) => withoutVendor(name) === withoutVendor(asked));
  return shown.get(nearest ?? "") ?? null;
}

function withoutVendor(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/**
 * Holds the table of section 2.2: each endpoint needs its capability, a streamed chat also `chat_stream`.
 * Throws `endpoint_not_supported` (param `model`), naming what is missing and what the model supports.
 */
export function requireCapability(resolved: ResolvedModel, endpoint: EndpointName, stream: boolean): void {
  const { capabilities } = resolved;
  const { capability, streamCapability } = toRow(endpoint);
  const further = stream ? streamCapability : undefined;
  // The common case leaves without making an array: this runs on every request.
  if (capabilities.includes(capability) && (further === undefined || capabilities.includes(further))) return;
  throw toNotSupported(resolved, endpoint, further === undefined ? [capability] : [capability, further]);
}

function toNotSupported(
  resolved: ResolvedModel,
  endpoint: EndpointName,
  needed: readonly Capability[],
): ProxyError {
  const { capabilities } = resolved;
  const { isAlwaysOpen } = toRow(endpoint);
  const missing = needed.filter((name) => !capabilities.includes(name));
  const supported = capabilities.length === 0 ? "none" : capabilities.join(", ");
  const told = `This model does not support this endpoint. Missing capabilities: ${missing.join(", ")}. Supported capabilities: ${supported}.`;
  const { alias } = resolved.bound;
  return new ProxyError(
    "endpoint_not_supported",
    isAlwaysOpen === true ? told : `${told} An admin adds it: ${toAddCommand(alias, missing)}`,
    { param: "model", model: resolved.model.alias },
  );
}

/** The command that gives a model these capabilities beside those that it has. */
export function toAddCommand(alias: string, capabilities: readonly Capability[]): string {
  return `lockport model set ${alias} ${capabilities.map((name) => `--add-capability ${name}`).join(" ")}`;
}

/**
 * The exact URL that is called: the provider's base URL and the dialect's path, or its override for the capability, whose path
 * goes on as the endpoint's does, before a query of its own. `id` is the segment at `:id`.
 */
export function upstreamUrl(
  { baseUrl, endpoints }: Pick<Provider, "baseUrl" | "endpoints">,
  endpoint: EndpointName,
  id = "",
): string {
  const { capability, path, override } = toRow(endpoint);
  const first = toRow(capability).path;
  const overriding = endpoints[capability];
  if (overriding === undefined) return baseUrl + path.replace(":id", () => id);
  if (override === undefined) return overriding;
  const queryAt = overriding.indexOf("?");
  const address = queryAt === -1 ? overriding : overriding.slice(0, queryAt);
  const query = queryAt === -1 ? "" : overriding.slice(queryAt);
  if (override === "replaces_last_segment")
    return address.replace(/\/[^/]*\/?$/, path.slice(path.lastIndexOf("/"))) + query;
  return address.replace(/\/$/, "") + path.slice(first.length).replace(":id", () => id) + query;
}

/** An upstream's URL with the caller's query, which begins with a question mark unless there is none. */
export function withQuery(url: string, query: string): string {
  if (query.length < 2) return url;
  return url.includes("?") ? `${url}&${query.slice(1)}` : url + query;
}

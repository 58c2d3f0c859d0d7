import { ProxyError } from "#kernel/errors.ts";
import { findNearest } from "#kernel/nearest.ts";
import { toQuoted } from "#kernel/printable.ts";
import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import type { Capability, Endpoint } from "./capability.ts";
import { isInScope, type ModelScope } from "./model-scope.ts";
import type { Provider } from "./provider.ts";
import type { CatalogSnapshot, ResolvedModel } from "./snapshot.ts";

/**
 * What an alias stands for at this moment; used alike by the data plane and by `GET /admin/v1/resolve`.
 * Throws `model_not_found` (param `model`): for a model in scope whose provider is disabled with that as its reason.
 */
export function resolveModel(
  snapshot: CatalogSnapshot,
  alias: string,
  scope: ModelScope = null,
): ResolvedModel {
  const resolved = snapshot.findModel(alias);
  if (resolved === null || !isInScope(scope, alias)) throw toUnknownModel(snapshot, alias, scope);
  if (!resolved.provider.enabled) {
    throw new ProxyError(
      "model_not_found",
      `The model ${toQuoted(alias, ALIAS_LENGTH_MAX)} is not served: its provider is disabled.`,
      { param: "model", model: alias },
    );
  }
  return resolved;
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
 * Answers of one snapshot. 10,000 similar names take 40 ms, and a client that asks for a wrong one asks again; a scope
 * is short.
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
 * Holds the table of section 2.2: each endpoint needs the capability of its name, a streamed chat also `chat_stream`.
 * Throws `endpoint_not_supported` (param `model`), naming what is missing and what the model supports.
 */
export function requireCapability(resolved: ResolvedModel, endpoint: Endpoint, stream: boolean): void {
  const { capabilities } = resolved;
  // The common case leaves without making an array: this runs on every request.
  if (
    capabilities.includes(endpoint) &&
    !(stream && endpoint === "chat" && !capabilities.includes("chat_stream"))
  )
    return;

  const needed: readonly Capability[] = stream && endpoint === "chat" ? ["chat", "chat_stream"] : [endpoint];
  const missing = needed.filter((capability) => !capabilities.includes(capability)).join(", ");
  const supported = capabilities.length === 0 ? "none" : capabilities.join(", ");
  throw new ProxyError(
    "endpoint_not_supported",
    `This model does not support this endpoint. Missing capabilities: ${missing}. Supported capabilities: ${supported}.`,
    { param: "model", model: resolved.model.alias },
  );
}

const PATHS: { readonly [endpoint in Endpoint]: string } = {
  chat: "/chat/completions",
  completions: "/completions",
  embeddings: "/embeddings",
  transcription: "/audio/transcriptions",
};

/** The exact URL that is called: the provider's override for the endpoint, else its base URL and the dialect's path. */
export function upstreamUrl(provider: Provider, endpoint: Endpoint): string {
  return provider.endpoints[endpoint] ?? provider.baseUrl + PATHS[endpoint];
}

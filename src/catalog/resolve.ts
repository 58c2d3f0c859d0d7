import { ProxyError } from "#kernel/errors.ts";
import type { Capability, Endpoint } from "./capability.ts";
import type { Provider } from "./provider.ts";
import type { CatalogSnapshot, ResolvedModel } from "./snapshot.ts";

/**
 * What an alias stands for at this moment; used alike by the data plane and by `GET /admin/v1/resolve`.
 * Throws `model_not_found` (param `model`), with one message for an unknown alias and for one whose provider is disabled.
 */
export function resolveModel(snapshot: CatalogSnapshot, alias: string): ResolvedModel {
  const resolved = snapshot.findModel(alias);
  if (resolved === null || !resolved.provider.enabled) {
    throw new ProxyError(
      "model_not_found",
      "No such model is served here. GET /v1/models lists the models that are.",
      {
        param: "model",
      },
    );
  }
  return resolved;
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
    { param: "model" },
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

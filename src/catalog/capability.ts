/** What an admin declares a model can do (specification, section 2.2); never probed. */
export const CAPABILITIES = [
  "chat",
  "chat_stream",
  "completions",
  "embeddings",
  "transcription",
  "vision",
] as const;
export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITIES_DEFAULT: readonly Capability[] = ["chat", "chat_stream"];

export function isCapability(value: unknown): value is Capability {
  return CAPABILITIES.some((capability) => capability === value);
}

/** Endpoints that a provider can serve under a URL of its own. `transcription` is reserved: no route serves it. */
export const ENDPOINTS = ["chat", "completions", "embeddings", "transcription"] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

/** The endpoints of the data plane that are served today. */
export type ServedEndpoint = Exclude<Endpoint, "transcription">;

export function isEndpoint(value: unknown): value is Endpoint {
  return ENDPOINTS.some((endpoint) => endpoint === value);
}

/** What an admin declares a model can do (specification, section 2.2, and its endpoints); never probed. */
export const CAPABILITIES = [
  "chat",
  "chat_stream",
  "completions",
  "embeddings",
  "transcription",
  "vision",
  "responses",
  "messages",
  "speech",
  "images",
  "moderation",
  "rerank",
] as const;
export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITIES_DEFAULT: readonly Capability[] = ["chat", "chat_stream"];

export function isCapability(value: unknown): value is Capability {
  return CAPABILITIES.some((capability) => capability === value);
}

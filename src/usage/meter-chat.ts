import { type JsonObject, isJsonObject } from "./json.ts";
import { type Meter, type MeterDialect, type MeterOptions, createMeter } from "./meter.ts";

/** The chat-completions dialect: chat, legacy completions and embeddings say it alike, streamed or not. */
const CHAT: MeterDialect = {
  findUsage: findChatUsage,
  findEventUsage: findChatUsage,
  // `[DONE]` alone: a finish reason is followed by the event that holds the usage.
  isLastEvent: () => false,
  defaultsToExclusive: false,
};

/** A meter for one `/v1` response (decisions, "Usage and prices"). */
export function createChatMeter(options: MeterOptions): Meter {
  return createMeter(CHAT, options);
}

/** Top level, else the first choice (Moonshot's streams), else `x_groq` (Groq's streams); nothing deeper. */
function findChatUsage(message: JsonObject): readonly unknown[] {
  const { usage, choices, x_groq: groq } = message;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return [
    usage,
    isJsonObject(choice) ? choice["usage"] : undefined,
    isJsonObject(groq) ? groq["usage"] : undefined,
  ];
}

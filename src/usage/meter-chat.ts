import { type JsonObject, isJsonObject } from "./json.ts";
import { type Meter, type MeterDialect, type MeterOptions, createMeter, createTelling } from "./meter.ts";
import type { UsageAccumulator } from "./usage-accumulator.ts";

/** The chat-completions dialect: chat, legacy completions and embeddings say it alike, streamed or not. */
const CHAT: MeterDialect = {
  addUsage: addChatUsage,
  addEventUsage: addChatUsage,
  // `[DONE]` alone: a finish reason is followed by the event that holds the usage.
  lastEventType: null,
  defaultsToExclusive: false,
  telling: createTelling(null),
};

/** A meter for one `/v1` response (decisions, "Usage and prices"). */
export function createChatMeter(options: MeterOptions): Meter {
  return createMeter(CHAT, options);
}

/** Top level, else the first choice (Moonshot's streams), else `x_groq` (Groq's streams); nothing deeper. */
function addChatUsage(message: JsonObject, accumulator: UsageAccumulator): void {
  if (accumulator.add(message["usage"])) return;
  const { choices, x_groq: groq } = message;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (isJsonObject(choice) && accumulator.add(choice["usage"])) return;
  if (isJsonObject(groq)) accumulator.add(groq["usage"]);
}

import { type JsonObject, isJsonObject } from "./json.ts";
import { type Meter, type MeterDialect, type MeterOptions, createMeter, createTelling } from "./meter.ts";
import type { UsageAccumulator } from "./usage-accumulator.ts";

/** The chat-completions dialect: chat, legacy completions and embeddings say it alike, streamed or not. */
const CHAT: MeterDialect = {
  addUsage: addChatUsage,
  addEventUsage: addChatUsage,
  endsAnswer: hasFinishReason,
  // `[DONE]` alone: a finish reason is followed by the event that holds the usage.
  isLast: () => false,
  defaultsToExclusive: false,
  telling: createTelling("finish_reason"),
};

/** A meter for one `/v1` response (decisions, "Usage and prices"). */
export function createChatMeter(options: MeterOptions): Meter {
  return createMeter(CHAT, options);
}

/** Top level, else the first choice (Moonshot's streams), else `x_groq` (Groq's streams); nothing deeper. */
function addChatUsage(message: JsonObject, accumulator: UsageAccumulator): boolean {
  if (accumulator.add(message["usage"])) return true;
  const { choices, x_groq: groq } = message;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (isJsonObject(choice) && accumulator.add(choice["usage"])) return true;
  return isJsonObject(groq) && accumulator.add(groq["usage"]);
}

/** Some send an empty one with every event. */
function hasFinishReason({ choices }: JsonObject): boolean {
  if (!Array.isArray(choices)) return false;
  return choices.some((choice: unknown) => {
    const reason = isJsonObject(choice) ? choice["finish_reason"] : null;
    return typeof reason === "string" && reason !== "";
  });
}

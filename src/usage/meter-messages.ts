import { type JsonObject, isJsonObject } from "./json.ts";
import { type Meter, type MeterDialect, type MeterOptions, createMeter } from "./meter.ts";

/** The messages dialect: cache reads and cache writes are counted beside the input, never in it. */
const MESSAGES: MeterDialect = {
  findUsage: ({ usage }) => [usage],
  findEventUsage: findMessageUsage,
  isLastEvent: ({ type }) => type === "message_stop",
  defaultsToExclusive: true,
};

/** Counting tokens uses none, whatever its answer holds. */
const COUNTING: MeterDialect = { ...MESSAGES, findUsage: () => [], findEventUsage: () => [] };

export interface MessagesMeterOptions extends MeterOptions {
  /** Whether the request only counted tokens. */
  readonly counting: boolean;
}

/** A meter for one relayed response (decisions, "Usage and prices"). */
export function createMessagesMeter(options: MessagesMeterOptions): Meter {
  return createMeter(options.counting ? COUNTING : MESSAGES, options);
}

/** What a stream begins with, and what it says at its end; other events hold content. */
function findMessageUsage(event: JsonObject): readonly unknown[] {
  const { type, message, usage } = event;
  if (type === "message_start") return [isJsonObject(message) ? message["usage"] : undefined];
  return type === "message_delta" ? [usage] : [];
}

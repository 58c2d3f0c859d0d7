import { type JsonObject, isJsonObject } from "./json.ts";
import { type Meter, type MeterDialect, type MeterOptions, createMeter, createTelling } from "./meter.ts";
import type { UsageAccumulator } from "./usage-accumulator.ts";

const FIRST_EVENT_TYPE = "message_start";
const LAST_EVENT_TYPE = "message_stop";
/** With the reason of the stop: nothing of the answer comes behind it. */
const DELTA_TYPE = "message_delta";
/** What follows the last of them is `message_delta`, with the reason of the stop and the usage in one. */
const BLOCK_END_TYPE = "content_block_stop";

/** The messages dialect: cache reads and cache writes are counted beside the input, never in it. */
const MESSAGES: MeterDialect = {
  addUsage: ({ usage }, accumulator) => void accumulator.add(usage),
  addEventUsage: addMessageUsage,
  findModel: findMessageModel,
  beginsUsage: ({ type }) => type === FIRST_EVENT_TYPE,
  endsAnswer: ({ type }) => type === BLOCK_END_TYPE,
  isLast: ({ type, delta }) => type === LAST_EVENT_TYPE || (type === DELTA_TYPE && hasStopReason(delta)),
  defaultsToExclusive: true,
  countsWebSearches: true,
  telling: createTelling(LAST_EVENT_TYPE, BLOCK_END_TYPE, "stop_reason"),
};

/** Counting tokens uses none, whatever its answer holds. */
const COUNTING: MeterDialect = {
  ...MESSAGES,
  addUsage: () => undefined,
  addEventUsage: () => false,
  endsAnswer: () => false,
};

export interface MessagesMeterOptions extends MeterOptions {
  /** Whether the request only counted tokens. */
  readonly counting: boolean;
}

/** A meter for one relayed response (decisions, "Usage and prices"). */
export function createMessagesMeter(options: MessagesMeterOptions): Meter {
  return createMeter(options.counting ? COUNTING : MESSAGES, options);
}

/** A stream names it where it begins. */
function findMessageModel({ type, message, model }: JsonObject): unknown {
  return type === FIRST_EVENT_TYPE && isJsonObject(message) ? message["model"] : model;
}

/** What a stream begins with, and what it says at its end; other events hold content. */
function addMessageUsage({ type, message, usage }: JsonObject, accumulator: UsageAccumulator): boolean {
  if (type === FIRST_EVENT_TYPE) return accumulator.add(isJsonObject(message) ? message["usage"] : undefined);
  return type === DELTA_TYPE && accumulator.add(usage);
}

function hasStopReason(delta: unknown): boolean {
  return isJsonObject(delta) && typeof delta["stop_reason"] === "string";
}

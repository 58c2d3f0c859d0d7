import { type JsonObject, isJsonObject } from "./json.ts";
import {
  type Meter,
  type MeterDialect,
  type MeterOptions,
  type ToldResponse,
  createMeter,
  createTelling,
} from "./meter.ts";

/** The events that end a stream, each with the whole response in it (`ResponseStreamEvent` of openai 7.57). */
const LAST_EVENTS: ReadonlySet<unknown> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);
/** Behind the last of them comes a last event, with the usage. */
const ITEM_END_TYPE = "response.output_item.done";

/**
 * The responses dialect: a response stands alone, or in the member `response` of the events with which a stream begins and
 * ends. Those between have no such member, and are passed over.
 */
const RESPONSES: MeterDialect = {
  addUsage: ({ usage }, accumulator) => void accumulator.add(usage),
  addEventUsage: ({ type, response }, accumulator) =>
    LAST_EVENTS.has(type) && isJsonObject(response) && accumulator.add(response["usage"]),
  findResponse: (message) => toTold(toResponse(message)),
  findFailure,
  endsAnswer: ({ type }) => type === ITEM_END_TYPE,
  isLast: ({ type }) => LAST_EVENTS.has(type),
  defaultsToExclusive: false,
  telling: createTelling("response", ITEM_END_TYPE),
};

/** A meter for one answer of the Responses API. */
export function createResponsesMeter(options: MeterOptions): Meter {
  return createMeter(RESPONSES, options);
}

const TERMINAL: ReadonlySet<string | null> = new Set(["completed", "failed", "incomplete", "cancelled"]);

/** Whether nothing more comes of a response with this status (`ResponseStatus` of openai 7.57). */
export function isTerminal(status: string | null): boolean {
  return TERMINAL.has(status);
}

/** A body is one itself; a compacted one is another object, and has no id by which it is asked for. */
function toResponse(message: JsonObject): JsonObject | null {
  const response = message["object"] === "response" ? message : message["response"];
  return isJsonObject(response) && response["object"] === "response" ? response : null;
}

/** `Response` of openai 7.57; `store` is told by the answer, and is true where it is not told. */
function toTold(response: JsonObject | null): ToldResponse | null {
  if (response === null) return null;
  const { id, status, background, store } = response;
  if (typeof id !== "string" || id === "") return null;
  return {
    id,
    status: typeof status === "string" ? status : null,
    isBackground: background === true,
    isStored: store !== false,
  };
}

/** `ResponseError` of openai 7.57: its code, which is one of a list, comes before its type. */
function findFailure(message: JsonObject): JsonObject | null {
  const response = toResponse(message);
  if (response?.["status"] !== "failed" && message["type"] !== "response.failed") return null;
  const told = response?.["error"];
  const error: JsonObject = isJsonObject(told) ? told : {};
  return { type: "error", code: error["code"] ?? error["type"] ?? "failed" };
}

import { toErrorKind } from "./error-kind.ts";
import type { ReportedUsage } from "./event.ts";
import { type JsonPruner, createJsonPruner } from "./json-pruner.ts";
import { type JsonObject, isJsonObject, parseJson } from "./json.ts";
import { createSseParser } from "./sse.ts";
import { createUsageAccumulator } from "./usage-accumulator.ts";

/** What a response told of its usage and of its end. */
export interface MeterReading {
  /** Null when the upstream reported nothing. */
  readonly usage: ReportedUsage | null;
  /** Of an error status, of an error event in a stream, or of a body that is nothing but an error; else null. */
  readonly errorKind: string | null;
  /** True when a stream's last event was seen, or a unary body was read as JSON: its reader has had the whole answer. */
  readonly complete: boolean;
}

/** Bytes in, quantities out. Pure: no stream, no clock, no store. Never throws, whatever the bytes are. */
export interface Meter {
  /** The next bytes of the decoded body, cut anywhere. A short piece may be kept until the end, and must not be changed. */
  push(bytes: Uint8Array): void;
  /** Called once, after the last byte that came. */
  finish(): MeterReading;
}

export interface MeterOptions {
  /** Whether the response is `text/event-stream`: its content type decides, not the request. */
  readonly streamed: boolean;
  /** The upstream's status. */
  readonly statusCode: number;
}

/** Where the responses of one wire dialect say what. */
export interface MeterDialect {
  /** The usage objects of a unary body; the first that holds a quantity counts. */
  findUsage(body: JsonObject): readonly unknown[];
  /** The same of one event of a stream. */
  findEventUsage(event: JsonObject): readonly unknown[];
  /** Whether an event is the last of its stream, besides `[DONE]`. */
  isLastEvent(event: JsonObject): boolean;
  readonly defaultsToExclusive: boolean;
}

/** A body that comes in one piece no longer than this is parsed as it is: 2 µs cheaper than pruning it (measured). */
export const SHORT_BODY_BYTES_MAX = 16 * 1024;

/**
 * A longer event of a stream is pruned while its bytes pass: nothing bounds how many streams are in the
 * middle of one. Events of text are some hundred bytes long; pictures and audio are longer.
 */
const SHORT_EVENT_BYTES_MAX = 8 * 1024;

const DONE = "[DONE]";
const ERROR_STATUS_MIN = 400;

export function createMeter(dialect: MeterDialect, options: MeterOptions): Meter {
  return options.streamed
    ? createStreamMeter(dialect, options.statusCode)
    : createUnaryMeter(dialect, options.statusCode);
}

/** Every event is read: a search for the word "usage" would find it in content. One that is no JSON is skipped. */
function createStreamMeter(dialect: MeterDialect, statusCode: number): Meter {
  const accumulator = createUsageAccumulator(dialect);
  let errorKind: string | null = null;
  let complete = false;
  const take = (name: string | null, event: unknown) => {
    if (name === "error" || (isJsonObject(event) && isError(event)))
      errorKind ??= toErrorKind(statusCode, event);
    if (!isJsonObject(event)) return;
    addFirst(accumulator, dialect.findEventUsage(event));
    complete ||= dialect.isLastEvent(event);
  };
  const parser = createSseParser(
    ({ name, data }) => {
      if (data.length <= DONE.length + 1 && data.trim() === DONE) complete = true;
      else take(name, parseJson(data));
    },
    {
      wholeBytesMax: SHORT_EVENT_BYTES_MAX,
      openLong() {
        const pruner = createJsonPruner();
        return { push: (bytes) => pruner.push(bytes), finish: (name) => take(name, pruner.finish()) };
      },
    },
  );
  return {
    push: (bytes) => parser.push(bytes),
    finish() {
      parser.finish();
      if (statusCode >= ERROR_STATUS_MIN) errorKind ??= toErrorKind(statusCode, undefined);
      return { usage: accumulator.total(), errorKind, complete };
    },
  };
}

function createUnaryMeter(dialect: MeterDialect, statusCode: number): Meter {
  let only: Uint8Array | null = null;
  let pruner: JsonPruner | null = null;
  return {
    push(bytes) {
      if (only === null && pruner === null && bytes.length <= SHORT_BODY_BYTES_MAX) {
        only = bytes;
        return;
      }
      pruner ??= createJsonPruner();
      if (only !== null) pruner.push(only);
      only = null;
      pruner.push(bytes);
    },
    finish() {
      const body = pruner === null ? parseJson(new TextDecoder().decode(only ?? undefined)) : pruner.finish();
      const accumulator = createUsageAccumulator(dialect);
      if (isJsonObject(body)) addFirst(accumulator, dialect.findUsage(body));
      const isFailure = statusCode >= ERROR_STATUS_MIN || isOnlyError(body);
      return {
        usage: accumulator.total(),
        errorKind: isFailure ? toErrorKind(statusCode, body) : null,
        complete: body !== undefined,
      };
    },
  };
}

function addFirst(accumulator: ReturnType<typeof createUsageAccumulator>, usages: readonly unknown[]): void {
  usages.some((usage) => isJsonObject(usage) && accumulator.add(usage));
}

/** An upstream's way of saying that it failed: an `error` that says something, or a message that names itself an error. */
function isError(message: JsonObject): boolean {
  const error = message["error"];
  if (typeof error === "string") return error !== "";
  if (typeof error === "object" && error !== null) return Object.keys(error).length > 0;
  return message["object"] === "error" || message["type"] === "error";
}

/** An error object, alone or the one element of an array, without an answer beside it. */
function isOnlyError(body: unknown): boolean {
  if (Array.isArray(body)) return body.length === 1 && isOnlyError(body[0]);
  return isJsonObject(body) && isError(body) && !hasItems(body["choices"]) && !hasItems(body["data"]);
}

function hasItems(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

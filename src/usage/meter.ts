import { toErrorKind } from "./error-kind.ts";
import type { ReportedUsage } from "./event.ts";
import { type JsonPruner, createJsonPruner } from "./json-pruner.ts";
import { type JsonObject, isJsonObject, parseJson } from "./json.ts";
import { type LongData, type SseEvent, type SseParser, type SseSink, createSseParser } from "./sse.ts";
import { TellingSearch } from "./telling.ts";
import { readTier } from "./tier.ts";
import { UsageAccumulator } from "./usage-accumulator.ts";

/** What an answer of the Responses API tells of the response that it holds. */
export interface ToldResponse {
  readonly id: string;
  /** The status that was told last; null when none was told. */
  readonly status: string | null;
  /** Whether its upstream works on after the answer. */
  readonly isBackground: boolean;
  /** Whether its upstream keeps it, to be asked for by its id. */
  readonly isStored: boolean;
}

/** What a response told of its usage and of its end. */
export interface MeterReading {
  /** Null when the upstream reported nothing. */
  readonly usage: ReportedUsage | null;
  /** Of an error status, of an error event in a stream, or of a body that is nothing but an error; else null. */
  readonly errorKind: string | null;
  /** True when a stream's last event was seen, or a unary body was read as JSON: its reader has had the whole answer. */
  readonly complete: boolean;
  /** True when all of the usage was told before the answer: more of it was to come. */
  readonly isUsageBegun?: boolean;
  /** The model that a messages answer names; absent where it names none. */
  readonly model?: string;
  /** The service tier (`toTier`); absent for the standard one. */
  readonly tier?: string | undefined;
  /** Absent for an answer that is no response of the Responses API. */
  readonly response?: ToldResponse;
}

/** Bytes in, quantities out. Pure: no stream, no clock, no store. Never throws, whatever the bytes are. */
export interface Meter {
  /** The next bytes of the decoded body, cut anywhere. A short piece may be kept until the end, and must not be changed. */
  push(bytes: Uint8Array): void;
  /** True once a stream has told all of its answer, as long as the usage of it is still to come. */
  readonly awaitsUsage: boolean;
  /** What the bytes so far have told; null before, and always for an answer that is no stream. */
  readonly response: ToldResponse | null;
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
  /** Adds the usage of a unary body: of the places where it may stand, the first that holds a quantity. */
  addUsage(body: JsonObject, accumulator: UsageAccumulator): void;
  /** Adds the usage of one event of a stream, in the same way; true when it held a quantity. */
  addEventUsage(event: JsonObject, accumulator: UsageAccumulator): boolean;
  /** The model that a unary body, or an event of a stream, names; absent where that is not looked for. */
  findModel?(message: JsonObject): unknown;
  /** The response that a unary body, or an event of a stream, holds; absent where that is not looked for. */
  findResponse?(message: JsonObject): ToldResponse | null;
  /** The error, for `toErrorKind`, of a message that says elsewhere than others that it failed; null for any other. */
  findFailure?(message: JsonObject): JsonObject | null;
  /** Whether the items of an array are counted: then all of them are kept (`PRUNED_BYTES_MAX` bounds them). */
  readonly countsItems?: true;
  /** Whether the usage of this event is told before the answer; absent where none is. */
  beginsUsage?(event: JsonObject): boolean;
  /** Whether the answer may be whole with this event of a stream, but for what is told of it. */
  endsAnswer(event: JsonObject): boolean;
  /** Whether a reader of this event has had the whole answer; `[DONE]` ends every stream. */
  isLast(event: JsonObject): boolean;
  readonly defaultsToExclusive: boolean;
  /** Whether its usage tells the searches that the provider made: `web_searches`. */
  readonly countsWebSearches?: true;
  /** Finds out which events cannot tell anything; made by `createTelling`. */
  readonly telling: TellingSearch;
}

/** A body that comes in one piece no longer than this is parsed as it is: 2 µs cheaper than pruning it (measured). */
export const SHORT_BODY_BYTES_MAX = 16 * 1024;

/**
 * A longer event of a stream is pruned while its bytes pass: nothing bounds how many streams are in the
 * middle of one. Events of text are some hundred bytes long; pictures and audio are longer.
 */
const SHORT_EVENT_BYTES_MAX = 8 * 1024;

const ALL_ITEMS = { itemsMax: Number.POSITIVE_INFINITY };

/** Some providers tell it in every event of a stream. */
const TIER = "service_tier";
const DONE = "[DONE]";
/** Longer data is not `[DONE]`: a blank that is trimmed has up to three bytes. */
const DONE_BYTES_MAX = 3 * (DONE.length + 1);
const BRACKET = 0x5b;
const ERROR_STATUS_MIN = 400;
/** One for all answers: it keeps nothing between two of them. */
const decoder = new TextDecoder();
const encoder = new TextEncoder();

export function createMeter(dialect: MeterDialect, { streamed, statusCode }: MeterOptions): Meter {
  return streamed ? new StreamMeter(dialect, statusCode) : new UnaryMeter(dialect, statusCode);
}

/** What an event must name to tell of usage, of an error or of what `names` stand for, wherever in it. */
export function createTelling(...names: readonly string[]): TellingSearch {
  return new TellingSearch(["usage", "error", ...names], TIER);
}

/**
 * Every event that may tell something is read as JSON: a search for the word "usage" alone would find it in content. One that
 * is no JSON is skipped.
 */
class StreamMeter implements Meter, SseSink {
  readonly #dialect: MeterDialect;
  readonly #statusCode: number;
  readonly #parser: SseParser;
  readonly #accumulator: UsageAccumulator;
  #errorKind: string | null = null;
  #model: string | null = null;
  #response: ToldResponse | null = null;
  #complete = false;
  #awaitsUsage = false;
  #isUsageBegun = false;
  #tier: string | null = null;
  /** It as JSON, in bytes: an event that says the same again is passed over. */
  #tierBytes: Uint8Array | null = null;

  constructor(dialect: MeterDialect, statusCode: number) {
    this.#dialect = dialect;
    this.#statusCode = statusCode;
    this.#accumulator = new UsageAccumulator(dialect);
    this.#parser = createSseParser(this, SHORT_EVENT_BYTES_MAX);
  }

  push(bytes: Uint8Array): void {
    this.#parser.push(bytes);
    this.#dialect.telling.forget();
  }

  get awaitsUsage(): boolean {
    const hasFailed = this.#errorKind !== null || this.#statusCode >= ERROR_STATUS_MIN;
    return this.#awaitsUsage && !this.#complete && !hasFailed;
  }

  get response(): ToldResponse | null {
    return this.#response;
  }

  finish(): MeterReading {
    this.#parser.finish();
    if (this.#statusCode >= ERROR_STATUS_MIN) this.#errorKind ??= toErrorKind(this.#statusCode, undefined);
    return {
      usage: this.#accumulator.total(),
      errorKind: this.#errorKind,
      complete: this.#complete,
      ...(this.#isUsageBegun && { isUsageBegun: true }),
      ...(this.#model !== null && { model: this.#model }),
      ...(this.#response !== null && { response: this.#response }),
      tier: this.#accumulator.tier(this.#tier),
    };
  }

  isSilent(name: string | null, bytes: Uint8Array, from: number, to: number): boolean {
    if (name === "error" || mayBeDone(bytes, from, to)) return false;
    return !this.#dialect.telling.mayTell(bytes, from, to, this.#tierBytes);
  }

  take({ name, data }: SseEvent): void {
    if (data.length <= DONE.length + 1 && data.trim() === DONE) this.#complete = true;
    // An empty text is no JSON; the parser's exception for it would cost a microsecond each time.
    else this.#read(name, data === "" ? undefined : parseJson(data));
  }

  openLong(): LongData {
    const pruner = createJsonPruner();
    return { push: (bytes) => pruner.push(bytes), finish: (name) => this.#read(name, pruner.finish()) };
  }

  #read(name: string | null, event: unknown): void {
    if (name === "error" || (isJsonObject(event) && isError(event)))
      this.#errorKind ??= toErrorKind(this.#statusCode, event);
    if (!isJsonObject(event)) return;
    const failure = this.#dialect.findFailure?.(event) ?? null;
    if (failure !== null) this.#errorKind ??= toErrorKind(this.#statusCode, failure);
    this.#model ??= toText(this.#dialect.findModel?.(event));
    this.#response = this.#dialect.findResponse?.(event) ?? this.#response;
    this.#readTier(readOwnTier(event));
    if (this.#dialect.addEventUsage(event, this.#accumulator)) {
      this.#awaitsUsage = false;
      this.#isUsageBegun = this.#dialect.beginsUsage?.(event) === true;
    } else if (this.#dialect.endsAnswer(event)) this.#awaitsUsage = true;
    if (this.#dialect.isLast(event)) this.#complete = true;
  }

  #readTier(told: string | null): void {
    if (told === null || told === this.#tier) return;
    this.#tier = told;
    this.#tierBytes = encoder.encode(JSON.stringify(told));
  }
}

function readOwnTier(message: JsonObject): string | null {
  const { response } = message;
  return readTier(message[TIER]) ?? (isJsonObject(response) ? readTier(response[TIER]) : null);
}

class UnaryMeter implements Meter {
  readonly awaitsUsage = false;
  readonly response = null;
  readonly #dialect: MeterDialect;
  readonly #statusCode: number;
  #only: Uint8Array | null = null;
  #pruner: JsonPruner | null = null;

  constructor(dialect: MeterDialect, statusCode: number) {
    this.#dialect = dialect;
    this.#statusCode = statusCode;
  }

  push(bytes: Uint8Array): void {
    if (this.#only === null && this.#pruner === null && bytes.length <= SHORT_BODY_BYTES_MAX) {
      this.#only = bytes;
      return;
    }
    this.#pruner ??= createJsonPruner(this.#dialect.countsItems === true ? ALL_ITEMS : {});
    if (this.#only !== null) this.#pruner.push(this.#only);
    this.#only = null;
    this.#pruner.push(bytes);
  }

  finish(): MeterReading {
    const body =
      this.#pruner === null ? parseJson(decoder.decode(this.#only ?? undefined)) : this.#pruner.finish();
    const accumulator = new UsageAccumulator(this.#dialect);
    if (isJsonObject(body)) this.#dialect.addUsage(body, accumulator);
    const failure = isJsonObject(body) ? (this.#dialect.findFailure?.(body) ?? null) : null;
    const isFailure = this.#statusCode >= ERROR_STATUS_MIN || failure !== null || isOnlyError(body);
    const model = isJsonObject(body) ? toText(this.#dialect.findModel?.(body)) : null;
    const response = isJsonObject(body) ? (this.#dialect.findResponse?.(body) ?? null) : null;
    return {
      ...(model !== null && { model }),
      ...(response !== null && { response }),
      usage: accumulator.total(),
      errorKind: isFailure ? toErrorKind(this.#statusCode, failure ?? body) : null,
      complete: body !== undefined,
      tier: accumulator.tier(isJsonObject(body) ? readOwnTier(body) : null),
    };
  }
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function mayBeDone(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > DONE_BYTES_MAX) return false;
  for (let at = from; at < to; at += 1) if (bytes[at] === BRACKET) return true;
  return false;
}

/** An upstream's way of saying that it failed: an `error` that says something, or a message that names itself an error. */
function isError(message: JsonObject): boolean {
  const error = message["error"];
  if (typeof error === "string") return error !== "";
  if (typeof error === "object" && error !== null) return Object.keys(error).length > 0;
  return message["object"] === "error" || message["type"] === "error";
}

/** Where an answer stands, in the shapes of every endpoint. */
const ANSWERS = ["choices", "data", "output"] as const;

/** An error object, alone or the one element of an array, without an answer beside it. */
function isOnlyError(body: unknown): boolean {
  if (Array.isArray(body)) return body.length === 1 && isOnlyError(body[0]);
  return isJsonObject(body) && isError(body) && !ANSWERS.some((member) => hasItems(body[member]));
}

function hasItems(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

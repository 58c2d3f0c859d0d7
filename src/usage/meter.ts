import type { MeterDialect, ToldResponse } from "./dialects.ts";
import { type ReportedUsage, ERROR_KIND_LENGTH_MAX } from "./event.ts";
import { type JsonPruner, createJsonPruner } from "./json-pruner.ts";
import { type JsonObject, isJsonObject, parseJson } from "#kernel/json.ts";
import { type LongData, type SseEvent, type SseParser, type SseSink, createSseParser } from "./sse.ts";
import { readCondition, TIER, toTier } from "./cost.ts";
import { toGeoName } from "#kernel/price-variants.ts";
import { numberToPico, type Pico } from "#kernel/units.ts";
import { UsageAccumulator } from "./usage-accumulator.ts";

/** The usage and the end that a response told. */
export interface MeterReading {
  /** Null when the upstream reported nothing. */
  readonly usage: ReportedUsage | null;
  /** The kind of an error status, of an error event in a stream, or of a body that is nothing but an error; else null. */
  readonly errorKind: string | null;
  /** True when a stream's last event was seen, or a unary body was read as JSON: its reader has had the whole answer. */
  readonly complete: boolean;
  /** True when all of the usage was told before the answer: more of it was to come. */
  readonly isUsageBegun?: boolean | undefined;
  /** The model that a messages answer names; absent where it names none. */
  readonly model?: string | undefined;
  /** The service tier (`toTier`); absent for the standard one. */
  readonly tier?: string | undefined;
  /** The region of inference (`toGeoName`); absent for a standard one. */
  readonly geo?: string | undefined;
  /** What the provider says that the request costs; absent where it says nothing. */
  readonly costReportedPico?: Pico | undefined;
  /** Absent for an answer that is no response of the Responses API. */
  readonly response?: ToldResponse | undefined;
}

/** Bytes in, quantities out. Pure: no stream, no clock, no store. Never throws, whatever the bytes are. */
export interface Meter {
  /** The next bytes of the decoded body, cut anywhere. A short piece may be kept until the end, and must not be changed. Null: it has read them. */
  push(bytes: Uint8Array): null;
  /** True once a stream has told all of its answer, as long as the usage of it is still to come. */
  readonly awaitsUsage: boolean;
  /** The response that the bytes so far have told; null before, and always for an answer that is no stream. */
  readonly response: ToldResponse | null;
  /** Called once, after the last byte that came. */
  finish(): MeterReading;
}

export interface MeterOptions {
  /** True when the response is `text/event-stream`: its content type decides, not the request. */
  readonly streamed: boolean;
  /** The upstream's status. */
  readonly statusCode: number;
}

/** A body that comes in one piece no longer than this is parsed as it is: 2 µs cheaper than pruning it (measured). */
export const SHORT_BODY_BYTES_MAX = 16 * 1024;

/**
 * A longer event of a stream is pruned while its bytes pass: nothing bounds how many streams are in the
 * middle of one. Events of text are some hundred bytes long; pictures and audio are longer.
 */
const SHORT_EVENT_BYTES_MAX = 8 * 1024;

const ALL_ITEMS = { itemsMax: Number.POSITIVE_INFINITY };

const DONE = "[DONE]";
/** Longer data is not `[DONE]`: a blank that is trimmed has up to three bytes. */
const DONE_BYTES_MAX = 3 * (DONE.length + 1);
const BRACKET = 0x5b;
const ERROR_STATUS_MIN = 400;
/** One for all answers: it keeps nothing between two of them. */
const decoder = new TextDecoder();
const encoder = new TextEncoder();
/** One for all answers that come whole, each of which is read in one step. */
const accumulator = new UsageAccumulator({ defaultsToExclusive: false });

export function createMeter(dialect: MeterDialect, { streamed, statusCode }: MeterOptions): Meter {
  return streamed ? new StreamMeter(dialect, statusCode) : new UnaryMeter(dialect, statusCode);
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

  push(bytes: Uint8Array): null {
    this.#parser.push(bytes);
    this.#dialect.telling.forget();
    return null;
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
    const told = this.#accumulator;
    return {
      usage: told.total(),
      errorKind: this.#errorKind,
      complete: this.#complete,
      isUsageBegun: this.#isUsageBegun || undefined,
      model: this.#model ?? undefined,
      tier: toTier(this.#tier, told),
      geo: toGeoName(told.geo),
      costReportedPico: toCostPico(told),
      response: this.#response ?? undefined,
    };
  }

  isSilent(name: string | null, bytes: Uint8Array, from: number, to: number): boolean {
    if (name === "error" || mayBeDone(bytes, from, to)) return false;
    return !this.#dialect.telling.mayTell(bytes, from, to, this.#tierBytes);
  }

  take({ name, data }: SseEvent): void {
    if (data.length <= DONE.length + 1 && data.trim() === DONE) this.#complete = true;
    // The parser's exception for an empty text, which is no JSON, would cost a microsecond each time.
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
  return readCondition(message[TIER]) ?? (isJsonObject(response) ? readCondition(response[TIER]) : null);
}

function toCostPico({ cost }: UsageAccumulator): Pico | undefined {
  return cost === null ? undefined : numberToPico(cost);
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

  push(bytes: Uint8Array): null {
    if (this.#only === null && this.#pruner === null && bytes.length <= SHORT_BODY_BYTES_MAX) {
      this.#only = bytes;
      return null;
    }
    this.#pruner ??= createJsonPruner(this.#dialect.countsItems === true ? ALL_ITEMS : {});
    if (this.#only !== null) this.#pruner.push(this.#only);
    this.#only = null;
    this.#pruner.push(bytes);
    return null;
  }

  finish(): MeterReading {
    const body =
      this.#pruner === null ? parseJson(decoder.decode(this.#only ?? undefined)) : this.#pruner.finish();
    const dialect = this.#dialect;
    accumulator.reset(dialect);
    const told = isJsonObject(body) ? body : null;
    if (told !== null) dialect.addUsage(told, accumulator);
    const failure = told === null ? null : (dialect.findFailure?.(told) ?? null);
    const isFailure = this.#statusCode >= ERROR_STATUS_MIN || failure !== null || isOnlyError(body);
    return {
      usage: accumulator.total(),
      errorKind: isFailure ? toErrorKind(this.#statusCode, failure ?? body) : null,
      complete: body !== undefined,
      isUsageBegun: undefined,
      model: toText(told === null ? null : dialect.findModel?.(told)) ?? undefined,
      tier: toTier(told === null ? null : readOwnTier(told), accumulator),
      geo: toGeoName(accumulator.geo),
      costReportedPico: toCostPico(accumulator),
      response: told === null ? undefined : (dialect.findResponse?.(told) ?? undefined),
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
  return isJsonObject(body) && isError(body) && !hasAnswer(body);
}

function hasAnswer(body: JsonObject): boolean {
  return ANSWERS.some((member) => hasItems(body[member]));
}

function hasItems(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** Longer text was written for a person: it may hold content, so nothing of it is kept. */
const CANDIDATE_LENGTH_MAX = 256;

const STATUS_MAX = 599;

/** OpenAI's rate limits name what ran out as their type, and what happened as their code. */
const QUOTA_TYPES: ReadonlySet<string> = new Set(["tokens", "requests"]);

/**
 * The kind of error that an upstream answered with: its own short name for it, in lower case with everything but letters and
 * digits as `_`, 64 characters at most, or `http_<status>` (decisions, "Usage and prices"). `body` is a parsed JSON body or
 * event, or whatever stands in its place. A message, a detail or a sentence never becomes a kind.
 */
export function toErrorKind(statusCode: number, body: unknown): string {
  // Some put the one error into an array.
  const message: unknown = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(message)) return `http_${statusCode}`;
  const error = isJsonObject(message["error"]) ? message["error"] : {};
  const errorType =
    typeof error["type"] === "string" && QUOTA_TYPES.has(error["type"]) ? null : error["type"];
  // `{"type":"error"}` names the envelope, not the kind: that is `code` beside it (`ResponseErrorEvent` of openai 7.57).
  const isEnvelope = message["type"] === "error";
  const messageType = isEnvelope ? null : message["type"];
  const candidates = [
    isEnvelope ? message["code"] : null,
    errorType,
    error["code"],
    error["status"],
    toWord(message["error"]),
    messageType,
    message["code"],
  ];
  for (const candidate of candidates) {
    const kind = toIdentifier(candidate);
    if (kind !== null) return kind;
  }
  return `http_${findStatus([error["code"], message["code"]]) ?? statusCode}`;
}

/** A kind is cut, so this much of a credential's beginning is looked for. */
const TOLD_CREDENTIAL_LENGTH = 16;
/** A shorter one is a word such as `token`, which names errors. */
const CREDENTIAL_LENGTH_MIN = 8;

/** True when an upstream has put the credential that it was called with into the name of its error. */
export function isOfCredential(errorKind: string | null, credential: string | null): boolean {
  if (errorKind === null || credential === null) return false;
  const told = toIdentifier(credential.slice(0, TOLD_CREDENTIAL_LENGTH));
  return told !== null && told.length >= CREDENTIAL_LENGTH_MIN && errorKind.includes(told);
}

/** An `error` that is a text: a name when it is one word of ASCII, else a sentence. */
function toWord(error: unknown): string | null {
  return typeof error === "string" && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(error) ? error : null;
}

function toIdentifier(candidate: unknown): string | null {
  // A number that is an HTTP status says what `http_<status>` says; any other is a vendor's own name for its error.
  const text = isVendorCode(candidate) ? String(candidate) : candidate;
  if (typeof text !== "string" || text.length > CANDIDATE_LENGTH_MAX) return null;
  const identifier = text
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/gu, "_")
    .slice(0, ERROR_KIND_LENGTH_MAX);
  return /[a-z0-9]/.test(identifier) ? identifier : null;
}

function isVendorCode(candidate: unknown): candidate is number {
  return Number.isSafeInteger(candidate) && typeof candidate === "number" && candidate > STATUS_MAX;
}

/** A code that is a number tells no more than a status; inside an answer with another status it is the one that counts. */
function findStatus(codes: readonly unknown[]): number | null {
  for (const code of codes) {
    if (typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= STATUS_MAX) return code;
  }
  return null;
}

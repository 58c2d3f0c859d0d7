import type { TransportError } from "#usage/event.ts";
import type { MeterReading } from "#usage/meter.ts";
import type { Account } from "./account.ts";
import type { Cancellation } from "#kernel/cancellation.ts";
import { type ProxiedBy, toCallerHeaders } from "./headers.ts";
import { type MemorySemaphore, type Reservation, UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import { free, joinPieces } from "#kernel/bytes.ts";
import { bufferBody, SHORT_BODY_BYTES_MAX } from "./response-buffer.ts";
import { type Metering, createMetering, isEventStream } from "./metering.ts";
import type { Turns } from "#kernel/turns.ts";
import type { SlowConsumers } from "./slow-consumers.ts";
import {
  type BodyReader,
  type TeeEnding,
  type TeeOptions,
  WRITE_STALL_MS_MAX,
  createTee,
  readChunk,
} from "./tee.ts";
import type { UpstreamHead, WarmConnections } from "./upstream-head.ts";

/** The end of an exchange, as the caller's connection is to be told. */
export type ForwardResult =
  | { readonly kind: "responded"; readonly response: Response }
  /** The upstream gave no answer that could be relayed: a 502 that names `error`. */
  | {
      readonly kind: "unreachable";
      readonly error: TransportError;
      readonly provider: string;
      readonly upstreamName: string | null;
    }
  /** The caller has gone: there is no one left to answer. */
  | { readonly kind: "cancelled" };

/** One exchange between its checks and its end. */
export interface OpenExchange {
  readonly proxiedBy: ProxiedBy;
  /** The longest silence of an upstream whose response is passed on. */
  readonly idleMs: number;
  readonly account: Account;
  readonly cancellation: Cancellation;
  readonly stalls: SlowConsumers;
  /** Answers that are at their end: they are metered and written down together. */
  readonly ends: Turns;
}

export interface ResponseOptions {
  /** Whether the request asked for a stream. */
  readonly streamed: boolean;
  /** Memory of responses that are buffered until they are complete. */
  readonly buffered: MemorySemaphore;
}

/** The upstream's answer to its caller: a stream chunk by chunk, anything else whole. The event is written before it ends. */
export function respond(
  open: OpenExchange,
  head: UpstreamHead,
  options: ResponseOptions,
): Promise<ForwardResult> {
  open.account.answered(head.response.status);
  if (isPassedOn(head, options.streamed)) return passOn(open, head, createMetering(head, true));
  const { lengthBytes } = head;
  const isShort = lengthBytes !== null && lengthBytes <= SHORT_BODY_BYTES_MAX;
  return isShort && lengthBytes <= options.buffered.bytesMax
    ? respondShort(open, head)
    : respondWhole(open, head, options.buffered);
}

/** Ends an exchange of which nothing was answered: its caller left, or its upstream failed. */
export async function giveUp(
  { proxiedBy, account, cancellation }: OpenExchange,
  error: TransportError,
): Promise<ForwardResult> {
  cancellation.checkCaller();
  const { cause } = cancellation;
  const left = cause === "cancelled";
  const broke = cause === "halted" ? toBreak(cancellation) : error;
  cancellation.cancel("cancelled");
  await account.settle(
    left ? { kind: "cancelled", metered: null } : { kind: "unreachable", error: broke, metered: null },
  );
  if (left) return { kind: "cancelled" };
  return {
    kind: "unreachable",
    error: broke,
    provider: proxiedBy.providerName,
    upstreamName: proxiedBy.upstreamName,
  };
}

/** A short unary response comes with its head or shortly after it, and is read at once. */
async function respondShort(open: OpenExchange, head: UpstreamHead): Promise<ForwardResult> {
  const { account, cancellation } = open;
  let bytes: Uint8Array;
  try {
    bytes = await head.response.bytes();
  } catch {
    return giveUp(open, toBreak(cancellation));
  }
  if (bytes.length > 0) account.firstByte();
  const metering = createMetering(head, false);
  const lagging = metering.push(bytes);
  if (lagging !== null) await lagging;
  await open.ends.next();
  head.readToEnd();
  cancellation.checkCaller();
  cancellation.release();
  await settleWhole(open, metering);
  return { kind: "responded", response: toResponse(head, open, bytes) };
}

/** Settles the account of a response that has come whole. A caller that hung up meanwhile has had nothing of it. */
function settleWhole(open: OpenExchange, metering: Metering): Promise<void> {
  const metered = metering.finish();
  return metered instanceof Promise
    ? metered.then((reading) => settleMetered(open, reading))
    : settleMetered(open, metered);
}

function settleMetered({ account, cancellation }: OpenExchange, metered: MeterReading): Promise<void> {
  return account.settle(
    cancellation.cause === "cancelled"
      ? { kind: "cancelled", metered: { ...metered, complete: false } }
      : { kind: "answered", metered },
  );
}

/** A unary response is buffered until it is complete, so that any failure on the way is a clean 502. */
async function respondWhole(
  open: OpenExchange,
  head: UpstreamHead,
  semaphore: MemorySemaphore,
): Promise<ForwardResult> {
  const { account, cancellation } = open;
  const metering = createMetering(head, false);
  const { lengthBytes } = head;
  const isShort = lengthBytes !== null && lengthBytes <= UNCOUNTED_BYTES_MAX;
  const reservation = isShort ? null : semaphore.reserve({ lengthBytes, signal: cancellation.signal });
  const held = await bufferBody(head.response, {
    bytesMax: semaphore.bytesMax,
    lengthBytes,
    onFirstByte: () => account.firstByte(),
    watch: (piece) => metering.push(piece),
    reservation,
  });
  if (held.kind !== "whole") {
    reservation?.close();
    return giveUp(open, held.kind === "too_large" ? "response_too_large" : toBreak(cancellation));
  }
  await open.ends.next();
  head.readToEnd();
  reservation?.complete();
  const counted = held.sizeBytes > UNCOUNTED_BYTES_MAX ? reservation : null;
  cancellation.checkCaller();
  // A caller that reads nothing of it must not keep its memory reserved.
  if (counted === null) cancellation.release();
  else {
    cancellation.arm(WRITE_STALL_MS_MAX, "cancelled");
    cancellation.letIdle();
  }
  await settleWhole(open, metering);
  const body = counted === null ? joinPieces(held.pieces) : handOut(held.pieces, counted, cancellation);
  return { kind: "responded", response: toResponse(head, open, body) };
}

/** Buffered pieces, each of which releases its memory when it has left. What the caller does with them is no longer recorded. */
function handOut(
  pieces: Uint8Array[],
  reservation: Reservation,
  cancellation: Cancellation,
): ReadableStream<Uint8Array> {
  let leaving = pieces.shift();
  const first = leaving ?? null;
  const reader: BodyReader = {
    read() {
      if (leaving !== undefined) {
        reservation.release(leaving.length);
        free(leaving);
      }
      leaving = pieces.shift();
      return Promise.resolve({ done: leaving === undefined, value: leaving });
    },
    cancel() {
      // The piece that is leaving may still be read from.
      for (const piece of pieces.splice(0)) free(piece);
      return Promise.resolve();
    },
  };
  return createTee({
    reader,
    first,
    cancellation,
    idleMs: WRITE_STALL_MS_MAX,
    stallMs: WRITE_STALL_MS_MAX,
    watch: () => null,
    finish() {
      reservation.close();
      return Promise.resolve();
    },
  });
}

/** A meter may keep a shorter chunk; such ones are left to the collection of garbage. */
const FREED_BYTES_MIN = 32 * 1024;

/** Passes a body on from its first byte. Until then nothing was sent, and any failure is still a clean 502. */
export async function passOn(
  open: OpenExchange,
  head: UpstreamHead,
  metering: Metering,
): Promise<ForwardResult> {
  const { account, cancellation } = open;
  const reader = head.response.body?.getReader() ?? null;
  cancellation.arm(open.idleMs);
  let first: Uint8Array | null;
  try {
    first = reader === null ? null : await readChunk(reader);
  } catch {
    return giveUp(open, toBreak(cancellation));
  }
  if (reader === null || first === null) {
    await open.ends.next();
    head.readToEnd();
    cancellation.checkCaller();
    cancellation.release();
    await settleWhole(open, metering);
    return { kind: "responded", response: toResponse(head, open, null) };
  }
  account.firstByte();
  const body = createTee(new PassedOn(open, { reader, first, metering, head }));
  return { kind: "responded", response: toResponse(head, open, body) };
}

interface PassedBody {
  readonly reader: BodyReader;
  readonly first: Uint8Array;
  readonly metering: Metering;
  readonly head: UpstreamHead;
}

/**
 * What an open stream keeps of its exchange. The head is not among it: the upstream's response and its headers can go as
 * soon as they have been passed on, while the stream may last for hours.
 */
class PassedOn implements TeeOptions {
  readonly reader: BodyReader;
  readonly first: Uint8Array;
  readonly cancellation: Cancellation;
  readonly idleMs: number;
  readonly stallMs = WRITE_STALL_MS_MAX;
  readonly stalls: SlowConsumers;
  readonly #ends: Turns;
  readonly #account: Account;
  readonly #metering: Metering;
  readonly #warm: WarmConnections | null;
  readonly #isEventStream: boolean;

  constructor(
    { cancellation, idleMs, stalls, ends, account }: OpenExchange,
    { reader, first, metering, head }: PassedBody,
  ) {
    this.reader = reader;
    this.first = first;
    this.cancellation = cancellation;
    this.idleMs = idleMs;
    this.stalls = stalls;
    this.#ends = ends;
    this.#account = account;
    this.#metering = metering;
    this.#warm = head.warm;
    this.#isEventStream = isEventStream(head);
  }

  watch(chunk: Uint8Array): Promise<void> | null {
    return this.#metering.push(chunk);
  }

  left(chunk: Uint8Array): void {
    if (chunk.length > FREED_BYTES_MIN) free(chunk);
  }

  async finish(ending: TeeEnding): Promise<void> {
    await this.#ends.next();
    const metered = await this.#metering.finish();
    if (ending === "complete") {
      this.#warm?.put();
      await this.#account.settle({ kind: "answered", metered });
    } else if (ending === "cancelled") {
      // A body that is no event stream has no last event: only its end tells that the caller had all of it.
      const complete = metered.complete && this.#isEventStream;
      await this.#account.settle({ kind: "cancelled", metered: { ...metered, complete } });
    } else {
      await this.#account.settle({ kind: "unreachable", error: toBreak(this.cancellation), metered });
    }
  }
}

function toBreak(cancellation: Cancellation): TransportError {
  return cancellation.cause === "timeout" ? "timeout" : "connection_error";
}

/** A stream is never buffered: an event stream, and what was asked for as a stream and is neither an error nor JSON. */
function isPassedOn(head: UpstreamHead, streamed: boolean): boolean {
  if (isEventStream(head)) return true;
  return streamed && head.response.status < 400 && !/\bjson\b/i.test(head.contentType ?? "json");
}

/** Statuses without a body: a `Response` refuses one (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5). */
const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse(
  head: UpstreamHead,
  { proxiedBy }: OpenExchange,
  body: Uint8Array | ReadableStream<Uint8Array> | null,
): Response {
  const { status } = head.response;
  const headers = toCallerHeaders(head.headers, status, proxiedBy);
  const sent = body instanceof Uint8Array && !head.isTyped ? toUntyped(body) : body;
  return new Response(NULL_BODY_STATUSES.has(status) ? null : sent, { status, headers });
}

/**
 * The runtime adds `application/octet-stream` to bytes without a type, but not to a stream. A stream whose high-water mark
 * is above its length leaves in one piece, with its `content-length` (measured).
 */
function toUntyped(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      type: "direct",
      pull(controller) {
        void controller.write(bytes);
        controller.close();
      },
    },
    { highWaterMark: bytes.length + 1 },
  );
}

import { readLength } from "#forward/upstream.ts";
import { free, GatheredBytes } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";
import { BUSY_RETRY_AFTER_SECONDS } from "#kernel/memory-semaphore.ts";
import {
  BodyPieces,
  BodyRefusal,
  closesUnread,
  deadlines,
  tooLarge,
  tooSlow,
  type BodyLimits,
} from "./body-reader.ts";
import { BEGINNING_BYTES_MAX, type BodyMemory, type BodyReservation } from "./body-memory.ts";

/** JSON bodies of the admin and self-service routes; a CA bundle of every public root is a quarter of it. */
export const JSON_BODY_BYTES_MAX = 1024 * 1024;
/** Bodies of routes that ask for no credentials: a password, or the code of a link. Any client may send as many as it likes. */
export const PUBLIC_BODY_BYTES_MAX = 16 * 1024;
/** A body of known length up to this is read in one piece, which is cheaper than chunk by chunk. */
const WHOLE_READ_BYTES_MAX = 64 * 1024;
const BODY_GRACE_MS = 20_000;
const BODY_MS_PER_BYTE = 1;
const WHOLE_BODY_MS_MAX = 600_000;

/** The limits of a body that is read whole. */
export function toBodyLimits(maxBytes: number): BodyLimits {
  return { ...toPassageLimits(maxBytes), maxMs: WHOLE_BODY_MS_MAX };
}

/**
 * The limits of a body of a route that asks for no credentials: nothing is read past them, since the rest would be work that
 * strangers give as they like.
 */
export function toPublicLimits(maxBytes: number): BodyLimits {
  return { ...toBodyLimits(Math.min(maxBytes, PUBLIC_BODY_BYTES_MAX)), restBytesMax: 0 };
}

/** The limits of a body that is passed on as it comes, and makes no other wait. */
export function toPassageLimits(maxBytes: number): BodyLimits {
  return {
    maxBytes,
    graceMs: BODY_GRACE_MS,
    msPerByte: BODY_MS_PER_BYTE,
    maxMs: Number.POSITIVE_INFINITY,
  };
}

export interface WholeBody {
  /** The bytes as they came. */
  readonly bytes: Uint8Array;
  /** Has to be closed when the bytes are kept no longer; null for a body that is not counted. */
  readonly reservation: BodyReservation | null;
}

/** Where the memory of a body comes from, and who sends it: each principal has a part of it. */
export interface BodyOwner {
  readonly memory: BodyMemory;
  readonly owner: string;
}

/**
 * The whole body. A large one waits for memory, and nothing is read from its connection meanwhile, nor does that time count
 * as its sender's. Throws `request_too_large` (at once when Content-Length says so, else as soon as the bytes do),
 * `invalid_json` when it is encoded, `invalid_request` when it comes too slowly, `busy` when there is no memory within
 * BODY_WAIT_MS_MAX, and an `AbortError` when the caller hung up. What the head alone tells is thrown before there is
 * a promise: `await` it where it is called. A short body mostly came with its head, and is there at once.
 */
export function readBody(
  request: Request,
  limits: BodyLimits,
  from: BodyOwner,
): WholeBody | Promise<WholeBody> {
  if (request.headers.has("content-encoding")) {
    throw new ProxyError("invalid_json", "Send the body without a content-encoding.");
  }
  const declaredBytes = readDeclared(request, limits);
  return isReadAtOnce(declaredBytes)
    ? readAtOnce(request, limits, declaredBytes)
    : readCounted(request, limits, { declaredBytes, ...from });
}

async function readCounted(
  request: Request,
  limits: BodyLimits,
  { declaredBytes, memory, owner }: BodyOwner & { readonly declaredBytes: number | null },
): Promise<WholeBody> {
  if (request.body === null) return { bytes: new Uint8Array(0), reservation: null };
  const reservation = memory.reserve(request, declaredBytes, owner);
  try {
    const bytes = await readPieces(request, limits, { declaredBytes, reservation });
    if (reservation === null || reservation.complete(bytes.length)) return { bytes, reservation };
    reservation.close();
    return { bytes, reservation: null };
  } catch (cause) {
    reservation?.close();
    throw cause;
  }
}

/** A body that is read as it comes, within the same limits. */
export interface CountedBody {
  /** The Content-Length; null without one. */
  readonly sizeBytes: number | null;
  /** The next bytes, or null at the end. Throws as `readBody` does. */
  next(): Promise<Uint8Array | null>;
}

/**
 * The body of a request that is passed on, encoded or not: whole when its length is known and at most `wholeBytesMax`, to
 * be read piece by piece when it is longer or tells no length, and null when there is none. One that is read whole keeps its
 * memory reserved until it has come. Throws as `readBody` does.
 */
export async function openBody(
  request: Request,
  limits: BodyLimits,
  { wholeBytesMax, memory, owner }: BodyOwner & { readonly wholeBytesMax: number },
): Promise<Uint8Array | CountedBody | null> {
  const sizeBytes = readDeclared(request, limits);
  if ((sizeBytes === null || sizeBytes === 0) && request.body === null) return null;
  if (isReadAtOnce(sizeBytes)) return (await readAtOnce(request, limits, sizeBytes)).bytes;
  if (sizeBytes !== null && sizeBytes <= wholeBytesMax) {
    const { bytes, reservation } = await readCounted(request, limits, {
      declaredBytes: sizeBytes,
      memory,
      owner,
    });
    reservation?.close();
    return bytes;
  }
  if (request.body === null) return null;
  const pieces = new BodyPieces(request, request.body.getReader(), limits);
  return { sizeBytes, next: () => pieces.next() };
}

function isReadAtOnce(declaredBytes: number | null): declaredBytes is number {
  return declaredBytes !== null && declaredBytes <= WHOLE_READ_BYTES_MAX;
}

/**
 * Reads a body of known length. `request.body` is not asked for: that alone makes a stream of it, which costs more than all
 * the rest of reading a short one.
 */
function readAtOnce(
  request: Request,
  limits: BodyLimits,
  declaredBytes: number,
): WholeBody | Promise<WholeBody> {
  const reading = request.bytes();
  const there = Bun.peek(reading);
  return there instanceof Uint8Array
    ? { bytes: there, reservation: null }
    : readInTime(reading, limits, declaredBytes);
}

async function readInTime(
  reading: Promise<Uint8Array>,
  { graceMs, msPerByte }: BodyLimits,
  declaredBytes: number,
): Promise<WholeBody> {
  const late = Promise.withResolvers<never>();
  const deadline = deadlines.create({ expired: () => late.reject(tooSlow()) });
  deadline.set(graceMs + declaredBytes * msPerByte);
  try {
    return { bytes: await Promise.race([reading, late.promise]), reservation: null };
  } finally {
    deadline.lift();
  }
}

async function readPieces(
  request: Request,
  limits: BodyLimits,
  {
    declaredBytes,
    reservation,
  }: { readonly declaredBytes: number | null; readonly reservation: BodyReservation | null },
): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  const pieces = new BodyPieces(request, request.body.getReader(), limits);
  // Memory that is not written to is not resident, so it is taken at once where it is known how much, and there is some.
  let whole = declaredBytes === null || reservation !== null ? null : new Uint8Array(declaredBytes);
  const gathered = new GatheredBytes();
  const letGo = () => {
    if (whole !== null) free(whole);
    gathered.release();
    reservation?.close();
  };
  let sizeBytes = 0;
  try {
    for (let piece = await pieces.next(); piece !== null; piece = await pieces.next()) {
      if (whole === null) gathered.push(piece);
      else whole.set(piece, sizeBytes);
      sizeBytes += piece.byteLength;
      free(piece);
      const waiting = reservation?.acquire(sizeBytes) ?? null;
      if (waiting !== null && !(await waiting)) {
        if (!request.signal.aborted) reservation?.refused();
        letGo();
        throw toNoRoom(request, request.signal.aborted || !(await pieces.drain()));
      }
      if (whole !== null || declaredBytes === null || sizeBytes <= BEGINNING_BYTES_MAX) continue;
      whole = new Uint8Array(declaredBytes);
      const beginning = gathered.moveIntoOne();
      whole.set(beginning);
      free(beginning);
    }
  } catch (cause) {
    letGo();
    throw cause;
  }
  return whole ?? gathered.moveIntoOne();
}

function readDeclared(request: Request, limits: BodyLimits): number | null {
  const declaredBytes = readLength(request);
  if (declaredBytes !== null && declaredBytes > limits.maxBytes)
    throw tooLarge(limits, closesUnread(request.headers));
  return declaredBytes;
}

/** Throws `invalid_json` for what is not UTF-8 (RFC 8259, section 8.1), starts with a byte-order mark or is not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw new ProxyError("invalid_json", "The body is not valid JSON in UTF-8.", { cause });
  }
}

/** A caller that has gone reads no answer. */
function toNoRoom(request: Request, closesConnection: boolean): Error {
  if (request.signal.aborted) return new DOMException("The caller hung up.", "AbortError");
  return new BodyRefusal(
    "busy",
    "There is no memory for another large request body of yours at present. Try again.",
    closesConnection,
    BUSY_RETRY_AFTER_SECONDS,
  );
}

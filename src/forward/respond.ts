import { type MemorySemaphore, type Reservation, UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import type { Cancellation } from "#kernel/cancellation.ts";
import { free, joinPieces } from "#kernel/bytes.ts";
import { bufferBody, SHORT_BODY_BYTES_MAX, type Departures } from "./response-buffer.ts";
import { createMetering, isEventStream } from "./metering.ts";
import { passOn } from "./pass-on.ts";
import type { ProxiedRequest } from "./proxied-request.ts";
import { type ForwardResult, giveUp, settleWhole, toBreach, toCallerResponse } from "./request-end.ts";
import type { Route } from "./route.ts";
import { type BodyReader, WRITE_STALL_MS_MAX, createTee } from "./tee.ts";
import type { Breach, UpstreamHead } from "./upstream.ts";
import { decodeShort, isPlain } from "./decode.ts";

/** What all answers share. */
interface Answers {
  /** Memory of responses that are buffered until they are complete. */
  readonly buffered: MemorySemaphore;
  readonly departures: Departures;
}

/** True for a short unary answer: it comes with its head or shortly after it, and is read at once. */
export function isReadAtOnce(head: UpstreamHead, { streamed }: ProxiedRequest, bytesMax: number): boolean {
  const { lengthBytes } = head;
  return (
    lengthBytes !== null &&
    lengthBytes <= Math.min(SHORT_BODY_BYTES_MAX, bytesMax) &&
    !isPassedOn(head, streamed)
  );
}

/** Any other answer to its caller: a stream chunk by chunk, or all of it. The event is written before it ends. */
export function respond(
  request: ProxiedRequest<Route>,
  head: UpstreamHead,
  answers: Answers,
): Promise<ForwardResult> {
  return isPassedOn(head, request.streamed)
    ? passOn(request, head, createMetering(head, request.terms.meter, true))
    : respondWhole(request, head, answers);
}

/** The response of an answer that has come in one piece. */
export function toWholeResponse(
  request: ProxiedRequest<Route>,
  head: UpstreamHead,
  bytes: Uint8Array,
): Response {
  const { credential } = request.terms;
  const body = isFailure(head) ? joinPieces(maskCredential(head, credential, [bytes])) : bytes;
  return toCallerResponse(head, request, body);
}

/** A unary response is buffered until it is complete, so that any failure on the way is a clean 502. */
async function respondWhole(
  request: ProxiedRequest<Route>,
  head: UpstreamHead,
  { buffered: semaphore, departures }: Answers,
): Promise<ForwardResult> {
  const { cancellation, terms } = request;
  const metering = createMetering(head, terms.meter, false);
  const { lengthBytes } = head;
  const isShort = lengthBytes !== null && lengthBytes <= UNCOUNTED_BYTES_MAX;
  const reservation = isShort ? null : semaphore.reserve({ lengthBytes, signal: cancellation.signal });
  const held = await bufferBody(head.response, {
    bytesMax: semaphore.bytesMax,
    lengthBytes,
    onFirstByte: () => request.firstByte(),
    watch: (piece) => metering.push(piece),
    reservation,
  });
  if (held.kind !== "whole") {
    reservation?.close();
    return giveUp(request, held.kind === "too_large" ? TOO_LARGE : toBreach(cancellation));
  }
  await request.requests.ends.next();
  head.readToEnd();
  reservation?.complete();
  const counted = held.sizeBytes > UNCOUNTED_BYTES_MAX ? reservation : null;
  // The runtime sends one piece with its length, and adds a type to bytes that have none.
  const keepsLength = counted === null || (lengthBytes !== null && head.isTyped);
  cancellation.checkCaller();
  // A caller that reads nothing of it must not keep its memory reserved.
  if (keepsLength) cancellation.release();
  else {
    cancellation.arm(WRITE_STALL_MS_MAX, "cancelled");
    cancellation.letIdle();
  }
  await settleWhole(request, metering).catch((refusal: unknown) => {
    reservation?.close();
    throw refusal;
  });
  const pieces = isFailure(head) ? maskCredential(head, terms.credential, held.pieces) : held.pieces;
  const body = keepsLength ? joinPieces(pieces) : handOut([...pieces], counted, cancellation);
  const response = toCallerResponse(head, request, body);
  if (keepsLength && counted !== null) {
    // The runtime has a copy of its own.
    for (const piece of pieces) free(piece);
    departures.watch(cancellation, () => counted.close());
  }
  return { kind: "responded", response };
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

const ERROR_STATUS_MIN = 400;
const TOO_LARGE: Breach = { error: "response_too_large" };

function isFailure({ response }: UpstreamHead): boolean {
  return response.status >= ERROR_STATUS_MIN;
}

/**
 * A stream is never buffered: an event stream, and what was asked for as a stream and is not JSON. An error always is, since
 * what is masked in it may stand across chunks.
 */
function isPassedOn(head: UpstreamHead, streamed: boolean): boolean {
  if (isFailure(head)) return false;
  return isEventStream(head) || (streamed && !/\bjson\b/i.test(head.contentType ?? "json"));
}

/** A shorter one is a stand-in for none, such as `x`, and would be found in any text. */
const MASKED_LENGTH_MIN = 4;

const ASTERISK = 0x2a;

/**
 * Puts asterisks in place of the provider's credential where an error answer repeats it, in its body and in what of its
 * headers goes on (decisions, amendments): the one exception to passing bytes on unchanged. Takes the body in its pieces, and
 * returns the pieces to send. A compressed body that holds the credential is sent decoded; one that is longer than
 * `decodeShort` reads, or of an unknown coding, goes on as it is.
 */
export function maskCredential(
  { headers, contentEncoding }: UpstreamHead,
  credential: string | null,
  pieces: readonly Uint8Array[],
): readonly Uint8Array[] {
  if (credential === null || credential.length < MASKED_LENGTH_MIN) return pieces;
  maskHeaders(headers, credential);
  const secret = Buffer.from(credential);
  if (contentEncoding === null || isPlain(contentEncoding)) {
    maskPieces(pieces, secret);
    return pieces;
  }
  const decoded = decodeShort(contentEncoding, joinPieces(pieces));
  if (decoded === null || !maskPieces([decoded], secret)) return pieces;
  headers.delete("content-encoding");
  return [decoded];
}

function maskHeaders(headers: Headers, credential: string): void {
  const masked: [string, string][] = [];
  headers.forEach((value, name) => {
    if (value.includes(credential))
      masked.push([name, value.replaceAll(credential, "*".repeat(credential.length))]);
  });
  for (const [name, value] of masked) headers.set(name, value);
}

/** True when the secret was found, also across pieces. In place: the pieces belong to this answer alone. */
function maskPieces(pieces: readonly Uint8Array[], secret: Uint8Array): boolean {
  const [first = 0] = secret;
  const fallbacks = toFallbacks(secret);
  let matchedBytes = 0;
  let isFound = false;
  for (const [index, piece] of pieces.entries()) {
    for (let at = 0; at < piece.length; at += 1) {
      if (matchedBytes === 0) {
        at = piece.indexOf(first, at);
        if (at === -1) break;
      }
      while (matchedBytes > 0 && piece[at] !== secret[matchedBytes])
        matchedBytes = fallbacks[matchedBytes - 1] ?? 0;
      if (piece[at] === secret[matchedBytes]) matchedBytes += 1;
      if (matchedBytes < secret.length) continue;
      fillBefore(pieces, { index, end: at + 1, bytes: secret.length });
      matchedBytes = 0;
      isFound = true;
    }
  }
  return isFound;
}

/** For each beginning of the secret, how much of its end is a beginning too (Knuth, Morris and Pratt). */
function toFallbacks(secret: Uint8Array): readonly number[] {
  const fallbacks = [0];
  for (let at = 1, length = 0; at < secret.length; at += 1) {
    while (length > 0 && secret[at] !== secret[length]) length = fallbacks[length - 1] ?? 0;
    if (secret[at] === secret[length]) length += 1;
    fallbacks.push(length);
  }
  return fallbacks;
}

interface Stretch {
  /** The piece in which it ends, and where in it. */
  readonly index: number;
  readonly end: number;
  readonly bytes: number;
}

function fillBefore(pieces: readonly Uint8Array[], { index, end, bytes }: Stretch): void {
  const piece = pieces[index];
  if (piece === undefined) return;
  const from = Math.max(0, end - bytes);
  piece.fill(ASTERISK, from, end);
  const restBytes = bytes - (end - from);
  if (restBytes > 0)
    fillBefore(pieces, { index: index - 1, end: pieces[index - 1]?.length ?? 0, bytes: restBytes });
}

import { free } from "#kernel/bytes.ts";
import type { Reservation } from "#kernel/memory-semaphore.ts";
import { type BodyReader, readChunk } from "./tee.ts";
import { readLength } from "./upstream.ts";

type BufferedBody =
  /** All of it: one piece where the head told its length, else in the pieces in which it came. */
  | { readonly kind: "whole"; readonly pieces: Uint8Array[]; readonly sizeBytes: number }
  | { readonly kind: "too_large" }
  | { readonly kind: "broken" };

interface BufferOptions {
  readonly bytesMax: number;
  /** The body's length by its head; absent: its headers, which are all still there, are asked. */
  readonly lengthBytes?: number | null;
  readonly onFirstByte?: () => void;
  /** Sees each piece; a promise holds back the next one. */
  readonly watch?: (piece: Uint8Array) => Promise<void> | null;
  /** Asked before the first piece is read and after each: nothing more is read before the memory is acquired. Null or absent: no limit. */
  readonly reservation?: Pick<Reservation, "acquire"> | null;
}

/** A body known to be so short comes with its head or shortly after, and is read at once: 4 µs cheaper (measured). */
export const SHORT_BODY_BYTES_MAX = 16 * 1024;

/** Reads a body to its end; one that is, or says that it is, larger than allowed is left where it stands. Never throws. */
export async function bufferBody(response: Response, options: BufferOptions): Promise<BufferedBody> {
  const { lengthBytes = readLength(response) } = options;
  if (lengthBytes !== null && lengthBytes > options.bytesMax) return { kind: "too_large" };
  try {
    if (lengthBytes !== null && lengthBytes <= SHORT_BODY_BYTES_MAX)
      return await bufferShortBody(response, options);
    if (response.body === null) return { kind: "whole", pieces: [], sizeBytes: 0 };
    const reader = response.body.getReader();
    return lengthBytes === null
      ? await bufferPieces(reader, options)
      : await bufferKnown(reader, options, lengthBytes);
  } catch {
    return { kind: "broken" };
  }
}

async function bufferShortBody(
  response: Response,
  { onFirstByte, watch }: BufferOptions,
): Promise<BufferedBody> {
  const bytes = await response.bytes();
  if (bytes.length > 0) onFirstByte?.();
  const lagging = watch?.(bytes) ?? null;
  if (lagging !== null) await lagging;
  return { kind: "whole", pieces: [bytes], sizeBytes: bytes.length };
}

/** Copied into one array as it comes, so that it can leave in one piece. Memory that is not written to yet is not resident. */
async function bufferKnown(
  reader: BodyReader,
  options: BufferOptions,
  lengthBytes: number,
): Promise<BufferedBody> {
  const whole = new Uint8Array(lengthBytes);
  const sizeBytes = await readPieces(reader, { ...options, bytesMax: lengthBytes }, (piece, at) => {
    whole.set(piece, at);
    // The runtime ends a body at its length; what is freed here was shown to the watcher.
    if (piece.length > SHORT_BODY_BYTES_MAX) free(piece);
  });
  return sizeBytes === lengthBytes ? { kind: "whole", pieces: [whole], sizeBytes } : { kind: "broken" };
}

async function bufferPieces(reader: BodyReader, options: BufferOptions): Promise<BufferedBody> {
  const pieces: Uint8Array[] = [];
  const sizeBytes = await readPieces(reader, options, (piece) => void pieces.push(piece));
  return sizeBytes === null ? { kind: "too_large" } : { kind: "whole", pieces, sizeBytes };
}

/** The number of bytes that came; null when more than allowed. `take` is called with each piece, and where it stands, once it was watched. */
async function readPieces(
  reader: BodyReader,
  { bytesMax, onFirstByte, watch, reservation }: BufferOptions,
  take: (piece: Uint8Array, at: number) => void,
): Promise<number | null> {
  let sizeBytes = 0;
  for (;;) {
    const waiting = reservation?.acquire(sizeBytes) ?? null;
    if (waiting !== null) await waiting;
    const piece = await readChunk(reader);
    if (piece === null) return sizeBytes;
    if (sizeBytes === 0) onFirstByte?.();
    const at = sizeBytes;
    sizeBytes += piece.length;
    if (sizeBytes > bytesMax) return null;
    const lagging = watch?.(piece) ?? null;
    if (lagging !== null) await lagging;
    take(piece, at);
  }
}

/** An answer that the runtime has taken whole. */
interface Departing {
  /** True when all of it has left, or its caller has gone. */
  hasLeft(): boolean;
}

export interface Departures {
  /** `onLeft` is called once, when the answer has left. Not to be called before the answer is on its way to the runtime. */
  watch(answer: Departing, onLeft: () => void): void;
}

/** The delay with which it is noticed that an answer has left: a body that waits for its memory waits so much longer. */
const LOOK_INTERVAL_MS = 20;

/**
 * The runtime calls nothing when a response without a stream has left, but it can be asked. One timer asks for all of them,
 * and runs only while there are some.
 */
export function createDepartures(): Departures {
  const departing = new Map<Departing, () => void>();
  return {
    watch(answer, onLeft) {
      if (departing.size === 0) setTimeout(look, LOOK_INTERVAL_MS);
      departing.set(answer, onLeft);
    },
  };

  function look(): void {
    const left = [...departing].filter(([answer]) => answer.hasLeft());
    for (const [answer] of left) departing.delete(answer);
    if (departing.size > 0) setTimeout(look, LOOK_INTERVAL_MS);
    for (const [, onLeft] of left) onLeft();
  }
}

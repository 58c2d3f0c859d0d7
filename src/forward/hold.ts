import type { HeldShare } from "./held-budget.ts";
import type { BodyReader } from "./tap.ts";
import { readChunk } from "./tap.ts";

export type HeldBody =
  /** All of it, in the pieces in which it came. */
  | { readonly kind: "whole"; readonly pieces: Uint8Array[]; readonly sizeBytes: number }
  | { readonly kind: "too_large" }
  | { readonly kind: "broken" };

export interface HoldOptions {
  readonly bytesMax: number;
  readonly onFirstByte?: () => void;
  /** Sees each piece; a promise holds back the next one. */
  readonly watch?: (piece: Uint8Array) => Promise<void> | null;
  /** Asked before the first piece is read and after each: nothing more is read before there is room. Null or absent: there is. */
  readonly room?: Pick<HeldShare, "cover"> | null;
}

/** A body known to be so short comes with its head or shortly after, and is read at once: 4 µs cheaper (measured). */
const SHORT_BODY_BYTES_MAX = 16 * 1024;

/** Reads a body to its end; one that is, or says that it is, larger than allowed is left where it stands. Never throws. */
export async function holdBody(response: Response, options: HoldOptions): Promise<HeldBody> {
  const lengthBytes = readLength(response);
  if (lengthBytes !== null && lengthBytes > options.bytesMax) return { kind: "too_large" };
  try {
    if (lengthBytes !== null && lengthBytes <= SHORT_BODY_BYTES_MAX)
      return await holdShortBody(response, options);
    if (response.body === null) return { kind: "whole", pieces: [], sizeBytes: 0 };
    return await holdLongBody(response.body.getReader(), options);
  } catch {
    return { kind: "broken" };
  }
}

/**
 * What the head says of the body's length; null when it says nothing that counts: with a `transfer-encoding` no length does
 * (RFC 9112, section 6.3), and the runtime lets a repeated one pass, joined by a comma.
 */
export function readLength({ headers }: Pick<Response, "headers">): number | null {
  const length = headers.get("content-length");
  if (length === null || headers.has("transfer-encoding") || !/^\d+$/.test(length)) return null;
  return Number(length);
}

/** In one piece; without a copy when it came so. */
export function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

/** The same in memory that is not shared with anything; the pieces are used up, so that no two copies are kept. */
export function moveIntoOne(pieces: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
    free(piece);
  }
  return whole;
}

/**
 * At once: what waits for the next collection of garbage is as much again (measured). Nothing can be read from it any more.
 * A part of a larger buffer is left alone, as is what was freed already.
 */
export function free({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

async function holdShortBody(response: Response, { onFirstByte, watch }: HoldOptions): Promise<HeldBody> {
  const bytes = await response.bytes();
  if (bytes.length > 0) onFirstByte?.();
  const lagging = watch?.(bytes) ?? null;
  if (lagging !== null) await lagging;
  return { kind: "whole", pieces: [bytes], sizeBytes: bytes.length };
}

async function holdLongBody(
  reader: BodyReader,
  { bytesMax, onFirstByte, watch, room }: HoldOptions,
): Promise<HeldBody> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for (;;) {
    const waiting = room?.cover(sizeBytes) ?? null;
    if (waiting !== null) await waiting;
    const piece = await readChunk(reader);
    if (piece === null) return { kind: "whole", pieces, sizeBytes };
    if (sizeBytes === 0) onFirstByte?.();
    sizeBytes += piece.length;
    if (sizeBytes > bytesMax) return { kind: "too_large" };
    pieces.push(piece);
    const lagging = watch?.(piece) ?? null;
    if (lagging !== null) await lagging;
  }
}

import type { BodySource } from "./upstream.ts";

/** Limit of one write: the runtime keeps a second copy of the part that the connection does not take at once. */
const WRITE_BYTES_MAX = 256 * 1024;

/** A body in memory that is sent write by write. */
export interface Upload extends BodySource {
  readonly sizeBytes: number;
}

/** `onTaken` is called when all of it has left. */
export function createUpload(pieces: readonly Uint8Array[], onTaken: () => void): Upload {
  const writes = toWrites(pieces);
  return {
    sizeBytes: pieces.reduce((sum, { length }) => sum + length, 0),
    next() {
      const { done, value } = writes.next();
      if (done !== true) return Promise.resolve(value);
      onTaken();
      return Promise.resolve(null);
    },
  };
}

function* toWrites(pieces: readonly Uint8Array[]): Generator<Uint8Array, void> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += WRITE_BYTES_MAX) yield piece.subarray(at, at + WRITE_BYTES_MAX);
  }
}

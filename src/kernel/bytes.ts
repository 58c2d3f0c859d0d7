/** One array of all pieces; without a copy when there is only one. */
export function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces);
}

/** A buffer's methods, which work on any bytes: to make a buffer of some takes two objects. */
export const BUFFER: {
  readonly copy: (this: Uint8Array, to: Uint8Array, at: number, start: number, end?: number) => number;
  readonly toString: (this: Uint8Array, encoding: "utf8", start: number, end: number) => string;
} = Buffer.alloc(0);

/** A shorter array is left to the collector: freeing one costs 0.5 to 1 µs, whatever its length (measured). */
const FREED_BYTES_MIN = 16 * 1024;

/**
 * Frees the memory at once: what waits for the next garbage collection is as much again (measured). Nothing can be read
 * from the array any more. A part of a larger buffer is left alone, as is an array that was freed already.
 */
export function free(bytes: Uint8Array, bytesMin = FREED_BYTES_MIN): void {
  const { byteLength } = bytes;
  if (byteLength < bytesMin) return;
  // Asked for last: it is an object that is made then.
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** The first block, where its piece is not longer. */
const BLOCK_BYTES_MIN = 4 * 1024;
/** Each further block is as long as all before it, up to this: 64 MiB are 72 blocks, however short their pieces were. */
const BLOCK_BYTES_MAX = 1024 * 1024;

/**
 * Bytes whose number is not known beforehand, copied into a few blocks as they come. An array for each piece costs 100 to 400
 * bytes beside its own, which is gigabytes for pieces of one byte (measured).
 */
export class GatheredBytes {
  #blocks: Uint8Array<ArrayBuffer>[] = [];
  /** Bytes that are taken of the last block. */
  #usedBytes = 0;
  #sizeBytes = 0;

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Copies the piece, which stays the caller's. */
  push(piece: Uint8Array): void {
    for (let at = 0; at < piece.length;) {
      const block = this.#openBlock(piece.length - at);
      const part = piece.subarray(at, at + block.length - this.#usedBytes);
      block.set(part, this.#usedBytes);
      this.#usedBytes += part.length;
      this.#sizeBytes += part.length;
      at += part.length;
    }
  }

  /** One array of all bytes. Each block is freed once it is copied, so that no two copies are kept; nothing is left here. */
  moveIntoOne(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#sizeBytes);
    let at = 0;
    for (const block of this.#blocks) {
      whole.set(block.subarray(0, whole.length - at), at);
      at += block.length;
      free(block);
    }
    this.release();
    return whole;
  }

  /** Frees everything. May be called more than once. */
  release(): void {
    for (const block of this.#blocks) free(block);
    this.#blocks = [];
    this.#usedBytes = 0;
    this.#sizeBytes = 0;
  }

  #openBlock(wantedBytes: number): Uint8Array<ArrayBuffer> {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#usedBytes < last.length) return last;
    const blockBytes =
      last === undefined
        ? Math.max(wantedBytes, BLOCK_BYTES_MIN)
        : Math.max(this.#sizeBytes, BLOCK_BYTES_MIN);
    const block = new Uint8Array(Math.min(blockBytes, BLOCK_BYTES_MAX));
    this.#blocks.push(block);
    this.#usedBytes = 0;
    return block;
  }
}

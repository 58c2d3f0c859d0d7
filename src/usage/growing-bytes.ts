/** Bytes that come in pieces, kept in one piece. Past the limit nothing is kept any more. */
export interface GrowingBytes {
  /** Bytes that are kept. */
  readonly sizeBytes: number;
  /** Copies a piece behind the others. */
  append(piece: Uint8Array): void;
  /**
   * All pieces since the last `take` and this last one together, valid until the next `append`; null when they were more
   * than allowed. A last piece that is the only one is given back as it is, without a copy.
   */
  take(lastPiece: Uint8Array): Uint8Array | null;
}

const ROOM_BYTES_MIN = 1024;
/** Memory that once held a long text is given back: there may be thousands of streams. */
const ROOM_BYTES_KEPT_MAX = 4 * 1024;

/** Room doubles, so that a text that trickles in is copied about twice, not once per piece. */
export function createGrowingBytes(bytesMax: number): GrowingBytes {
  let room = new Uint8Array();
  let size = 0;
  let isTooLarge = false;

  return {
    get sizeBytes() {
      return size;
    },
    append,
    take(lastPiece) {
      if (size === 0 && !isTooLarge) return lastPiece.length > bytesMax ? null : lastPiece;
      append(lastPiece);
      const taken = isTooLarge ? null : room.subarray(0, size);
      if (room.length > ROOM_BYTES_KEPT_MAX) room = new Uint8Array();
      size = 0;
      isTooLarge = false;
      return taken;
    },
  };

  function append(piece: Uint8Array): void {
    const needed = size + piece.length;
    isTooLarge ||= needed > bytesMax;
    if (isTooLarge) {
      room = new Uint8Array();
      size = 0;
      return;
    }
    if (needed > room.length) {
      const larger = new Uint8Array(
        Math.max(needed, Math.min(Math.max(room.length * 2, ROOM_BYTES_MIN), bytesMax)),
      );
      larger.set(room.subarray(0, size));
      room = larger;
    }
    room.set(piece, size);
    size = needed;
  }
}

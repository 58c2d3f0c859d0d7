/** Lines behind one another, in memory that is used again. */
export class LineBuffer {
  readonly #roomBytes: number;
  /** The first `sizeBytes` of it are lines; what a caller of `reserve` puts behind them counts when it has grown the size. */
  bytes: Buffer;
  sizeBytes = 0;

  constructor(roomBytes: number) {
    this.#roomBytes = roomBytes;
    this.bytes = Buffer.allocUnsafe(roomBytes);
  }

  /** Makes room for so many bytes more. */
  reserve(sizeBytes: number): void {
    const needed = this.sizeBytes + sizeBytes;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.sizeBytes));
    this.bytes = larger;
  }

  append(line: Uint8Array | string): void {
    const added = typeof line === "string" ? Buffer.from(line) : line;
    this.reserve(added.length);
    this.bytes.set(added, this.sizeBytes);
    this.sizeBytes += added.length;
  }

  /** Takes out the first bytes. Once it is empty, memory beyond its room is given back. */
  drop(sizeBytes: number): void {
    this.bytes.copyWithin(0, sizeBytes, this.sizeBytes);
    this.sizeBytes -= sizeBytes;
    if (this.sizeBytes === 0 && this.bytes.length > this.#roomBytes)
      this.bytes = Buffer.allocUnsafe(this.#roomBytes);
  }
}

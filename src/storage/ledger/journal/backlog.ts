import type { JournalPosition } from "./segments.ts";

/**
 * How far the database is behind the journal, in bytes: kept in memory, so that it can be told while neither can be
 * asked. One entry per segment that is not committed to its end.
 */
export class JournalBacklog {
  readonly #sizesBytes: Map<number, number>;
  #committed: JournalPosition;
  #totalBytes = 0;

  /** From what an earlier process left behind, and the position up to which that is committed. */
  constructor(found: ReadonlyMap<number, number>, committed: JournalPosition) {
    this.#sizesBytes = new Map(found);
    for (const sizeBytes of found.values()) this.#totalBytes += sizeBytes;
    this.#committed = committed;
    this.commit(committed);
  }

  get bytes(): number {
    const { segment, offsetBytes } = this.#committed;
    return Math.max(0, this.#totalBytes - (this.#sizesBytes.has(segment) ? offsetBytes : 0));
  }

  grow(segment: number, sizeBytes: number): void {
    this.#sizesBytes.set(segment, (this.#sizesBytes.get(segment) ?? 0) + sizeBytes);
    this.#totalBytes += sizeBytes;
  }

  commit(position: JournalPosition): void {
    this.#committed = position;
    for (const [segment, sizeBytes] of this.#sizesBytes) {
      if (segment >= position.segment) continue;
      this.#sizesBytes.delete(segment);
      this.#totalBytes -= sizeBytes;
    }
  }
}

import { isBefore, type JournalPosition } from "./segments.ts";

/** The time of a line is known to within this: a database that is away for a day leaves some thousand entries. */
const TIME_INTERVAL_MS = 5_000;

/** Lines from a position on were written from a moment on. */
interface WriteTime {
  readonly from: JournalPosition;
  readonly atMs: number;
}

/**
 * Measures how far the database is behind the journal, in bytes and in time, in memory, so that it can be told while neither can
 * be asked. One entry per segment that is not committed to its end. What a process before has left is as old as this one.
 */
export class JournalBacklog {
  readonly #sizesBytes: Map<number, number>;
  #committed: JournalPosition;
  #totalBytes = 0;
  #times: WriteTime[] = [];
  readonly #nowMs: () => number;

  /** From what an earlier process left behind, and the position up to which that is committed. */
  constructor(
    found: ReadonlyMap<number, number>,
    committed: JournalPosition,
    nowMs = () => performance.now(),
  ) {
    this.#nowMs = nowMs;
    this.#sizesBytes = new Map(found);
    for (const sizeBytes of found.values()) this.#totalBytes += sizeBytes;
    this.#committed = committed;
    this.commit(committed);
    if (this.bytes > 0) this.#times.push({ from: committed, atMs: nowMs() });
  }

  get committed(): JournalPosition {
    return this.#committed;
  }

  get bytes(): number {
    const { segment, offsetBytes } = this.#committed;
    return Math.max(0, this.#totalBytes - (this.#sizesBytes.has(segment) ? offsetBytes : 0));
  }

  /** The age of the oldest line that is not committed, to some seconds; 0 when there is none. */
  get ageMs(): number {
    const oldest = this.#times[0];
    return oldest === undefined ? 0 : this.#nowMs() - oldest.atMs;
  }

  grow(segment: number, sizeBytes: number): void {
    const offsetBytes = this.#sizesBytes.get(segment) ?? 0;
    const atMs = this.#nowMs();
    const latest = this.#times.at(-1);
    if (latest === undefined || atMs - latest.atMs >= TIME_INTERVAL_MS)
      this.#times.push({ from: { segment, offsetBytes }, atMs });
    this.#sizesBytes.set(segment, offsetBytes + sizeBytes);
    this.#totalBytes += sizeBytes;
  }

  commit(position: JournalPosition): void {
    this.#committed = position;
    for (const [segment, sizeBytes] of this.#sizesBytes) {
      if (segment >= position.segment) continue;
      this.#sizesBytes.delete(segment);
      this.#totalBytes -= sizeBytes;
    }
    if (this.bytes === 0) this.#times = [];
    const passed = this.#times.findLastIndex(({ from }) => !isBefore(position, from));
    if (passed > 0) this.#times.splice(0, passed);
  }
}

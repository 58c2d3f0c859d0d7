import { rmSync, statSync } from "node:fs";
import { findSegments, segmentPath } from "./segments.ts";

/** A segment stays so long after its end was committed: a database that is restored to a state of then misses nothing. */
export const KEPT_MS = 15 * 60 * 1000;
/** All kept segments take at most this: some minutes of the fastest ledger, days of a usual one. */
export const KEPT_BYTES_MAX = 256 * 1024 * 1024;

export interface KeptSegmentsOptions {
  readonly directory: string;
  readonly monotonicMs: () => number;
  readonly keptMs?: number;
  readonly keptBytesMax?: number;
}

/** The segments that are committed to their end, which stay for a while in case the database loses what it had committed. */
export class KeptSegments {
  readonly #options: KeptSegmentsOptions;
  /** By segment, when this process first saw that its end was committed. */
  readonly #committedMs = new Map<number, number>();

  constructor(options: KeptSegmentsOptions) {
    this.#options = options;
  }

  /** Removes the segments before the position's that are too old, and the oldest of those that are too many. */
  trim(positionSegment: number): void {
    const { directory, monotonicMs, keptMs = KEPT_MS, keptBytesMax = KEPT_BYTES_MAX } = this.#options;
    const nowMs = monotonicMs();
    // Lines of the position's segment, or of one after it, may not be committed yet.
    const committed = findSegments(directory).filter((segment) => segment < positionSegment);
    for (const segment of this.#committedMs.keys())
      if (segment >= positionSegment) this.#committedMs.delete(segment);
    let keptBytes = 0;
    for (const segment of committed.toReversed()) {
      const sinceMs = this.#committedMs.get(segment) ?? nowMs;
      this.#committedMs.set(segment, sinceMs);
      const path = segmentPath(directory, segment);
      keptBytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (nowMs - sinceMs < keptMs && keptBytes <= keptBytesMax) continue;
      rmSync(path, { force: true });
      this.#committedMs.delete(segment);
    }
  }
}

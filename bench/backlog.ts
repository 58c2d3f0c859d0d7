/** Watches how far the writer lies behind the end of the journal, for `bench/sustain.ts`. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { openForReading } from "#storage/sqlite/ledger/file/database.ts";
import { listSegments, segmentPath } from "#storage/journal/segments.ts";

/** How far the committed position lies behind the end of the journal. */
export class BacklogWatch {
  readonly #directory: string;
  readonly #database: ReturnType<typeof openForReading>;
  readonly #firstBytes: number;
  #at = { segment: -1, offset: -1, sinceMs: performance.now() };
  #gone = 0;
  readonly #sizes = new Map<number, number>();
  readonly backlogBytes: number[] = [];
  /** How long each committed position stood while more was waiting. */
  readonly pausesMs: number[] = [];

  constructor(dataDir: string) {
    this.#directory = join(dataDir, "journal");
    this.#database = openForReading(join(dataDir, "usage.db"));
    this.#firstBytes = this.#measure();
  }

  /** Appended since the watch began. */
  get journalBytes(): number {
    return this.#measure() - this.#firstBytes;
  }

  sample(): void {
    const state = this.#database
      .query<{ segment: number; offset: number }, []>(
        "SELECT journal_segment AS segment, journal_offset AS offset FROM ledger_state",
      )
      .get();
    if (state === null) throw new Error("no ledger state");
    const nowMs = performance.now();
    this.#measure();
    let backlog = -state.offset;
    for (const [segment, size] of this.#sizes) if (segment >= state.segment) backlog += size;
    this.backlogBytes.push(Math.max(0, backlog));
    const moved = state.segment !== this.#at.segment || state.offset !== this.#at.offset;
    if (moved) this.pausesMs.push(nowMs - this.#at.sinceMs);
    if (moved || backlog <= 0) this.#at = { ...state, sinceMs: nowMs };
  }

  close(): void {
    this.#database.close();
  }

  /** Of all segments that ever were: the writer removes what it has read. */
  #measure(): number {
    const present = new Set(listSegments(this.#directory));
    for (const segment of present) {
      const path = segmentPath(this.#directory, segment);
      if (existsSync(path)) this.#sizes.set(segment, statSync(path).size);
    }
    for (const [segment, size] of this.#sizes) {
      if (present.has(segment)) continue;
      this.#gone += size;
      this.#sizes.delete(segment);
    }
    let sum = this.#gone;
    for (const size of this.#sizes.values()) sum += size;
    return sum;
  }
}

import type { LimitQuestion } from "#limits/limit-sums.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";

/** Watermarks of one server: more than it can set in a year, and times the number of segments far below 2^53. */
export const WATERMARKS_MAX = 2 ** 28;

/** The journal that a writer writes, and its server. */
export interface WriterStart {
  readonly journalDirectory: string;
  /** The number of its server's run (`ServerRun`). */
  readonly serverRun: number;
  /** Its server's first segment: those before it were another's. */
  readonly firstSegment: number;
  /** The time in which lines may still come into them; 0 when their server has certainly ended. */
  readonly earlierLiveMs: number;
}

export interface WatermarkQuestion {
  readonly watermark: number;
  readonly question: LimitQuestion;
}

/** A message of a writer to its server, unasked. */
export type WriterEvent =
  /** Another server has begun its run: this writer writes no more. */
  | { readonly kind: "superseded" }
  /** A batch is committed. */
  | { readonly kind: "committed"; readonly commit: Commit }
  /** An attempt failed and will be made again. */
  | { readonly kind: "failed" };

/** A batch that is committed, as the writer tells of it. */
export interface Commit {
  readonly position: JournalPosition;
  /** Ids of the events in the order in which they ended, also of those that retention gave no row. */
  readonly eventIds: Float64Array;
  /** Combinations ever interned. */
  readonly combinations: number;
  /** Reading the journal, the transaction and its sync. */
  readonly durationMs: number;
}

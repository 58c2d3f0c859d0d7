import type { Database } from "bun:sqlite";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import type { Commit } from "#storage/threads/writer-tasks.ts";

export interface WriterOptions {
  readonly database: Database;
  readonly journalDirectory: string;
  /** Called for lines that were skipped; with counts only, never with what they held. */
  readonly onDamage: (damage: { readonly lines: number; readonly tornBytes: number }) => void;
  /** Called within the transaction that holds all that had ended before a mark, and nothing else. */
  readonly onMark?: (mark: number) => void;
  /** Called after each batch. */
  readonly onCommit?: (commit: Commit) => void;
  readonly readBytesMax?: number;
  /** The run of the server that writes; absent: the last that has begun. */
  readonly serverRun?: number;
  /** Whether the server before may still add lines to a segment. */
  readonly isLive?: (segment: number) => boolean;
  readonly dimensionLimits?: DimensionLimits;
}

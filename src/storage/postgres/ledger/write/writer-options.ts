import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import type { Commit } from "#storage/threads/writer-tasks.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { SpoolClaim } from "./spool.ts";

export interface WriterOptions {
  readonly postgres: Postgres;
  readonly claim: SpoolClaim;
  readonly journalDirectory: string;
  /** Called for lines that were skipped; with counts only, never with what they held. */
  readonly onDamage: (damage: { readonly lines: number; readonly tornBytes: number }) => void;
  /**
   * Called when all that had ended before a mark is committed, and nothing that ended behind it: the next batch waits until
   * it is fulfilled, and for nothing else. Called again when it has failed.
   */
  readonly onMark?: (mark: number) => Promise<void>;
  /** Called after each batch, also for one of which it was unclear for a while whether it was committed. */
  readonly onCommit?: (commit: Commit) => void;
  /**
   * The database is older than it was: it was put back. `isKept`: the journal still has all that is missing. Also called at the
   * first look where it has not.
   */
  readonly onSetBack?: (setBack: { readonly isKept: boolean }) => void;
  readonly readBytesMax?: number;
  /** Whether the server before may still add lines to a segment. */
  readonly isLive?: (segment: number) => boolean;
  readonly dimensionLimits?: DimensionLimits;
  readonly keptSegments?: { readonly keptMs?: number; readonly keptBytesMax?: number };
}

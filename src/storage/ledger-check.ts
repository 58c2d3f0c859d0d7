import type { InstantUs } from "#kernel/clock.ts";
import type { LimitSum } from "#limits/limit-sums.ts";
import type { Limit } from "#limits/limit.ts";
import type { DataPlace } from "./place.ts";

export interface LedgerCheckOptions extends DataPlace {
  /** The share of the days that is checked, from 0 to 1. */
  readonly onShare: (share: number) => void;
  readonly signal: AbortSignal;
}

export interface LimitCheckOptions extends LedgerCheckOptions {
  readonly limits: readonly Limit[];
  /** Windows that hold this instant are added up, and later ones. */
  readonly nowUs: InstantUs;
}

/** What limits count by the log and by its totals (`StorageEngine.checkLimits`). */
export interface LimitCheck {
  /** Rows of the log that were looked at. */
  readonly events: number;
  /** Rows of the days before it are removed, at least in part; 0 when all are there. */
  readonly rowsFromUs: InstantUs;
  /** What arrived from `rowsFromUs` on, by the rows. */
  readonly byRows: readonly LimitSum[];
  /** What the totals say of it. */
  readonly byTotals: readonly LimitSum[];
  /** Everything, by the totals: what a server has to say. */
  readonly whole: readonly LimitSum[];
}

/** What a look through a ledger found (`StorageEngine.checkLedger`). */
export interface LedgerCheck {
  /** Rows of the log that were added up. */
  readonly events: number;
  /** Rows of the days before it are removed, at least in part: their totals are compared with one another only. */
  readonly rowsFromUs: InstantUs;
  readonly journal: {
    /** Requests that the journal still tells of and that are committed: each was looked for among the events. */
    readonly checkedEnds: number;
    /** Requests that have ended in the journal and are not committed yet. */
    readonly waitingEnds: number;
    readonly waitingBytes: number;
  };
  /** Empty when all is well. */
  readonly findings: readonly LedgerFinding[];
}

/** Something that does not add up. */
export interface LedgerFinding {
  readonly where: string;
  readonly what: string;
  /** How many requests it should tell of, and does. */
  readonly expected: number;
  readonly stored: number;
  /** How many rows, lines or requests are wrong. */
  readonly rows: number;
}

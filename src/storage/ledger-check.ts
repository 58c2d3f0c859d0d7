import type { InstantUs } from "#kernel/clock.ts";

export interface LedgerCheckOptions {
  /** The folder of the usage database and its journal. */
  readonly dataDir: string;
  /** The share of the days that is checked, from 0 to 1. */
  readonly onShare: (share: number) => void;
  readonly signal: AbortSignal;
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
    /** Those that are not committed yet. */
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

import type { InstantUs } from "#kernel/clock.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import type { DataPlace, DatabaseAge } from "./place.ts";

/** What only data in files can do; a backup has such files in it whatever engine is in use. */
export interface DataFiles {
  readonly inspect: DataInspection;
  readonly copy: DataCopies;
}

export interface CatalogFacts {
  /** The last migration that was applied. */
  readonly schema: string;
  /** False: the next start brings it up to date. */
  readonly isCurrent: boolean;
  /** `SecretBox.checkValue` of the secret key that it was made with; null when that is not in it. */
  readonly secretCheckValue: string | null;
}

export interface UsageFacts {
  readonly schema: number;
  /** How far its journal is in it. */
  readonly position: JournalPosition;
  /** The arrival of the newest event; null when there is none. */
  readonly newestAtUs: InstantUs | null;
}

/** Looks at data, also while a server uses it, and changes nothing. */
export interface DataInspection {
  findCatalogAge(path: string): DatabaseAge;
  inspectCatalog(path: string): CatalogFacts;
  hasUsageDatabase(path: string): boolean;
  inspectUsage(path: string): UsageFacts;
  /** Throws a `SetupError` that says `name` unless every page, every index and every reference of the file is sound. */
  requireIntact(path: string, name?: string): void;
  /** How many journal lines from the position's segment on are torn or damaged; a last line may be under way and does not count. */
  countDamagedLines(journalDirectory: string, position: JournalPosition): number;
  /** Whether the folder holds segments; false for one that is absent or closed to this user. */
  hasJournal(journalDirectory: string): boolean;
  /** Whether what was thrown tells of a file that is damaged, or no database at all. */
  isDamage(cause: unknown): boolean;
}

export interface LedgerCopyOptions extends Pick<DataPlace, "dataDir"> {
  /** An empty folder, with an empty folder `journal` in it. */
  readonly target: string;
  /** The share of the log that is copied, from 0 to 1. */
  readonly onShare: (share: number) => void;
  readonly signal: AbortSignal;
}

/** Copies of data that a server may be writing to, as a backup holds them. */
export interface DataCopies {
  /** Copies the last commit of the catalog to `target`, private, checked and synced. */
  copyCatalog(path: string, target: string): Promise<void>;
  /**
   * Copies the ledger as it is at one moment, so that a start from the copy counts every event that had been recorded once.
   * Returns the names of the journal's segments; the caller syncs them.
   */
  copyLedger(options: LedgerCopyOptions): Promise<readonly string[]>;
}

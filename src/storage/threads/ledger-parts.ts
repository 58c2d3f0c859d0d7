import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { KeyUseStore } from "#identity/store.ts";
import type { LimitLedger } from "#limits/limit-sums.ts";
import type { StatsStore } from "#stats/store.ts";
import type { LedgerGauges } from "#usage/gauges.ts";
import type { UsageLedger } from "#usage/store.ts";
import type { WatchedFile } from "#storage/files/file-watch.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import type { RecordedOrder } from "./recorded-events.ts";

export interface LedgerOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly sync: "interval" | "request" | "database";
  /** Rows of the request log older than this are removed; null keeps them for ever. Totals always stay. */
  readonly retentionDays: number | null;
  /** Further files to look after. */
  readonly watched?: readonly WatchedFile[];
}

export interface OpenedLedger {
  readonly ledger: UsageLedger;
  readonly keyUse: KeyUseStore;
  readonly stats: StatsStore;
  readonly limitLedger: LimitLedger;
  gauges(): LedgerGauges;
  /** How long the oldest line that is not in the database has been waiting; 0 when there is none. */
  uncommittedMs(): number;
  /** Seals days and applies the retention now, as is done at times anyway; fulfilled when all of it is committed. */
  maintain(): Promise<void>;
  /** Fulfilled when another server has begun its run on the ledger: this one records nothing any more, and has to end. */
  readonly superseded: Promise<void>;
  /** Like `ledger.close()`, and lets go of the data folder. */
  close(): Promise<void>;
}

/** What an engine puts into its ledger. `Place` tells its Workers where the database is. */
export interface LedgerParts<Place extends object> {
  /** The folder of the segments, made unless it is there. */
  readonly journalDirectory: string;
  readonly place: Place;
  readonly writerUrl: URL;
  readonly readerUrl: URL;
  /** How far the journal is in the database. */
  readonly committed: JournalPosition;
  readonly run: {
    readonly number: number;
    /** Whether the server before may still be running. */
    readonly isOvertaking: boolean;
  };
  readonly recorded: RecordedOrder;
  /** The engine's own files to look after. */
  watch(ledger: {
    /** Puts the file of the database back under its name. */
    readonly putBack: () => Promise<void>;
    /** Records nothing any more: another server has the data. */
    readonly standDown: () => void;
  }): readonly WatchedFile[];
  /** Lets go of the data folder, after all else. */
  release(): void | Promise<void>;
}

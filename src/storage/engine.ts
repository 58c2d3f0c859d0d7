import type { AuditStore } from "#audit/event.ts";
import type { ResponseStore } from "#catalog/kept-response.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { SlotSource } from "#catalog/slots.ts";
import type { SharedAttempts } from "#identity/attempts.ts";
import type { UsedStates } from "#identity/sso-state.ts";
import type { IdentityStore, KeyUseStore } from "#identity/store.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { Keyring } from "#kernel/crypto.ts";
import type { Log } from "#kernel/log.ts";
import type { LimitBoard } from "#limits/open-elsewhere.ts";
import type { LimitLedger, LimitSum } from "#limits/limit-sums.ts";
import type { LimitStore } from "#limits/store.ts";
import type { PeopleStore } from "#people/store.ts";
import type { NoticeStore, SpendLedger } from "#notices/store.ts";
import type { RepricingStore } from "#stats/repricing.ts";
import type { StatsStore } from "#stats/store.ts";
import type { LedgerGauges, StorageHealth } from "#usage/gauges.ts";
import type { UsageLedger } from "#usage/store.ts";
import type { Rotation, SecretRotation } from "./catalog/rotation.ts";
import type { UnreadableRow } from "./catalog/unreadable.ts";
import type { Limit } from "#limits/limit.ts";

/**
 * The port to what keeps an installation's data, and the only part of an engine that `boot` knows. It picks one in
 * `boot/settings/engine.ts`. Another engine brings a driver in `storage/<engine>/engine.ts` (`EngineDriver`) and passes the
 * contract suite (`tests/storage/contract.ts`) from `tests/storage/engines/<engine>.ts`.
 *
 * Every method throws a `SetupError` for data that cannot be used: damaged, foreign, of a newer version or of an unreleased
 * one, closed to this user, or on a database that does not answer. What only files can do is `sqlite/files.ts`.
 */
export interface StorageEngine {
  /**
   * Opens everything for the one server of a data folder: takes its lock, brings the catalog's schema up to date, and
   * replays what a killed process left in the journal. Nothing stays open when it throws.
   */
  serve(options: ServeOptions): Promise<Storage>;

  /**
   * Opens an installation for a command on this machine, also while a server runs on it. No file is made or changed until
   * `forWriting` is called, no lock is taken, and the ledger's files are first touched when a report is asked for.
   *
   *     const local = await engine.openLocal({ dataDir, database, secrets, clock, log });
   *     await local.reading.catalog.snapshot();                        // a step that writes fails here
   *     await (await local.forWriting()).identity.createPrincipal(…);  // the running server sees it at its next request
   *     await local.ledger.stats.readSummary(…);                       // every report, from a reader Worker
   *     await local.close();
   *
   * Throws when there is no catalog: `findCatalogAge(place) === "none"` says so beforehand, and `makeCatalog` makes one.
   */
  openLocal(options: OpenOptions): Promise<LocalStorage>;

  /**
   * Makes another secret the catalog's, in one transaction, also while a server runs on it, which follows at its next look:
   * credentials are sealed anew, sessions and login links end, keys go on being verified by the token keys of former
   * secrets. Throws, and has changed nothing, when a credential does not open and when there are too many former secrets.
   */
  rotateSecret(options: RotateOptions): Promise<Rotation>;

  findCatalogAge(place: DataPlace): Promise<DatabaseAge>;

  /** Makes an empty catalog, or brings the one that there is up to date. The folders of its files exist. */
  makeCatalog(options: OpenOptions): Promise<void>;

  /** The reports of a ledger, also while a server writes to it. Takes no lock and changes nothing. */
  openLedgerReader(options: DataPlace & { readonly log: Log }): LedgerReader;

  /**
   * Tells whether nothing recorded is missing or counted twice, as far as journal, events and totals tell; also while a server
   * writes to them. Changes nothing. Null where no ledger was made yet.
   */
  checkLedger(options: LedgerCheckOptions): Promise<LedgerCheck | null>;

  /**
   * Adds up what the rows of the log hold for limits, and what the totals hold, as of one moment; also while a server writes to
   * them. Changes nothing. Null where no ledger was made yet.
   */
  checkLimits(options: LimitCheckOptions): Promise<LimitCheck | null>;
}

/** Where the data of an installation is. */
export interface DataPlace {
  /** The folder of the journal and the lock, and of the usage database where that is a file. */
  readonly dataDir: string;
  readonly database: Database;
}

export type Database = SqliteDatabase | PostgresDatabase;

export interface SqliteDatabase {
  readonly kind: "sqlite";
  /** Absolute path of the catalog; its folder exists. */
  readonly path: string;
}

export interface PostgresDatabase {
  readonly kind: "postgres";
  /** Holds user and password: never in a message or a log. */
  readonly url: string;
  readonly schema: string;
  /** For how long memory is believed without the database; 0 asks it for every request. */
  readonly graceMs: number;
}

/** When a response may end: before its journal line is synced, after that, or after its event is committed in the database. */
export const LEDGER_SYNCS = ["interval", "request", "database"] as const;
export type LedgerSync = (typeof LEDGER_SYNCS)[number];

/** `none`: there is no such database, or nothing is in it. `older`: the next start brings its schema up to date. */
export type DatabaseAge = "none" | "older" | "current";

export interface OpenOptions extends DataPlace {
  /** Its check value is remembered by a new catalog, and compared with by an existing one. It follows the catalog's secrets. */
  readonly secrets: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Called when a change is committed and replicas are waited for, which may take their grace; what it returns is called once
   * they have followed, or are known not to.
   */
  readonly onUnconfirmed?: () => () => void;
}

export type RotateOptions = OpenOptions & SecretRotation;
export type { Rotation };

export interface ServeOptions extends OpenOptions {
  readonly ledgerSync: LedgerSync;
  /** Null keeps the request log for ever. Totals always stay. */
  readonly usageRetentionDays: number | null;
}

export interface CatalogStores {
  readonly audit: AuditStore;
  readonly identity: IdentityStore;
  readonly catalog: CatalogStore;
  readonly limits: LimitStore;
  readonly people: PeopleStore;
  readonly notices: NoticeStore;
  readonly responses: ResponseStore;
}

/** Everything that a server keeps: the catalog's stores and the usage ledger. */
export interface Storage extends CatalogStores {
  readonly ledger: UsageLedger;
  readonly keyUse: KeyUseStore;
  readonly stats: StatsStore;
  readonly repricings: RepricingStore;
  readonly limitLedger: LimitLedger;
  readonly spendLedger: SpendLedger;
  /** Null where no other process serves the data. */
  readonly limitBoard: LimitBoard | null;
  /** Shared by all processes that serve the data. */
  readonly sharedAttempts: SharedAttempts;
  readonly usedStates: UsedStates;
  readonly slots: SlotSource;
  /** Tells requests of this process from those of any other on the data (`eventIdToUuid`); 0 where there is no other. */
  readonly lane: number;
  /** False when no server had run on the data before this one. */
  readonly wasServed: boolean;
  /** Tells how the ledger is doing; asks no file, so that it can be told while the disk fails. */
  ledgerGauges(): LedgerGauges;
  /** Tells how the database is doing; asks it nothing, so that it can be told while it is away. */
  health(): StorageHealth;
  /** Measures all that is kept, in bytes, also of what other processes recorded; the journal is this one's. Asks the disk or the database. */
  measure(): Promise<StorageSizes>;
  /**
   * Starts what brings the journal into the database, and maintenance. For a server that listens: it takes 10 ms, and no answer
   * waits for it. Rejects when no thread can be started.
   */
  start(): Promise<void>;
  /** Runs maintenance now: seals days and applies the retention. Fulfilled when all of it is committed. */
  maintain(): Promise<void>;
  /** Fulfilled when another server has taken over the data: nothing is recorded any more, and this one has to end. */
  readonly superseded: Promise<void>;
  /** Hands what was recorded to the disk and lets go of all files. */
  close(): Promise<void>;
}

export interface StorageSizes {
  readonly catalogBytes: number;
  readonly usageBytes: number;
  readonly journalBytes: number;
}

export interface LocalStorage {
  /** The catalog as it is; of an older schema, as it was when it was opened. Each step that writes fails. */
  readonly reading: CatalogStores;
  /**
   * The catalog to be changed, opened at the first call: its schema is brought up to date first. Throws while a server of an
   * older version runs on the folder, which would not start again on a newer schema.
   */
  forWriting(): Promise<CatalogStores>;
  /** Rows of the catalog that the schema allows and this version cannot read, so that they are not in force. */
  findUnreadable(): Promise<readonly UnreadableRow[]>;
  readonly ledger: LedgerReader;
  close(): Promise<void>;
}

export interface LedgerReader {
  /** A ledger that no server has made yet answers as an empty one. The first question throws for a file that cannot be used. */
  readonly stats: StatsStore;
  loadLastUsed(ids: readonly string[]): Promise<ReadonlyMap<string, InstantUs>>;
  /** Sums of what is committed: nothing is held up for them, as a server's sums are. */
  readonly limitLedger: LimitLedger;
  /**
   * Waits, shortly, until what the journal holds at this moment is in the database, and returns how many bytes of it are
   * not: above zero when a server was killed and has not been started since, and no report counts them yet.
   */
  settle(): Promise<number>;
  close(): Promise<void>;
}

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

/** The sums of limits by the log and by its totals (`StorageEngine.checkLimits`). */
export interface LimitCheck {
  /** Rows of the log that were looked at. */
  readonly events: number;
  /** Rows of the days before it are removed, at least in part; 0 when all are there. */
  readonly rowsFromUs: InstantUs;
  /** Usage that arrived from `rowsFromUs` on, by the rows. */
  readonly byRows: readonly LimitSum[];
  /** Usage that arrived from `rowsFromUs` on, by the totals. */
  readonly byTotals: readonly LimitSum[];
  /** Everything, by the totals: what a server has to say. */
  readonly whole: readonly LimitSum[];
}

/** The findings of a look through a ledger (`StorageEngine.checkLedger`). */
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
  /** The number of requests that it should tell of, and does. */
  readonly expected: number;
  readonly stored: number;
  /** The number of rows, lines or requests that are wrong. */
  readonly rows: number;
}

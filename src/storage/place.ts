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

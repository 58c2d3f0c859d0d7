import type { Log } from "#kernel/log.ts";
import type { PostgresDatabase } from "#storage/engine.ts";

export type Cell = string | number | Uint8Array | null;

/** An installation that is to be moved, all of it as of one moment. */
export interface InstallationSource {
  /** The columns of a table, in the order of `batches`. */
  columnsOf(table: MovedTable): readonly string[];
  countRows(table: MovedTable): number;
  /** All rows in the table's order, each in that of its columns; so many at a time, and fewer at the end alone. */
  batches(table: MovedTable, rowsMax: number): Iterable<readonly (readonly Cell[])[]>;
  /** The UTC days since 1970 that have rows in the request log, ascending. */
  readonly days: readonly number[];
  close(): void;
}

/** Follows a move, and interrupts it. */
export interface MoveProgress {
  /** Tells the present step and its share, from 0 to 1; null for a step without a measure. */
  readonly step: (sentence: string, share: number | null) => void;
  readonly signal: AbortSignal;
}

/** Where an installation goes. */
export interface MoveTarget {
  readonly target: PostgresDatabase;
  readonly log: Log;
}

/** The number of rows that were moved, by table. */
export type MovedRows = ReadonlyMap<string, number>;

/** A table that an installation takes along to another engine. */
export interface MovedTable {
  /** Its name in both engines. */
  readonly name: string;
  /** The file in which SQLite keeps it. */
  readonly file: "catalog" | "usage";
  /** Its name in progress and refusals. */
  readonly noun: string;
  /** The order in which its rows are read: a row that refers to another of its table comes behind it. */
  readonly order: string;
}

/** In an order in which each row comes behind those that it refers to. */
export const MOVED_TABLES: readonly MovedTable[] = [
  catalog("meta", "secret state", "key"),
  catalog("providers", "providers", "id"),
  // A name refers to the row that routes, never to another name.
  catalog("models", "models", "target_id IS NOT NULL, id"),
  catalog("prices", "prices", "name, unit"),
  catalog("price_variants", "price variants", "name"),
  catalog("price_schedule", "prices to come", "id"),
  catalog("price_history", "price history", "id"),
  catalog("price_inheritance", "inheritance of prices", "name, from_us"),
  catalog("pricing_feed", "price feed", "id"),
  catalog("principals", "principals", "id"),
  catalog("api_keys", "API keys", "id"),
  catalog("relay_tokens", "relay tokens", "id"),
  catalog("oidc_subject", "accounts of single sign-on", "issuer, subject"),
  catalog("sessions", "sessions", "token_hash"),
  catalog("login_links", "login links", "token_hash"),
  catalog("limits", "limits", "id"),
  catalog("notices", "notices", "sequence"),
  catalog("notice_marks", "marks of notices", "name"),
  catalog("kept_responses", "kept responses", "id_hash, principal_id"),
  catalog("audit_events", "audit log", "id"),
  usage("ledger_state", "state of the ledger", "id"),
  usage("combination", "dimensions of requests", "id"),
  usage("result", "results", "id"),
  usage("price_set", "sets of prices", "id"),
  usage("manner", "manners", "id"),
  usage("cells", "sums of sealed hours, days and months", "period, at, part"),
  usage("key_use", "last use of keys", "key_id"),
  usage("pending_event", "pending requests", "id"),
  usage("event", "request log", "id"),
  usage("hour_total", "totals of hours", "hour, outcome"),
  usage("open_cell", "sums of hours that are not sealed", "hour, combination, result"),
  usage("carried_total", "totals of late ends", "ended_day, arrived_day, combination, result"),
  usage("repricing", "re-pricings", "number"),
  usage("repriced_stretch", "former prices of re-priced requests", "repricing, from_us"),
];

/** Columns that the other engine has no place for: its journals say how far they are in a table of their own. */
export const LEFT_COLUMNS: readonly string[] = ["journal_segment", "journal_offset"];

function catalog(name: string, noun: string, order: string): MovedTable {
  return { name, file: "catalog", noun, order };
}

function usage(name: string, noun: string, order: string): MovedTable {
  return { name, file: "usage", noun, order };
}

import { CELL_MEASURES, HOUR_MEASURES, LONG_REQUEST_US, toSqliteColumns } from "#storage/cells/measures.ts";

/** "LPUD": tells usage.db from any other SQLite file, and from those of versions that were not released. */
export const APPLICATION_ID = 0x4c505544;
export const SCHEMA_VERSION = 3;

/** A column that a version of the schema has added, and what it holds in rows of before. */
interface AddedColumn {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly value: string;
}

const toCostReported = (table: string): readonly AddedColumn[] => [
  { table, name: "cost_reported_requests", type: "INTEGER NOT NULL", value: "0" },
  { table, name: "cost_reported_hi", type: "REAL NOT NULL", value: "0.0" },
  { table, name: "cost_reported_lo", type: "REAL NOT NULL", value: "0.0" },
];

/** By version, the columns that it has added to those of the version before; the first one is 2. */
const ADDED: readonly (readonly AddedColumn[])[] = [
  [
    { table: "combination", name: "geo", type: "TEXT", value: "NULL" },
    ...["hour_total", "open_cell", "carried_total"].flatMap(toCostReported),
  ],
];

/** Re-pricings and what takes them back. `active` is 1 for the one that is under way, which there is one of. */
const REPRICING_SQL = `
CREATE TABLE repricing (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  active INTEGER UNIQUE,
  holder INTEGER NOT NULL,
  beat INTEGER NOT NULL,
  done_events INTEGER NOT NULL,
  planned_us INTEGER NOT NULL,
  changed_us INTEGER,
  from_us INTEGER,
  until_us INTEGER,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE repriced_stretch (
  repricing TEXT NOT NULL,
  from_us INTEGER NOT NULL,
  until_us INTEGER NOT NULL,
  events INTEGER NOT NULL,
  undo BLOB NOT NULL,
  PRIMARY KEY (repricing, from_us)
) STRICT;
`;

/** By version, the tables that it has added to those of the version before; the first one is 2. */
const ADDED_TABLES: readonly string[] = ["", REPRICING_SQL];

/** The DDL of the tables that a database of this version lacks. */
export function toMissingTables(version: number): string {
  return ADDED_TABLES.slice(version - 1).join("");
}

/** The columns that a database of this version lacks. */
export function listMissingColumns(version: number): readonly AddedColumn[] {
  return ADDED.slice(version - 1).flat();
}

const HOUR_COLUMNS = toSqliteColumns(HOUR_MEASURES);
const DAY_COLUMNS = toSqliteColumns(CELL_MEASURES);

/**
 * usage.db (ARCHITECTURE.md, "The ledger"). Written by hand, since it needs STRICT and WITHOUT ROWID.
 *
 * Values that repeat are interned: `combination` (who, what, through which provider, how tagged), `result` (how it ended),
 * `price_set`, and `manner`, which is what an event keeps of a result, of streaming and of prices: some hundred of them, so
 * that one small integer stands for three; its `unpriced` has a bit for each unit that the prices leave without one. `event` is clustered by arrival; an id is the arrival in microseconds, plus one on a clash. Quantities are
 * REAL: SQLite stores a REAL that is whole as the shortest integer, so counts up to 2^53-1 are exact and small, and
 * fractions stay as reported. NULL is "not reported", never zero.
 *
 * Totals are written in the same transaction as their events and are never recomputed. Their input is normalised (cached
 * part taken out, cache writes added); audio is in whole microseconds, so that a sum does not depend on its order.
 * Money is `hi * 10^9 + lo` pico with lo < 10^9: halves add up exactly over any number of rows.
 * `open_cell` holds the sums of each hour by combination and result until its day is sealed. Then they are moved into `cells`:
 * those of an hour, a day and a month (`period`, `CELL_PERIODS`), `at` hours, days or months since 1970, of the combinations of
 * one part (`PART_SIZE`), as bytes (`encodeCells`).
 * Late rows of a sealed day are in `open_cell` until the next maintenance; the cells of an hour go with its rows.
 * `hour_total` holds the sums of each hour by outcome, for good.
 * Events that arrived before `pruned_before_us` may have no row any more; those that arrive before `refused_before_us` get none.
 * `carried_total` holds what ended on another day than it arrived: limits count by the end.
 * `pending_event` has the ids of the rows of `event` that wait for a settlement: retention passes them over.
 * `repricing` has re-pricings, and `repriced_stretch` what takes one back: the former classes of its events (`encodeFormers`).
 * `settlement` has the journal lines of settlements whose requests are still open, by their arrival.
 * `server_run` says which server may write (`ServerRun`).
 * day = days, hour = hours since 1970-01-01 UTC.
 */
export const SCHEMA_SQL = `
CREATE TABLE server_run (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  number INTEGER NOT NULL,
  lock_file TEXT NOT NULL
) STRICT;
INSERT INTO server_run VALUES (1, 0, '');

CREATE TABLE ledger_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  journal_segment INTEGER NOT NULL,
  journal_offset INTEGER NOT NULL,
  pruned_before_us INTEGER NOT NULL,
  refused_before_us INTEGER NOT NULL
) STRICT;
INSERT INTO ledger_state VALUES (1, 0, 0, 0, 0);

CREATE TABLE open_request (
  sequence INTEGER PRIMARY KEY,
  begin_line BLOB NOT NULL
) STRICT;

CREATE TABLE combination (
  id INTEGER PRIMARY KEY,
  fingerprint BLOB NOT NULL UNIQUE,
  principal_id TEXT NOT NULL,
  principal_name TEXT NOT NULL,
  key_id TEXT,
  relay_token_id TEXT,
  provider_id TEXT NOT NULL,
  model TEXT,
  upstream_name TEXT,
  endpoint TEXT NOT NULL,
  client TEXT,
  tags TEXT NOT NULL,
  shape TEXT,
  tier TEXT,
  geo TEXT
) STRICT;

CREATE TABLE result (
  id INTEGER PRIMARY KEY,
  outcome TEXT NOT NULL,
  error_kind TEXT,
  status_code INTEGER NOT NULL,
  failure TEXT
) STRICT;
CREATE UNIQUE INDEX result_once ON result (outcome, ifnull(error_kind, ''), status_code, ifnull(failure, ''));

CREATE TABLE price_set (
  id INTEGER PRIMARY KEY,
  prices TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE manner (
  id INTEGER PRIMARY KEY,
  result INTEGER NOT NULL REFERENCES result,
  streamed INTEGER NOT NULL,
  price_set INTEGER NOT NULL REFERENCES price_set,
  unpriced INTEGER NOT NULL,
  UNIQUE (result, streamed, price_set, unpriced)
) STRICT;

CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  combination INTEGER NOT NULL,
  manner INTEGER NOT NULL,
  duration_us INTEGER NOT NULL,
  first_byte_us INTEGER,
  cost_hi REAL,
  cost_lo REAL,
  input_tokens REAL,
  output_tokens REAL,
  cached_input_tokens REAL,
  other_units TEXT
) STRICT;

CREATE INDEX event_long ON event (id + duration_us) WHERE duration_us >= ${LONG_REQUEST_US};

CREATE TABLE hour_total (
  hour INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  ${HOUR_COLUMNS},
  PRIMARY KEY (hour, outcome)
) STRICT, WITHOUT ROWID;

CREATE TABLE open_cell (
  hour INTEGER NOT NULL,
  combination INTEGER NOT NULL,
  result INTEGER NOT NULL,
  ${DAY_COLUMNS},
  PRIMARY KEY (hour, combination, result)
) STRICT, WITHOUT ROWID;

CREATE TABLE cells (
  period INTEGER NOT NULL,
  at INTEGER NOT NULL,
  part INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  columns BLOB NOT NULL,
  PRIMARY KEY (period, at, part)
) STRICT;

CREATE TABLE carried_total (
  ended_day INTEGER NOT NULL,
  arrived_day INTEGER NOT NULL,
  combination INTEGER NOT NULL,
  result INTEGER NOT NULL,
  ${HOUR_COLUMNS},
  PRIMARY KEY (ended_day, arrived_day, combination, result)
) STRICT, WITHOUT ROWID;

CREATE TABLE pending_event (
  id INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE settlement (
  id INTEGER PRIMARY KEY,
  line TEXT NOT NULL
) STRICT;

CREATE TABLE key_use (
  key_id TEXT PRIMARY KEY,
  last_used_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
${REPRICING_SQL}`;

import type { Database } from "bun:sqlite";
import { UNIT_COLUMNS, UNITS } from "#kernel/units.ts";
import { SQLITE } from "#storage/ledger/queries/dialect.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";

export const RESULT_ONCE_SQL =
  "CREATE UNIQUE INDEX result_once ON result (outcome, ifnull(error_kind, ''), status_code, ifnull(failure, ''));";

/** The tables that have a column for each unit. */
const UNIT_TABLES: readonly (readonly [table: string, columns: readonly string[]])[] = [
  ["event", UNITS],
  ["hour_total", UNIT_COLUMNS],
  ["day_total", UNIT_COLUMNS],
  ["sealed_day_total", UNIT_COLUMNS],
  ["month_total", UNIT_COLUMNS],
  ["dimension_total", UNIT_COLUMNS],
];

/** Adds the columns that a ledger of an earlier version does not have. */
export function ensureColumns(database: Database): void {
  addWhereMissing(database, isWithoutConditions, addConditions);
  addWhereMissing(database, isWithoutUnits, addUnits);
}

function addWhereMissing(
  database: Database,
  isMissing: (database: Database) => boolean,
  add: (database: Database) => void,
): void {
  if (!isMissing(database)) return;
  database.run("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have added them meanwhile.
    if (isMissing(database)) add(database);
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}

function isWithoutConditions(database: Database): boolean {
  return database.query(SQLITE.conditions).get() === null;
}

/**
 * Adds the tier of label sets and the failure of results, and gives relayed requests that only asked or counted the shape that
 * tells so: until then none of them had one.
 */
function addConditions(database: Database): void {
  database.run("ALTER TABLE combination ADD COLUMN tier TEXT");
  database.run("ALTER TABLE result ADD COLUMN failure TEXT");
  database.run("DROP INDEX result_once");
  database.run(RESULT_ONCE_SQL);
  database.run(
    `UPDATE combination SET shape = 'exclusive' WHERE shape IS NULL AND provider_id = '${RELAY_PROVIDER}'
       AND (endpoint LIKE '%/count_tokens' OR endpoint LIKE '/v1/models%' OR endpoint LIKE '/api/event_logging/%')`,
  );
}

/** All tables get their columns at once, so that one of them tells. */
function isWithoutUnits(database: Database): boolean {
  return findMissing(database, "event", UNITS).length > 0;
}

/** Adds columns of units that no request of the ledger told. */
function addUnits(database: Database): void {
  for (const [table, columns] of UNIT_TABLES)
    for (const column of findMissing(database, table, columns))
      database.run(`ALTER TABLE ${table} ADD COLUMN ${column} REAL`);
}

/** Shows a connection that only reads such a ledger as it will be: its own temporary views stand before the tables. */
export function viewUnitColumns(database: Database): void {
  if (!isWithoutUnits(database)) return;
  for (const [table, columns] of UNIT_TABLES) {
    const nulls = findMissing(database, table, columns).map((column) => `NULL AS ${column}`);
    database.run(`CREATE TEMP VIEW ${table} AS SELECT *, ${nulls.join(", ")} FROM main.${table}`);
  }
}

function findMissing(database: Database, table: string, columns: readonly string[]): readonly string[] {
  const found = database
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)")
    .all(table);
  const there = new Set(found.map(({ name }) => name));
  return columns.filter((column) => !there.has(column));
}

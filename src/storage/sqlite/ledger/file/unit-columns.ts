import type { Database } from "bun:sqlite";
import { UNIT_COLUMNS, UNITS } from "#kernel/units.ts";

/** The tables that have a column for each unit. */
const TABLES: readonly (readonly [table: string, columns: readonly string[]])[] = [
  ["event", UNITS],
  ["hour_total", UNIT_COLUMNS],
  ["day_total", UNIT_COLUMNS],
  ["sealed_day_total", UNIT_COLUMNS],
  ["month_total", UNIT_COLUMNS],
  ["dimension_total", UNIT_COLUMNS],
];

interface Missing {
  readonly table: string;
  readonly columns: readonly string[];
}

/** What a ledger of an earlier version does not have; all tables get their columns at once, so the first one tells. */
function findMissing(database: Database): readonly Missing[] {
  const toMissing = ([table, columns]: (typeof TABLES)[number]): Missing => {
    const found = database
      .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)")
      .all(table);
    const there = new Set(found.map(({ name }) => name));
    return { table, columns: columns.filter((column) => !there.has(column)) };
  };
  const [first, ...rest] = TABLES;
  if (first === undefined || toMissing(first).columns.length === 0) return [];
  return [first, ...rest].map(toMissing);
}

/** Adds the columns of units that a ledger of an earlier version does not have: none of its requests told any of them. */
export function ensureUnitColumns(database: Database): void {
  if (findMissing(database).length === 0) return;
  database.run("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have added them meanwhile.
    for (const { table, columns } of findMissing(database))
      for (const column of columns) database.run(`ALTER TABLE ${table} ADD COLUMN ${column} REAL`);
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}

/** Lets a connection that only reads see such a ledger as it will be: its own views stand before the tables. */
export function viewUnitColumns(database: Database): void {
  for (const { table, columns } of findMissing(database)) {
    const nulls = columns.map((column) => `NULL AS ${column}`).join(", ");
    database.run(`CREATE TEMP VIEW ${table} AS SELECT *, ${nulls} FROM main.${table}`);
  }
}

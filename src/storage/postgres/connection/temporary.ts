import { TEMPORARY_TABLES, type TemporaryTable } from "#storage/sql/temporary-tables.ts";
import type { Sql } from "./pool.ts";

const TABLES = Object.keys(TEMPORARY_TABLES).filter(isTable);

function isTable(name: string): name is TemporaryTable {
  return Object.hasOwn(TEMPORARY_TABLES, name);
}

/** The columns of a temporary table and their types, in their order. */
export function toColumns(
  table: TemporaryTable,
): readonly { readonly name: string; readonly type: string }[] {
  return TEMPORARY_TABLES[table].map((column) => {
    const [name = "", ...type] = column.replace(" PRIMARY KEY", "").split(" ");
    return { name, type: type.join(" ") };
  });
}

/**
 * Once for a connection: a transaction that only reads may fill temporary tables and not make them. Plans are made anew for
 * what is bound and for what these tables hold; compiling them takes longer than the reports do. Sums of a report fit into this memory, as those of SQLite do into its.
 */
export async function prepareTables(sql: Sql): Promise<void> {
  const tables = TABLES.map((table) => {
    const columns = TEMPORARY_TABLES[table].map((column) => column.replace(/ TEXT$/, ' TEXT COLLATE "C"'));
    return `CREATE TEMP TABLE IF NOT EXISTS ${table} (${columns.join(", ")}) ON COMMIT DELETE ROWS`;
  });
  await sql.run(
    ["SET jit = off", "SET plan_cache_mode = force_custom_plan", "SET work_mem = '32MB'", ...tables].join(
      "; ",
    ),
  );
}

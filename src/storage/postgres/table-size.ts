import { MOVED_TABLES } from "#storage/move/tables.ts";
import type { Sql } from "./connection/sql.ts";

/** The tables that SQLite's ledger has too, and those of the spools; partitions of `event` are found as such. */
const LEDGER_TABLES = [
  ...MOVED_TABLES.filter(({ file }) => file === "usage").map(({ name }) => name),
  "spool",
  "open_request",
  "settlement",
  "recorded_batch",
];

/**
 * What the tables of the schema take with their indexes, in bytes: the ledger's, and all others. Throws
 * `DatabaseUnreachableError`.
 */
export async function measureTables(sql: Sql): Promise<{ catalogBytes: number; usageBytes: number }> {
  // A partition that is dropped meanwhile has no size.
  const rows = await sql.all<{ ofUsage: boolean; bytes: number }>(
    `SELECT relispartition OR relname = ANY($1::text[]) AS "ofUsage",
            coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes
     FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
     GROUP BY 1`,
    [LEDGER_TABLES],
  );
  const sizeOf = (ofUsage: boolean) => rows.find((row) => row.ofUsage === ofUsage)?.bytes ?? 0;
  return { catalogBytes: sizeOf(false), usageBytes: sizeOf(true) };
}

import type { Sql } from "./connection/sql.ts";

/** The ledger's tables in `0001_ledger.sql`; the partitions of `event` are found as such. */
const LEDGER_TABLES = [
  "ledger_state",
  "spool",
  "open_request",
  "recorded_batch",
  "combination",
  "tag",
  "combination_tag",
  "result",
  "price_set",
  "manner",
  "hour_total",
  "day_total",
  "sealed_day_total",
  "month_total",
  "dimension",
  "dimension_total",
  "sealed_hour",
  "sealed_month",
  "carried_total",
  "key_use",
];

/** What the tables of the schema take with their indexes, in bytes: the ledger's, and all others. Throws `DatabaseUnreachableError`. */
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

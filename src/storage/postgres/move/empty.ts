import { SetupError } from "#kernel/errors.ts";
import { quoteName } from "#storage/postgres/connection/values.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

/** What the migrations themselves put in. */
const SEEDED: ReadonlySet<string> = new Set(["migration", "ledger_state", "catalog_state", "change_log"]);

/** Throws a `SetupError` unless the schema is absent, or as its migrations have made it, with no row of an installation in it. */
export async function requireEmpty(tx: Sql, schema: string): Promise<void> {
  const tables = await tx.all<{ name: string }>(
    `SELECT relname AS name FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
     WHERE n.nspname = $1 AND relkind IN ('r', 'p') AND NOT relispartition`,
    [schema],
  );
  for (const { name } of tables) {
    if (SEEDED.has(name)) continue;
    const rows = await tx.all(`SELECT 1 FROM ${quoteName(name)} LIMIT 1`);
    if (rows.length === 0) continue;
    throw new SetupError(
      "configuration",
      `The schema ${schema} is in use (its table ${name} has rows): nothing was moved. Name another one with PROXY_DATABASE_SCHEMA or, if what is in it is not needed, remove it: DROP SCHEMA ${quoteName(schema)} CASCADE.`,
    );
  }
}

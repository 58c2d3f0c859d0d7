import { sha256Hex } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import { type AppliedMigration, hashOf, listPending, type Migration } from "#storage/migration.ts";
import { STATEMENT_MS_MAX } from "./limits.ts";
import { quoteName } from "./driver-options.ts";
import { StatementError, toRightError } from "./errors.ts";
import { MIGRATIONS } from "./migrations.ts";
import type { Postgres } from "./postgres.ts";
import type { Sql } from "./sql.ts";

/** The oldest that the tests run on. */
const SERVER_VERSION_MIN = 15;

/**
 * Brings the schema of the connection up to date and returns the names of the steps that were applied, none when it was
 * current. All in one transaction, under a lock that only starting processes take, so that of several one does the work and
 * the others find it done. A role that may not create anything serves a current schema. Throws SetupError, having changed
 * nothing: a newer or an altered schema, a schema of another program, a missing right, an old server.
 */
export async function migrate(
  postgres: Postgres,
  schema: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  return postgres.transaction((tx) => migrateWithin(tx, schema, migrations), {
    callMsMax: STATEMENT_MS_MAX.migration,
  });
}

/** As `migrate`, as a part of a transaction that goes on: other processes that start wait for its end. */
export async function migrateWithin(
  tx: Sql,
  schema: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  await requireServer(tx);
  await tx.run("SELECT pg_advisory_xact_lock($1::bigint)", [toLockKey(schema)]);
  const pending = await findPending(tx, schema, migrations);
  if (pending === null) await tx.run(`CREATE SCHEMA ${quoteName(schema)}`);
  const steps = pending ?? migrations;
  if (steps.length === migrations.length) await tx.run(MIGRATION_TABLE_SQL);
  for (const step of steps) {
    await apply(tx, step);
    await tx.run("INSERT INTO migration (name, sha256) VALUES ($1, $2)", [step.name, hashOf(step)]);
  }
  return steps.map(({ name }) => name);
}

/** How far a schema is behind this version. Throws SetupError as `migrate` does; changes nothing. */
export function findSchemaAge(postgres: Postgres, schema: string): Promise<"none" | "older" | "current"> {
  return postgres.transaction(
    async (tx) => {
      const pending = await findPending(tx, schema, MIGRATIONS);
      if (pending === null || pending.length === MIGRATIONS.length) return "none";
      return pending.length === 0 ? "current" : "older";
    },
    { isReadOnly: true },
  );
}

const MIGRATION_TABLE_SQL = `CREATE TABLE migration (
  name text COLLATE "C" PRIMARY KEY,
  sha256 text COLLATE "C" NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
)`;

async function apply(tx: Sql, { name, sql }: Migration): Promise<void> {
  try {
    await tx.run(sql);
  } catch (cause) {
    if (!(cause instanceof StatementError)) throw cause;
    throw new SetupError(
      "failure",
      `The migration ${name} failed (SQLSTATE ${cause.code}); nothing was changed.`,
      cause,
    );
  }
}

/** The steps that the schema lacks; null when there is no schema. */
async function findPending(
  tx: Sql,
  schema: string,
  migrations: readonly Migration[],
): Promise<readonly Migration[] | null> {
  const applied = await readApplied(tx, schema);
  if (applied === null) return null;
  return listPending(migrations, applied, { what: `The schema ${schema}`, copy: "a dump" });
}

async function readApplied(tx: Sql, schema: string): Promise<readonly AppliedMigration[] | null> {
  const [found] = await tx.all<{ tables: number; is_ours: boolean; may_use: boolean }>(
    `SELECT count(c.oid) AS tables, coalesce(bool_or(c.relname = 'migration'), false) AS is_ours,
       has_schema_privilege(n.oid, 'USAGE') AS may_use
     FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
     WHERE n.nspname = $1 GROUP BY n.oid`,
    [schema],
  );
  if (found === undefined) return null;
  if (found.tables === 0) return [];
  if (!found.is_ours) {
    throw new SetupError(
      "configuration",
      `The schema ${schema} holds tables of another program: name another one in PROXY_DATABASE_SCHEMA.`,
    );
  }
  if (!found.may_use) throw toRightError();
  return tx.all<AppliedMigration>('SELECT name, sha256 AS hash FROM migration ORDER BY name COLLATE "C"');
}

async function requireServer(tx: Sql): Promise<void> {
  const [row] = await tx.all<{ version: number; encoding: string }>(
    "SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding",
  );
  if (row === undefined || row.version < SERVER_VERSION_MIN * 10_000) {
    throw new SetupError("configuration", `PostgreSQL ${SERVER_VERSION_MIN} or newer is needed.`);
  }
  if (row.encoding !== "UTF8") {
    throw new SetupError("configuration", "The database's encoding has to be UTF8.");
  }
}

/** The lock of a schema's name: 52 bits of its hash, which a number holds exactly. */
function toLockKey(schema: string): number {
  return Number.parseInt(sha256Hex(`lockport migrations ${schema}`).slice(0, 13), 16);
}

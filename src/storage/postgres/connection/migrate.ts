import { SetupError } from "#kernel/errors.ts";
import { type Migration, readPending, recordMigration, toMigrationTable } from "#storage/sql/migration.ts";
import type { DatabaseAge } from "#storage/engine.ts";
import { sleep } from "#kernel/timer.ts";
import { drive } from "./drive.ts";
import { STATEMENT_MS_MAX } from "./limits.ts";
import { LockedError } from "./lock-watch.ts";
import { MIGRATIONS } from "./migrations.ts";
import { SERVER_VERSION_MIN, StatementError, toRightError, toVersionError } from "./errors.ts";
import type { Sql } from "./pool.ts";
import type { Postgres } from "./postgres.ts";
import { quoteName } from "./values.ts";

/** Reads and writes of a table wait behind a step that waits for its lock, so that a try is short. */
const LOCK_WAIT_MS = 3_000;
const PAUSE_MS = 250;
/**
 * SQLSTATE lock_not_available and deadlock_detected; unique_violation (of the catalogs), duplicate_schema and duplicate_table:
 * another process has made meanwhile what was not there a moment ago.
 */
const AGAIN = new Set(["55P03", "40P01", "23505", "42P06", "42P07"]);

/**
 * Brings the schema of the connection up to date and returns the names of the steps that were applied, none when it was
 * current. All in one transaction, under a lock that only starting processes take, so that of several one does the work and
 * the others find it done. A role that may not create anything serves a current schema, which is only read. Throws SetupError,
 * having changed nothing: a newer or an altered schema, a schema of another program, a missing right, an old server; and
 * LockedError when a lock was not to be had in `waitMsMax`.
 */
export function migrate(
  postgres: Postgres,
  migrations: readonly Migration[] = MIGRATIONS,
  { waitMsMax = STATEMENT_MS_MAX.migration }: { readonly waitMsMax?: number } = {},
): Promise<readonly string[]> {
  return untilUnlocked(
    () =>
      postgres.transaction((tx) => migrateWithin(tx, postgres.schema, migrations), {
        callMsMax: STATEMENT_MS_MAX.migration,
      }),
    waitMsMax,
  );
}

/** Does `work` again while a lock is not to be had, for so long. Throws LockedError afterwards, and what `work` throws else. */
export async function untilUnlocked<Result>(
  work: () => Promise<Result>,
  waitMsMax: number = STATEMENT_MS_MAX.migration,
): Promise<Result> {
  const endMs = performance.now() + waitMsMax;
  for (;;) {
    try {
      return await work();
    } catch (cause) {
      if (!(cause instanceof LockedError) || performance.now() >= endMs) throw cause;
    }
    await sleep(PAUSE_MS);
  }
}

/**
 * As `migrate`, as a part of a transaction that goes on: other processes that start wait for its end. Throws LockedError when
 * a lock was not to be had in time, or another process has come first: the transaction is to be made again.
 */
export async function migrateWithin(
  tx: Sql,
  schema: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  await requireServer(tx);
  try {
    const steps = await lock(tx, schema, migrations);
    for (const step of steps) {
      await apply(tx, step);
      await drive(tx, recordMigration(step));
    }
    await tx.run("SET LOCAL lock_timeout = 0");
    return steps.map(({ name }) => name);
  } catch (cause) {
    throw cause instanceof StatementError && AGAIN.has(cause.code) ? new LockedError(cause.code) : cause;
  }
}

/**
 * The steps that are missing, under a lock that takes a right on the schema: the table of the steps, or, where that is not there
 * yet, its making, for which others that make it wait. A lock by a number any role of the database could hold for ever.
 */
async function lock(
  tx: Sql,
  schema: string,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  const { state, pending } = await find(tx, schema, migrations);
  if (pending.length === 0) return [];
  await tx.run(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
  if (state === "none") await tx.run(`CREATE SCHEMA ${quoteName(schema)}`);
  if (state !== "ours") {
    await tx.run(toMigrationTable('text COLLATE "C"'));
    return pending;
  }
  await tx.run("LOCK TABLE migration IN SHARE ROW EXCLUSIVE MODE");
  return (await find(tx, schema, migrations)).pending;
}

/** Compares a schema with this version. Throws SetupError as `migrate` does; changes nothing. */
export function findSchemaAge(postgres: Postgres): Promise<DatabaseAge> {
  return postgres.transaction(
    async (tx) => {
      const { pending } = await find(tx, postgres.schema, MIGRATIONS);
      if (pending.length === MIGRATIONS.length) return "none";
      return pending.length === 0 ? "current" : "older";
    },
    { isReadOnly: true },
  );
}

async function apply(tx: Sql, { name, sql }: Migration): Promise<void> {
  try {
    await tx.run(sql);
  } catch (cause) {
    if (!(cause instanceof StatementError) || cause.isPassing) throw cause;
    throw new SetupError(
      "failure",
      `The migration ${name} failed (SQLSTATE ${cause.code}); nothing was changed.`,
      cause,
    );
  }
}

interface SchemaState {
  /** There is no schema, one without tables, or one with the table of the steps. */
  readonly state: "none" | "empty" | "ours";
  /** The steps that the schema lacks. */
  readonly pending: readonly Migration[];
}

async function find(tx: Sql, schema: string, migrations: readonly Migration[]): Promise<SchemaState> {
  const state = await findState(tx, schema);
  if (state !== "ours") return { state, pending: migrations };
  const named = { what: `The schema ${schema}`, copy: "a dump" };
  return { state, pending: await drive(tx, readPending(migrations, named)) };
}

async function findState(tx: Sql, schema: string): Promise<SchemaState["state"]> {
  const [found] = await tx.all<{ tables: number; is_ours: boolean; may_use: boolean }>(
    `SELECT count(c.oid) AS tables, coalesce(bool_or(c.relname = 'migration'), false) AS is_ours,
       has_schema_privilege(n.oid, 'USAGE') AS may_use
     FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
     WHERE n.nspname = $1 GROUP BY n.oid`,
    [schema],
  );
  if (found === undefined) return "none";
  if (found.tables === 0) return "empty";
  if (!found.is_ours) {
    throw new SetupError(
      "configuration",
      `The schema ${schema} holds tables of another program: name another one in PROXY_DATABASE_SCHEMA.`,
    );
  }
  if (!found.may_use) throw toRightError();
  return "ours";
}

async function requireServer(tx: Sql): Promise<void> {
  const [row] = await tx.all<{ number: number; version: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding`,
  );
  if (row === undefined) throw new TypeError("a SELECT without FROM has one row");
  if (row.number < SERVER_VERSION_MIN * 10_000) throw toVersionError(row.version);
  if (row.encoding !== "UTF8") {
    throw new SetupError("configuration", "The database's encoding has to be UTF8.");
  }
}

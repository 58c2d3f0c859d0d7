import type { InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import type { InstallationSource, MovedRows, MoveProgress, MoveTarget } from "#storage/move/move.ts";
import { MOVED_TABLES } from "#storage/move/tables.ts";
import { quoteName } from "#storage/postgres/connection/values.ts";
import { migrate, migrateWithin, untilUnlocked } from "#storage/postgres/connection/migrate.ts";
import { withLockWatch } from "#storage/postgres/connection/lock-watch.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { PURPOSES, STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { runStep } from "#storage/postgres/ledger/maintenance.ts";
import {
  listPartitions,
  makePartition,
  makePartitions as makePartitionsAhead,
} from "#storage/postgres/ledger/partitions.ts";
import { drive, toConnection } from "#storage/postgres/connection/drive.ts";
import type { Script } from "#storage/sql/script.ts";
import { findDifferentRow, findTable, toInsertSql, toParameters, type TargetTable } from "./rows.ts";

/** One INSERT of as many takes some 40 ms and 2 MB. */
const BATCH_ROWS = 5_000;

/**
 * Takes an installation into a schema that has none: schema, rows, sequences and the comparison with the source are one
 * transaction, so that whatever fails, and however the process ends, leaves the target as it was. Throws a `SetupError`
 * that says what differs, that the schema is in use, or what is wrong with the connection.
 */
export async function takeInstallation(
  source: InstallationSource,
  { target, log, progress }: MoveTarget & { readonly progress: MoveProgress },
): Promise<MovedRows> {
  return withPostgres({ target, log }, (postgres) =>
    untilUnlocked(() => take(postgres, source, { target, progress })),
  );
}

function take(
  postgres: Postgres,
  source: InstallationSource,
  { target, progress }: Pick<MoveTarget, "target"> & { readonly progress: MoveProgress },
): Promise<MovedRows> {
  return postgres.transaction(
    async (tx) => {
      // The source is read between two statements, a whole table at the longest.
      await tx.run(`SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_MS_MAX.move}`);
      await migrateWithin(tx, target.schema);
      await requireEmpty(tx, target.schema);
      const moved = await copyTables(tx, source, progress);
      await compareTables(tx, source, progress);
      return moved;
    },
    { callMsMax: STATEMENT_MS_MAX.move, signal: progress.signal },
  );
}

/** Throws the `SetupError` of `takeInstallation` for a target that it would refuse, and changes nothing. */
export async function requireVacant({ target, log }: MoveTarget): Promise<void> {
  await withPostgres({ target, log }, (postgres) =>
    postgres.transaction((tx) => requireEmpty(tx, target.schema), { isReadOnly: true }),
  );
}

/**
 * Brings the schema up to date and makes the partitions of the days to come, for servers whose role may not. Returns the
 * names of the steps that were applied.
 */
export function updateSchema({ target, log }: MoveTarget, nowUs: InstantUs): Promise<readonly string[]> {
  return withPostgres({ target, log }, async (postgres) => {
    const applied = await migrate(postgres);
    while (await runStep(postgres, () => makePartitionsAhead(nowUs)));
    return applied;
  });
}

async function withPostgres<Result>(
  { target, log }: MoveTarget,
  work: (postgres: Postgres) => Promise<Result>,
): Promise<Result> {
  await using postgres = await openPostgres({ target, ...PURPOSES.migrate, log });
  return await withLockWatch(postgres, { log, purposes: [PURPOSES.migrate.purpose] }, () => work(postgres));
}

/** Tables into which the migrations themselves put rows. */
const SEEDED: ReadonlySet<string> = new Set(["migration", "ledger_state", "catalog_state", "change_log"]);

/** Throws a `SetupError` unless the schema is absent, or as its migrations have made it, with no row of an installation in it. */
async function requireEmpty(tx: Sql, schema: string): Promise<void> {
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

/** One for each day that has rows, which then lie in its partition from the start. */
function* makePartitions({ days }: InstallationSource): Script<void> {
  const made = new Set(yield* listPartitions());
  for (const day of days) if (!made.has(day)) yield* makePartition(day);
}

async function copyTables(
  tx: Transaction,
  source: InstallationSource,
  progress: MoveProgress,
): Promise<MovedRows> {
  await drive(tx, toConnection(), makePartitions(source));
  // One row, which the migrations have made.
  await tx.run("DELETE FROM ledger_state");
  const moved = new Map<string, number>();
  const total = MOVED_TABLES.reduce((sum, table) => sum + source.countRows(table), 0);
  let done = 0;
  for (const each of MOVED_TABLES) {
    const table = await findTable(tx, each, source);
    const insert = toInsertSql(table);
    let rows = 0;
    let before: Promise<unknown> = Promise.resolve();
    for (const batch of source.batches(table, BATCH_ROWS)) {
      progress.signal.throwIfAborted();
      progress.step(`copying ${table.noun}`, done / total);
      // The next batch is read while the server has this one.
      const written = tx.run(insert, toParameters(batch, table));
      written.catch(() => undefined);
      await before;
      before = written;
      rows += batch.rows;
      done += batch.rows;
    }
    await before;
    moved.set(table.name, rows);
    await moveSequences(tx, table);
  }
  progress.step("gathering statistics", null);
  // Else the first reports would be planned for empty tables.
  await tx.run(`ANALYZE ${MOVED_TABLES.map(({ name }) => quoteName(name)).join(", ")}`);
  return moved;
}

/** New rows get ids behind those that were moved. */
async function moveSequences(tx: Transaction, { name: table, columns }: TargetTable): Promise<void> {
  for (const { name, isIdentity } of columns) {
    if (!isIdentity) continue;
    const last = `max(${quoteName(name)})`;
    await tx.run(
      `SELECT setval(pg_get_serial_sequence($1, $2), ${last}) FROM ${quoteName(table)} HAVING ${last} IS NOT NULL`,
      [quoteName(table), name],
    );
  }
}

async function compareTables(
  tx: Transaction,
  source: InstallationSource,
  progress: MoveProgress,
): Promise<void> {
  for (const [index, each] of MOVED_TABLES.entries()) {
    progress.signal.throwIfAborted();
    progress.step(`comparing ${each.noun}`, index / MOVED_TABLES.length);
    const difference = await compare(tx, source, await findTable(tx, each, source));
    if (difference === null) continue;
    throw new SetupError(
      "failure",
      `What was copied is not what is in the source (${each.noun}, ${each.name}: ${difference}): all of it was taken back, and the target is as it was.`,
    );
  }
}

async function compare(
  tx: Transaction,
  source: InstallationSource,
  table: TargetTable,
): Promise<string | null> {
  const [counted] = await tx.all<{ rows: number }>(`SELECT count(*) AS rows FROM ${quoteName(table.name)}`);
  const [expected, found] = [source.countRows(table), counted?.rows ?? 0];
  if (expected !== found) return `${expected} rows in the source, ${found} in the target`;
  return findDifferentRow(tx, table, source.batches(table, BATCH_ROWS));
}

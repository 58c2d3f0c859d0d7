import type { InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import type { InstallationSource, SumRow } from "#storage/move/source.ts";
import type { MovedRows, MoveTarget, MoveWatch } from "#storage/move/target.ts";
import { findDifference, POSTGRES_MONTH, SQLITE_MONTH, toSumsSql } from "#storage/move/sums.ts";
import { MOVED_TABLES, type MovedTable } from "#storage/move/tables.ts";
import { quoteName } from "#storage/postgres/connection/values.ts";
import { migrate, migrateWithin, untilUnlocked } from "#storage/postgres/connection/migrate.ts";
import { withLockWatch } from "#storage/postgres/connection/lock-watch.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { PURPOSES, STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import {
  listPartitions,
  makePartition,
  makePartitions as makePartitionsAhead,
} from "#storage/postgres/ledger/maintenance/partitions.ts";
import { requireEmpty } from "./empty.ts";
import {
  findColumns,
  findDifferentRow,
  hasLane,
  toInsertSql,
  toParameters,
  type MovedColumn,
} from "./rows.ts";

/** One INSERT of as many takes some 40 ms and 2 MB. */
const BATCH_ROWS = 5_000;

/**
 * Takes an installation into a schema that has none: schema, rows, sequences and the comparison with the source are one
 * transaction, so that whatever fails, and however the process ends, leaves the target as it was. Throws a `SetupError`
 * that says what differs, that the schema is in use, or what is wrong with the connection.
 */
export async function takeInstallation(
  source: InstallationSource,
  { target, log, watch }: MoveTarget & { readonly watch: MoveWatch },
): Promise<MovedRows> {
  return withPostgres({ target, log }, (postgres) =>
    untilUnlocked(() => take(postgres, source, { target, watch })),
  );
}

function take(
  postgres: Postgres,
  source: InstallationSource,
  { target, watch }: Pick<MoveTarget, "target"> & { readonly watch: MoveWatch },
): Promise<MovedRows> {
  return postgres.transaction(
    async (tx) => {
      // Between two statements the source is read, the sums of a table at a stretch.
      await tx.run(`SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_MS_MAX.move}`);
      await migrateWithin(tx, target.schema);
      await requireEmpty(tx, target.schema);
      const moved = await copyTables(tx, source, watch);
      await compareTables(tx, source, watch);
      return moved;
    },
    { callMsMax: STATEMENT_MS_MAX.move, signal: watch.signal },
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
    const applied = await migrate(postgres, target.schema);
    while ((await makePartitionsAhead(postgres, nowUs)) === "more");
    return applied;
  });
}

async function withPostgres<Result>(
  { target, log }: MoveTarget,
  work: (postgres: Postgres) => Promise<Result>,
): Promise<Result> {
  const postgres = await openPostgres({ target, ...PURPOSES.migrate, log });
  try {
    return await withLockWatch(postgres, { log, purposes: [PURPOSES.migrate.purpose] }, () => work(postgres));
  } finally {
    await postgres.close();
  }
}

/** One for each day that has rows, which then lie in its partition from the start. */
async function makePartitions(tx: Transaction, { days }: InstallationSource): Promise<void> {
  const made = new Set(await listPartitions(tx));
  for (const day of days) if (!made.has(day)) await makePartition(tx, day);
}

async function copyTables(tx: Transaction, source: InstallationSource, watch: MoveWatch): Promise<MovedRows> {
  await makePartitions(tx, source);
  // One row, which the migrations have made.
  await tx.run("DELETE FROM ledger_state");
  const moved = new Map<string, number>();
  const total = MOVED_TABLES.reduce((sum, table) => sum + source.countRows(table), 0);
  let done = 0;
  for (const table of MOVED_TABLES) {
    const columns = await findColumns(tx, table, source.columnsOf(table));
    const insert = toInsertSql(table, columns, await hasLane(tx, table));
    let rows = 0;
    let before: Promise<unknown> = Promise.resolve();
    for (const batch of source.batches(table, BATCH_ROWS)) {
      watch.signal.throwIfAborted();
      watch.step(`copying ${table.noun}`, done / total);
      // The next batch is read while the server has this one.
      const written = tx.run(insert, toParameters(batch, columns));
      written.catch(() => undefined);
      await before;
      before = written;
      rows += batch.rows;
      done += batch.rows;
    }
    await before;
    moved.set(table.name, rows);
    await moveSequences(tx, table, columns);
  }
  watch.step("gathering statistics", null);
  // Else the first reports would be planned for empty tables.
  await tx.run(`ANALYZE ${MOVED_TABLES.map(({ name }) => quoteName(name)).join(", ")}`);
  return moved;
}

/** What is new gets ids behind those that were moved. */
async function moveSequences(
  tx: Transaction,
  { name: table }: MovedTable,
  columns: readonly MovedColumn[],
): Promise<void> {
  for (const { name } of columns) {
    const [found] = await tx.all<{ sequence: string | null }>(
      "SELECT pg_get_serial_sequence($1, $2) AS sequence",
      [quoteName(table), name],
    );
    if (found === undefined || found.sequence === null) continue;
    await tx.run(
      `SELECT setval($1::regclass, max(${quoteName(name)})) FROM ${quoteName(table)} HAVING max(${quoteName(name)}) IS NOT NULL`,
      [found.sequence],
    );
  }
}

async function compareTables(tx: Transaction, source: InstallationSource, watch: MoveWatch): Promise<void> {
  for (const [index, table] of MOVED_TABLES.entries()) {
    watch.signal.throwIfAborted();
    watch.step(`comparing ${table.noun}`, index / MOVED_TABLES.length);
    const difference = (await compareCounts(tx, source, table)) ?? (await compareContent(tx, source, table));
    if (difference === null) continue;
    throw new SetupError(
      "failure",
      `What was copied is not what is in the source (${table.noun}, ${table.name}: ${difference}): all of it was taken back, and the target is as it was.`,
    );
  }
}

async function compareCounts(
  tx: Transaction,
  source: InstallationSource,
  table: MovedTable,
): Promise<string | null> {
  const [counted] = await tx.all<{ rows: number }>(`SELECT count(*) AS rows FROM ${quoteName(table.name)}`);
  const [expected, found] = [source.countRows(table), counted?.rows ?? 0];
  return expected === found ? null : `${expected} rows in the source, ${found} in the target`;
}

async function compareContent(
  tx: Transaction,
  source: InstallationSource,
  table: MovedTable,
): Promise<string | null> {
  const columns = await findColumns(tx, table, source.columnsOf(table));
  if (table.isComparedByRow) return findDifferentRow(tx, table, columns, source.batches(table, BATCH_ROWS));
  const names = columns.map(({ name }) => name);
  const expected = source.askLedger(toSumsSql(table, names, SQLITE_MONTH));
  return findDifference(expected, await tx.all<SumRow>(toSumsSql(table, names, POSTGRES_MONTH)));
}

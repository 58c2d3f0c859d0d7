import type { InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import {
  type Cell,
  type InstallationSource,
  LEFT_COLUMNS,
  MOVED_TABLES,
  type MovedRows,
  type MovedTable,
  type MoveProgress,
  type MoveTarget,
} from "#storage/move.ts";
import { quoteName, toStored } from "#storage/postgres/connection/values.ts";
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
import { drive } from "#storage/postgres/connection/drive.ts";
import type { Script } from "#storage/sql/script.ts";

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
      // Between two statements the source is counted, or a batch of it is read, which may come from a slow disk.
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
  await drive(tx, makePartitions(source));
  // One row, which the migrations have made.
  await tx.run("DELETE FROM ledger_state");
  const moved = new Map<string, number>();
  const total = MOVED_TABLES.reduce((sum, table) => sum + source.countRows(table), 0);
  let done = 0;
  for (const table of MOVED_TABLES) {
    const columns = await findColumns(tx, table, source);
    const insert = toInsertSql(table, columns);
    let rows = 0;
    let before: Promise<unknown> = Promise.resolve();
    for (const batch of source.batches(table, BATCH_ROWS)) {
      progress.signal.throwIfAborted();
      progress.step(`copying ${table.noun}`, done / total);
      const values = columns.map(({ position }) => batch.map((row) => toCell(row, position)));
      // The next batch is read while the server has this one.
      const written = tx.run(insert, values);
      written.catch(() => undefined);
      await before;
      before = written;
      rows += batch.length;
      done += batch.length;
    }
    await before;
    moved.set(table.name, rows);
    await moveSequences(tx, table, columns);
  }
  progress.step("gathering statistics", null);
  // Else the first reports would be planned for empty tables.
  await tx.run(`ANALYZE ${MOVED_TABLES.map(({ name }) => quoteName(name)).join(", ")}`);
  return moved;
}

/** A column that is moved. */
interface MovedColumn {
  readonly name: string;
  /** In PostgreSQL's spelling, such as `double precision`. */
  readonly type: string;
  readonly isIdentity: boolean;
  /** Its place among those of the source; -1 for the number of the writer, which SQLite's rows have not. */
  readonly position: number;
}

/** The number of the one writer of SQLite. */
const FIRST_LANE = 0;

function toCell(row: readonly Cell[], position: number): Cell {
  return position < 0 ? FIRST_LANE : (row[position] ?? null);
}

/**
 * The columns that both engines have, and `lane`. Throws for one of the source that the table lacks, and for one without a
 * default that the source lacks: a row would lose something, or could not be told from others.
 */
async function findColumns(
  tx: Sql,
  table: MovedTable,
  source: Pick<InstallationSource, "columnsOf">,
): Promise<readonly MovedColumn[]> {
  const names = source.columnsOf(table);
  const found = await tx.all<Omit<MovedColumn, "position"> & { readonly isNeeded: boolean }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attidentity <> '' AS "isIdentity",
       attnotnull AND NOT atthasdef AND attidentity = '' AS "isNeeded"
     FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    [quoteName(table.name)],
  );
  const left = names.find(
    (name) => !LEFT_COLUMNS.includes(name) && !found.some((column) => column.name === name),
  );
  if (left !== undefined) throw new TypeError(`${table.name}.${left} has no place in PostgreSQL`);
  return found.flatMap((column) => {
    const position = names.indexOf(column.name);
    if (position >= 0 || column.name === "lane") return [{ ...column, position }];
    if (column.isNeeded) throw new TypeError(`${table.name}.${column.name} is not in the source`);
    return [];
  });
}

/** The INSERT of a batch, column by column. */
function toInsertSql({ name }: MovedTable, columns: readonly MovedColumn[]): string {
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");
  return `INSERT INTO ${quoteName(name)} (${toNames(columns)}) SELECT * FROM unnest(${arrays})`;
}

function toNames(columns: readonly MovedColumn[]): string {
  return columns.map(({ name }) => quoteName(name)).join(", ");
}

/** New rows get ids behind those that were moved. */
async function moveSequences(
  tx: Sql,
  { name: table }: MovedTable,
  columns: readonly MovedColumn[],
): Promise<void> {
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
  for (const [index, table] of MOVED_TABLES.entries()) {
    progress.signal.throwIfAborted();
    progress.step(`comparing ${table.noun}`, index / MOVED_TABLES.length);
    const difference = await findDifference(tx, source, table);
    if (difference === null) continue;
    throw new SetupError(
      "failure",
      `What was copied is not what is in the source (${table.noun}, ${table.name}: ${difference}): all of it was taken back, and the target is as it was.`,
    );
  }
}

/** Returns what differs first, without what is in it; null when nothing does. Both are read in the table's order. */
async function findDifference(
  tx: Transaction,
  source: InstallationSource,
  table: MovedTable,
): Promise<string | null> {
  const [counted] = await tx.all<{ rows: number }>(`SELECT count(*) AS rows FROM ${quoteName(table.name)}`);
  const [expected, found] = [source.countRows(table), counted?.rows ?? 0];
  if (expected !== found) return `${expected} rows in the source, ${found} in the target`;
  const columns = await findColumns(tx, table, source);
  const text = `SELECT ${toNames(columns)} FROM ${quoteName(table.name)} ORDER BY ${table.order}`;
  const parts = tx.parts<{ readonly [column: string]: unknown }>({ text, rowsPerFetch: BATCH_ROWS });
  let number = 0;
  for (const batch of source.batches(table, BATCH_ROWS)) {
    const part = await parts.next();
    const rows = part.done === true ? [] : part.value;
    for (const [index, row] of batch.entries()) {
      number += 1;
      const wrong = columns.find(
        ({ name, type, position }) => !isSame(toCell(row, position), rows[index]?.[name], type),
      );
      if (wrong !== undefined) return `row ${number} differs in ${wrong.name}`;
    }
  }
  return null;
}

function isSame(source: Cell, target: unknown, type: string): boolean {
  if (source instanceof Uint8Array)
    return target instanceof Uint8Array && Buffer.compare(source, target) === 0;
  if (typeof source === "string") return target === toStored(source);
  return target === (type === "boolean" && source !== null ? source === 1 : source);
}

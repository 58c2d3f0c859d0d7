import type { Batch, Cell, InstallationSource } from "#storage/move/move.ts";
import { LEFT_COLUMNS, type MovedTable } from "#storage/move/tables.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { quoteName, toStored } from "#storage/postgres/connection/values.ts";

/** A table as PostgreSQL has it. */
export interface TargetTable extends MovedTable {
  readonly columns: readonly MovedColumn[];
  /** True: its rows have the number of their writer. */
  readonly hasLane: boolean;
}

/** A column that is moved, and where it stands among those of the source. */
export interface MovedColumn {
  readonly name: string;
  /** In PostgreSQL's spelling, such as `double precision`. */
  readonly type: string;
  readonly isIdentity: boolean;
  readonly position: number;
}

const FETCH_ROWS = 5_000;
/** The writer number of what came from SQLite, which has one writer. */
const FIRST_LANE = 0;

/**
 * The columns that both engines have. Throws for one of the source that the table lacks, and for one without a default that
 * the source lacks: a row would lose something, or could not be told from others.
 */
export async function findTable(
  tx: Sql,
  table: MovedTable,
  source: Pick<InstallationSource, "columnsOf">,
): Promise<TargetTable> {
  const found = await tx.all<{ name: string; type: string; isIdentity: boolean; isNeeded: boolean }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attidentity <> '' AS "isIdentity",
       attnotnull AND NOT atthasdef AND attidentity = '' AS "isNeeded"
     FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    [quoteName(table.name)],
  );
  const names = source.columnsOf(table);
  const byName = new Map(found.map((column) => [column.name, column]));
  const left = names.find((name) => !byName.has(name) && !LEFT_COLUMNS.includes(name));
  if (left !== undefined) throw new TypeError(`${table.name}.${left} has no place in PostgreSQL`);
  const needed = found.find(({ name, isNeeded }) => isNeeded && name !== "lane" && !names.includes(name));
  if (needed !== undefined) throw new TypeError(`${table.name}.${needed.name} is not in the source`);
  const columns = names.flatMap((name, position) => {
    const column = byName.get(name);
    return column === undefined ? [] : [{ ...column, position }];
  });
  return { ...table, columns, hasLane: byName.has("lane") };
}

/** The INSERT of a batch, whose parameters are `toParameters` of it. */
export function toInsertSql({ name, columns, hasLane }: TargetTable): string {
  const names = columns.map((column) => quoteName(column.name)).join(", ");
  const arrays = columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");
  const lane = hasLane ? [", lane", `, ${FIRST_LANE}`] : ["", ""];
  return `INSERT INTO ${quoteName(name)} (${names}${lane[0]}) SELECT *${lane[1]} FROM unnest(${arrays})`;
}

/** The values of a batch as they will be read back, column by column. */
export function toParameters(batch: Batch, { columns }: TargetTable): readonly (readonly Cell[])[] {
  return columns.map(({ position, type }) => {
    const values = batch.columns[position] ?? [];
    return type === "text" ? values.map(toStoredCell) : values;
  });
}

function toStoredCell(value: Cell): Cell {
  return typeof value === "string" ? toStored(value) : value;
}

/**
 * Compares a table row by row with the source, in whose order the target is read. Returns what differs first, without what is
 * in it; null when nothing does.
 */
export async function findDifferentRow(
  tx: Transaction,
  table: TargetTable,
  batches: Iterable<Batch>,
): Promise<string | null> {
  const { columns } = table;
  const source = toRows(batches, table);
  const names = columns.map(({ name }) => quoteName(name)).join(", ");
  const text = `SELECT ${names} FROM ${quoteName(table.name)} ORDER BY ${table.order}`;
  let number = 0;
  for await (const rows of tx.parts<{ readonly [column: string]: unknown }>({
    text,
    rowsPerFetch: FETCH_ROWS,
  })) {
    for (const row of rows) {
      number += 1;
      const expected = source.next();
      if (expected.done === true) return `row ${number} of the target is not in the source`;
      const wrong = columns.find(
        ({ name, type }, index) => !isSame(expected.value[index] ?? null, row[name], type),
      );
      if (wrong !== undefined) return `row ${number} differs in ${wrong.name}`;
    }
  }
  return source.next().done === true ? null : `row ${number + 1} of the source is not in the target`;
}

function* toRows(batches: Iterable<Batch>, table: TargetTable): Generator<readonly Cell[]> {
  for (const batch of batches) {
    const values = toParameters(batch, table);
    for (let row = 0; row < batch.rows; row += 1) yield values.map((column) => column[row] ?? null);
  }
}

function isSame(source: Cell, target: unknown, type: string): boolean {
  if (source instanceof Uint8Array)
    return target instanceof Uint8Array && Buffer.compare(source, target) === 0;
  if (type === "boolean") return target === (source === 1);
  return source === target;
}

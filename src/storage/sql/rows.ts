import { all, type Binding, dialectOf, each, insert as insertRows, run, type Script } from "./script.ts";
import type { Column, RowOf, Table, ValuesOf } from "./table.ts";

/**
 * Statements that are made of a table's description. Rows have the properties and the values of the description on either
 * engine.
 */

type Bindings = readonly Binding[];

/** A value as it is bound for a column. */
type Cell = string | number | boolean | null | Uint8Array;

/** `rest` is what stands behind FROM: WHERE, ORDER BY, LIMIT. */
export function* select<Of extends Table>(
  table: Of,
  rest = "",
  bindings: Bindings = [],
): Script<readonly RowOf<Of>[]> {
  const columns = yield* columnsOf(table);
  const rows = yield* all<RowOf<Of>>(`SELECT ${columns} FROM ${table.name} ${rest}`, bindings);
  return decode(table, rows);
}

/** All rows, in parts: however many there are, each part has the limit of a call for itself, and requests are served in between. */
export function* eachRow<Of extends Table>(table: Of, onRow: (row: RowOf<Of>) => void): Script<void> {
  const decodeRow = toDecoder(table);
  yield* each<RowOf<Of>>(`SELECT ${yield* columnsOf(table)} FROM ${table.name}`, [], (row) => {
    decodeRow(row);
    onRow(row);
  });
}

/** The first row, or null. */
export function* selectOne<Of extends Table>(
  table: Of,
  rest: string,
  bindings: Bindings = [],
): Script<RowOf<Of> | null> {
  const rows = yield* select(table, rest, bindings);
  return rows[0] ?? null;
}

/**
 * The columns of a table as a SELECT names them. An integer is the nearest number, as SQLite has it:
 * one that was written by hand would take the whole answer out, and with it every replica.
 */
export function* columnsOf(table: Table): Script<string> {
  const { toNearest } = yield* dialectOf();
  return Object.entries(table.columns)
    .map(([property, { name, type }]) => {
      const column = `"${table.name}"."${name}"`;
      return `${type === "bigint" ? toNearest(column) : column} AS "${property}"`;
    })
    .join(", ");
}

/** Makes values of what the database has in rows of `columnsOf`, in place; what else was selected stays as it is. */
export function decode<Row extends object>(table: Table, rows: readonly Row[]): readonly Row[] {
  rows.forEach(toDecoder(table));
  return rows;
}

function toDecoder({ columns }: Table): (row: object) => void {
  const coded = Object.entries(columns).filter(
    ([, { type, codec }]) => type === "boolean" || codec !== undefined,
  );
  return (row) => {
    for (const [property, column] of coded)
      Reflect.set(row, property, toValue(column, Reflect.get(row, property)));
  };
}

function toValue({ codec }: Column, cell: unknown): unknown {
  // SQLite has 0 and 1 for booleans.
  if (codec === undefined) return cell === null ? null : Boolean(cell);
  // SQLite keeps bytes in a column of text.
  return cell === null || typeof cell === "string" ? codec.read(cell) : undefined;
}

/** 20,000 prices take PostgreSQL some 150 ms on two cores: so many stay far from the limit of a call, also on a busy server. */
const ROWS_PER_STATEMENT = 5_000;

/** Rows in parts, each for a statement of its own. */
export function* inParts<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT)
    yield rows.slice(start, start + ROWS_PER_STATEMENT);
}

/**
 * Inserts rows in their order, however many there are. With `replaces`, each is written over the one that has its key, and
 * two rows of one call must not have the same. What the database gives out (`numbered`) is not in a row.
 */
export function* insert<Of extends Table>(
  table: Of,
  rows: readonly NewRow<Of>[],
  { replaces = false }: { readonly replaces?: boolean } = {},
): Script<void> {
  if (rows.length === 0) return;
  const columns = Object.entries(table.columns).filter(([, { isNumbered }]) => isNumbered !== true);
  const target = {
    table: table.name,
    columns: columns.map(([, { name, type }]) => [`"${name}"`, type] as const),
    ending: replaces ? toReplacing(table) : "",
  };
  const toCells = (row: NewRow<Of>) =>
    columns.map(([property, column]) => toCell(column, Reflect.get(row, property)));
  for (const part of inParts(rows)) yield* insertRows(target, part.map(toCells));
}

/** Deletes the rows that have one of some values in a column; returns how many there were. */
export function* removeAnyOf(
  table: Table,
  property: string,
  values: readonly string[] | readonly number[],
): Script<number> {
  if (values.length === 0) return 0;
  const { isAnyOf } = yield* dialectOf();
  const { name, type } = columnOf(table, property);
  const isMet = isAnyOf(`"${name}"`, type === "text" ? "text" : "number");
  return yield* run(`DELETE FROM ${table.name} WHERE ${isMet}`, [values]);
}

/** A row to be inserted: what may be NULL may be absent. */
export type NewRow<Of extends Table> = { readonly [Property in RequiredOf<Of>]: ValuesOf<Of>[Property] } & {
  readonly [Property in keyof Of["columns"]]?: ValuesOf<Of>[Property];
};

type RequiredOf<Of extends Table> = {
  [Property in keyof Of["columns"]]: null extends ValuesOf<Of>[Property]
    ? never
    : Of["columns"][Property] extends { readonly isNumbered: true }
      ? never
      : Property;
}[keyof Of["columns"]];

/** Sets columns, by their properties, of the rows that `where` names. Returns how many there were. */
export function* update<Of extends Table>(
  table: Of,
  changes: Partial<ValuesOf<Of>>,
  where: string,
  bindings: Bindings = [],
): Script<number> {
  const entries = Object.entries(changes);
  if (entries.length === 0) return 0;
  const set = entries.map(([property]) => `"${columnOf(table, property).name}" = ?`);
  const cells = entries.map(([property, value]) => toCell(columnOf(table, property), value));
  return yield* run(`UPDATE ${table.name} SET ${set.join(", ")} WHERE ${where}`, [...cells, ...bindings]);
}

export function* count(table: Table, rest = "", bindings: Bindings = []): Script<number> {
  const rows = yield* all<{ readonly total: number }>(
    `SELECT count(*) AS total FROM ${table.name} ${rest}`,
    bindings,
  );
  return rows[0]?.total ?? 0;
}

function columnOf(table: Table, property: string): Column {
  const column = table.columns[property];
  if (column === undefined) throw new TypeError(`${table.name} has no column for ${property}`);
  return column;
}

/** Ends an INSERT so that it writes over the row that has its key. */
function toReplacing({ columns, key }: Table): string {
  const quote = (property: string) => `"${columns[property]?.name}"`;
  const others = Object.keys(columns).filter((property) => !key.includes(property));
  const set = others.map((property) => `${quote(property)} = excluded.${quote(property)}`);
  return `ON CONFLICT (${key.map(quote).join(", ")}) DO UPDATE SET ${set.join(", ")}`;
}

function toCell({ codec }: Column, value: unknown): Cell {
  if (value === undefined) return null;
  if (codec !== undefined) return codec.write(value);
  if (isCell(value)) return value;
  throw new TypeError(`a value of type ${typeof value} has no form in a column`);
}

function isCell(value: unknown): value is Cell {
  return (
    ["string", "number", "boolean"].includes(typeof value) || value === null || value instanceof Uint8Array
  );
}

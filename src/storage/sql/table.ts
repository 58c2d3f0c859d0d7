/**
 * Tables told once for both engines: migrations are generated from these descriptions (`drizzle/`), rows get their types from
 * them, and scripts spell their statements with them (`rows.ts`).
 */

export type ColumnType = "text" | "integer" | "real" | "boolean" | "bytes";

/** `Value` is what a row holds in it. */
export interface Column<Value = unknown> {
  readonly name: string;
  readonly type: ColumnType;
  readonly isNull: boolean;
  readonly isUnique?: boolean;
  /** Whether the database gives out the number, in the order of insertion and never twice. */
  readonly isNumbered?: boolean;
  /** A literal of SQL. */
  readonly default?: string;
  readonly references?: Reference;
  /** Never there: it carries the type. */
  readonly value?: Value;
}

export interface Reference {
  readonly table: string;
  /** Whether the row goes with the one that it refers to, which otherwise cannot go before it. */
  readonly cascades: boolean;
}

export interface Columns {
  readonly [property: string]: Column;
}

export interface Table<Of extends Columns = Columns> {
  readonly name: string;
  readonly columns: Of;
  /** Properties of the primary key. */
  readonly key: readonly string[];
  readonly indexes: readonly Index[];
  readonly checks: readonly Check[];
}

export interface Index {
  readonly name: string;
  /** Properties. */
  readonly on: readonly string[];
  /** SQL of both engines. */
  readonly where?: string;
}

/** `sql` is asked with the type of JSON in a column of text: null for what is NULL. Booleans are checked in any case. */
export interface Check {
  readonly name: string;
  readonly sql: string | ((jsonType: (column: string) => string) => string);
}

/** A row by its properties. */
export type RowOf<Of extends Table> = {
  readonly [Property in keyof Of["columns"]]: Of["columns"][Property] extends Column<infer Value>
    ? Value
    : never;
};

interface Rest<Of extends Columns> {
  /** Absent: `id`. */
  readonly key?: readonly (keyof Of & string)[];
  readonly indexes?: readonly Index[];
  readonly checks?: readonly Check[];
}

export function table<const Of extends Columns>(
  name: string,
  columns: Of,
  { key = ["id"], indexes = [], checks = [] }: Rest<Of> = {},
): Table<Of> {
  return { name, columns, key, indexes, checks };
}

export function text<Value extends string = string>(name: string): Column<Value> {
  return { name, type: "text", isNull: false };
}

/** A whole number that JavaScript holds exactly: instants in microseconds, prices in 10⁻¹². */
export function integer(name: string): Column<number> {
  return { name, type: "integer", isNull: false };
}

export function numbered(name: string): Column<number> & { readonly isNumbered: true } {
  return { ...integer(name), isNumbered: true };
}

export function real(name: string): Column<number> {
  return { name, type: "real", isNull: false };
}

export function boolean(name: string): Column<boolean> {
  return { name, type: "boolean", isNull: false };
}

export function bytes(name: string): Column<Uint8Array> {
  return { name, type: "bytes", isNull: false };
}

export function orNull<Value>(column: Column<Value>): Column<Value | null> {
  return { ...column, isNull: true };
}

export function unique<Value>(column: Column<Value>): Column<Value> {
  return { ...column, isUnique: true };
}

export function references<Value>(
  column: Column<Value>,
  of: string,
  { cascades = false } = {},
): Column<Value> {
  return { ...column, references: { table: of, cascades } };
}

/** The row goes with the one of `of` that it refers to. */
export function ownedBy<Value>(column: Column<Value>, of: string): Column<Value> {
  return references(column, of, { cascades: true });
}

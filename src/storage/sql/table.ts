/**
 * Tables told once for both engines: migrations are generated from these descriptions (`drizzle/`), rows get their types from
 * them, and scripts spell their statements with them (`rows.ts`).
 */

/** As PostgreSQL names them. */
export type ColumnType = "text" | "integer" | "bigint" | "double precision" | "boolean" | "bytea";

/** `Value` is what a row holds in it. */
export interface Column<Value = unknown> {
  readonly name: string;
  readonly type: ColumnType;
  readonly isNull: boolean;
  readonly isUnique?: boolean;
  /** The value of rows that were there before the column was. */
  readonly initial?: number | string | boolean;
  /** True where the database gives out the number, in the order of insertion and never twice. */
  readonly isNumbered?: boolean;
  readonly references?: Reference;
  /** A rule that its values keep to. The check is named by table, column and `rule`. */
  readonly check?: Omit<Check, "name"> & { readonly rule: string };
  /** Absent: the column holds the value itself. */
  readonly codec?: Codec<Value>;
  /** Never there: it carries the type. */
  readonly value?: Value;
}

/** Spells a value in a column of text, and reads it. */
export interface Codec<Value> {
  /** Undefined is what this version cannot read: it was written by hand, or by a newer one. */
  read(text: string | null): Value | undefined;
  write(value: Value): string | null;
}

/** A column of text whose rows may be unreadable. */
export type Coded<Value> = Column<Value> & { readonly codec: Codec<Value> };

export interface Reference {
  readonly table: string;
  /** True where the row goes with the one that it refers to, which otherwise cannot go before it. */
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

/** The values of a row by its properties when all of it can be read, and what is written. */
export type ValuesOf<Of extends Table> = {
  readonly [Property in keyof Of["columns"]]: Of["columns"][Property] extends Column<infer Value>
    ? Value
    : never;
};

/** A row as it is read: a property is undefined where this version cannot read its column. */
export type RowOf<Of extends Table> = {
  readonly [Property in keyof Of["columns"]]:
    | ValuesOf<Of>[Property]
    | (Of["columns"][Property] extends { readonly codec: unknown } ? undefined : never);
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
  const ofColumns = Object.values(columns).flatMap(({ name: column, check }) =>
    check === undefined ? [] : { name: `${name}_${column}_${check.rule}`, sql: check.sql },
  );
  return { name, columns, key, indexes, checks: [...ofColumns, ...checks] };
}

export const text = <Value extends string = string>(name: string) => toColumn<Value>(name, "text");
/** A whole number that JavaScript holds exactly: instants in microseconds, prices in 10⁻¹². */
export const integer = (name: string) => toColumn<number>(name, "bigint");
export const numbered = (name: string) => ({ ...integer(name), isNumbered: true }) as const;
export const real = (name: string) => toColumn<number>(name, "double precision");
export const boolean = (name: string) => toColumn<boolean>(name, "boolean");
export const bytes = (name: string) => toColumn<Uint8Array>(name, "bytea");

function toColumn<Value>(name: string, type: ColumnType): Column<Value> {
  return { name, type, isNull: false };
}

/** A text that is not empty. */
export function given(name: string): Column<string> {
  return { ...text(name), check: { rule: "given", sql: `${name} <> ''` } };
}

/** One of a closed set of words: a CHECK cannot be widened in SQLite without rebuilding its table. */
export function oneOf<const Word extends string>(name: string, words: readonly Word[]): Column<Word> {
  const list = words.map((word) => `'${word}'`).join(", ");
  return { ...text<Word>(name), check: { rule: "known", sql: `${name} IN (${list})` } };
}

export function coded<Value>(name: string, codec: Codec<Value>): Coded<Value> {
  return { ...toColumn(name, "text"), codec };
}

/** JSON of a type that the database checks, too. */
export function json<Value>(name: string, type: "object" | "array", codec: Codec<Value>): Coded<Value> {
  return {
    ...coded(name, codec),
    check: { rule: type, sql: (jsonType) => `${jsonType(name)} = '${type}'` },
  };
}

export function orNull<Value>(column: Coded<Value>): Coded<Value | null>;
export function orNull<Value>(column: Column<Value>): Column<Value | null>;
export function orNull<Value>({ codec, ...column }: Omit<Column<Value>, "value">): Column<Value | null> {
  if (codec === undefined) return { ...column, isNull: true };
  return {
    ...column,
    isNull: true,
    codec: {
      read: (cell) => (cell === null ? null : codec.read(cell)),
      write: (value) => (value === null ? null : codec.write(value)),
    },
  };
}

export function unique<Value>(column: Column<Value>): Column<Value> {
  return { ...column, isUnique: true };
}

/** The row cannot go before those that refer to it. */
export function references<Value>(column: Column<Value>, of: string): Column<Value> {
  return { ...column, references: { table: of, cascades: false } };
}

/** The row goes with the one of `of` that it refers to. */
export function ownedBy<Value>(column: Column<Value>, of: string): Column<Value> {
  return { ...column, references: { table: of, cascades: true } };
}

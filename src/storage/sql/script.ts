import type { Dialect } from "./dialect.ts";
import type { ColumnType } from "./table.ts";

/** A list is bound as one value, for `Dialect.isAnyOf`. */
export type Binding = string | number | boolean | null | Uint8Array | readonly string[] | readonly number[];

interface Statement {
  /** Values as `?`, or as `?1` and so on; what is joined by CROSS JOIN in an order that counts has its ON. */
  readonly sql: string;
  readonly bindings: readonly Binding[];
}

/**
 * A question of a script to its connection; the runner leaves what it found in it. `scan` comes again for as long as it has
 * more: each time with the next rows.
 */
export type Query =
  | All<unknown>
  | (Statement & { readonly kind: "run"; changes: number })
  | Scan<unknown>
  | Insert
  | { readonly kind: "none" };

/** Columns of rows that are bound, each with the type that its values have. */
export type ColumnTypes = readonly (readonly [name: string, type: ColumnType])[];

/** Rows are taken in the order of their columns; a column `lane` is left out where there is one lane and none of it. */
export interface InsertTarget {
  readonly table: string;
  readonly columns: ColumnTypes;
  /** SQL behind the rows, such as ON CONFLICT. */
  readonly ending?: string;
}

interface Insert {
  readonly kind: "insert";
  readonly target: InsertTarget;
  readonly rows: readonly InsertedRow[];
  changes: number;
}

type InsertedRow = readonly (number | string | boolean | Uint8Array | null)[];
type All<Found> = Statement & { readonly kind: "all"; rows: readonly Found[] };
type Scan<Found> = Statement & { readonly kind: "scan"; rows: readonly Found[]; hasMore: boolean };
type OnRow<Found> = (row: Found) => void;

/** The connection, as a runner tells a script of it. */
export interface Connection {
  readonly dialect: Dialect;
}

/**
 * Something that is read from a ledger, as the queries that it takes, one after the other: a runner of each engine answers
 * them, at once or awaited, all of one state of the ledger.
 */
export type Script<Answer> = Generator<Query, Answer, Connection>;

/** All rows at once. */
export function* all<Found>(sql: string, bindings: readonly Binding[] = []): Script<readonly Found[]> {
  const query: All<Found> = { kind: "all", sql, bindings, rows: [] };
  yield query;
  return query.rows;
}

/** The first row, or null. */
export function* one<Found>(sql: string, bindings: readonly Binding[] = []): Script<Found | null> {
  const rows = yield* all<Found>(sql, bindings);
  return rows[0] ?? null;
}

/** Returns how many rows it has changed. */
export function* run(sql: string, bindings: readonly Binding[] = []): Script<number> {
  const query: Query = { kind: "run", sql, bindings, changes: 0 };
  yield query;
  return query.changes;
}

/** Adds rows in their order; how many were added or changed. */
export function* insert(target: InsertTarget, rows: readonly InsertedRow[]): Script<number> {
  if (rows.length === 0) return 0;
  const query: Insert = { kind: "insert", target, rows, changes: 0 };
  yield query;
  return query.changes;
}

/** Row by row, of which only some thousands are in memory. */
export function* each<Found>(sql: string, bindings: readonly Binding[], onRow: OnRow<Found>): Script<void> {
  const query: Scan<Found> = { kind: "scan", sql, bindings, rows: [], hasMore: true };
  while (query.hasMore) {
    yield query;
    for (const row of query.rows) onRow(row);
  }
}

/** Returns what the runner tells of its connection. */
export function* connection(): Script<Connection> {
  return yield { kind: "none" };
}

export function* dialectOf(): Script<Dialect> {
  const { dialect } = yield* connection();
  return dialect;
}

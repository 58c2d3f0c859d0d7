import type { Binding } from "#storage/postgres/connection/values.ts";
import type { ColumnTypes } from "#storage/sql/script.ts";

export type { ColumnTypes };
export type Value = string | number | boolean | Uint8Array | null;

/** Rows of a table, column by column, as `unnest` takes them: one statement of one shape stores any number of them. */
export class Rows {
  readonly #columns: { readonly isNumber: boolean; readonly values: Value[] }[];

  constructor(types: ColumnTypes) {
    this.#columns = types.map(([, type]) => ({ isNumber: type !== "text" && type !== "bytea", values: [] }));
  }

  get count(): number {
    return this.#columns[0]?.values.length ?? 0;
  }

  get bindings(): readonly Binding[] {
    return this.#columns.map(({ isNumber, values }) => (isNumber ? toNumbers(values) : values));
  }

  add(row: readonly Value[]): void {
    for (let index = 0; index < this.#columns.length; index += 1)
      this.#columns[index]?.values.push(row[index] ?? null);
  }
}

/**
 * Numbers as an array of PostgreSQL: to join them takes half of what to spell them out one by one does. NULL for nothing but
 * NULL: `unnest` fills the column up.
 */
export function toNumbers(values: readonly Value[]): string | null {
  if (!values.includes(null)) return `{${values.join(",")}}`;
  if (values.every((value) => value === null)) return null;
  return `{${values.map((value) => value ?? "NULL").join(",")}}`;
}

/** Rows of these columns as a table; its parameters begin at `$first`. */
export function toSource(types: ColumnTypes, alias: string, first = 1): string {
  const arrays = types.map(([, type], index) => `$${first + index}::${type}[]`);
  return `unnest(${arrays.join(", ")}) AS ${alias}(${types.map(([name]) => name).join(", ")})`;
}

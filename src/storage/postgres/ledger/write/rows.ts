import type { Binding } from "#storage/postgres/connection/values.ts";
import type { ColumnTypes } from "#storage/sql/script.ts";

export type { ColumnTypes };
export type Value = string | number | boolean | Uint8Array | null;

/** Rows of a table, column by column, as `unnest` takes them: one statement of one shape stores any number of them. */
export class Rows {
  readonly #columns: { readonly isSpelled: boolean; readonly values: Value[]; nullCount: number }[];

  constructor(types: ColumnTypes) {
    this.#columns = types.map(([, type]) => ({
      isSpelled: type === "text" || type === "bytea",
      values: [],
      nullCount: 0,
    }));
  }

  get count(): number {
    return this.#columns[0]?.values.length ?? 0;
  }

  /** A column of nothing but NULL is none at all: `unnest` fills it up. */
  get bindings(): readonly Binding[] {
    return this.#columns.map(({ isSpelled, values, nullCount }) => {
      if (nullCount === values.length) return null;
      // To join numbers takes half of what to spell them out one by one does.
      if (isSpelled) return values;
      return nullCount === 0
        ? `{${values.join(",")}}`
        : `{${values.map((value) => value ?? "NULL").join(",")}}`;
    });
  }

  add(row: readonly Value[]): void {
    for (let index = 0; index < this.#columns.length; index += 1) this.set(index, row[index] ?? null);
  }

  /** The next value of a column; each row sets all of them. */
  set(index: number, value: Value): void {
    const column = this.#columns[index];
    if (column === undefined) return;
    column.values.push(value);
    if (value === null) column.nullCount += 1;
  }
}

/** Rows of these columns as a table; its parameters begin at `$first`. */
export function toSource(types: ColumnTypes, alias: string, first = 1): string {
  const arrays = types.map(([, type], index) => `$${first + index}::${type}[]`);
  return `unnest(${arrays.join(", ")}) AS ${alias}(${types.map(([name]) => name).join(", ")})`;
}

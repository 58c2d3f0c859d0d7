import type { Binding } from "#storage/postgres/connection/values.ts";

export type Value = string | number | null;

/** Columns of a table by name, each with the type that its values are bound as. */
export type ColumnTypes = readonly (readonly [
  name: string,
  type: "integer" | "bigint" | "double precision" | "text",
])[];

/** Rows of a table, column by column, as `unnest` takes them: one statement of one shape stores any number of them. */
export class Rows {
  readonly #columns: Value[][];

  constructor(types: ColumnTypes) {
    this.#columns = types.map(() => []);
  }

  get count(): number {
    return this.#columns[0]?.length ?? 0;
  }

  get bindings(): readonly Binding[] {
    return this.#columns;
  }

  add(row: readonly Value[]): void {
    for (let index = 0; index < this.#columns.length; index += 1)
      this.#columns[index]?.push(row[index] ?? null);
  }
}

/** Rows of these columns as a table; its parameters begin at `$first`. */
export function toSource(types: ColumnTypes, alias: string, first = 1): string {
  const arrays = types.map(([, type], index) => `$${first + index}::${type}[]`);
  return `unnest(${arrays.join(", ")}) AS ${alias}(${types.map(([name]) => name).join(", ")})`;
}

import { POSTGRES } from "#storage/sql/dialect.ts";
import type { ColumnTypes, Connection, Query, Script } from "#storage/sql/script.ts";
import type { Binding } from "./values.ts";
import type { Transaction } from "./transaction.ts";

const ROWS_PER_FETCH = 4_096;

/** A transaction, or a connection for one statement, which cannot be a scan. */
type Target = Pick<Transaction, "all" | "run"> & Partial<Pick<Transaction, "parts">>;
type Scans = Map<Query, AsyncGenerator<readonly unknown[]>>;

/** Answers the queries of a reading, one after the other, within a transaction. */
export async function drive<Answer>(
  tx: Target,
  connection: Connection,
  reading: Script<Answer>,
): Promise<Answer> {
  const scans: Scans = new Map();
  for (;;) {
    const step = reading.next(connection);
    if (step.done === true) return step.value;
    await perform(tx, step.value, scans);
  }
}

async function perform(tx: Target, query: Query, scans: Scans): Promise<void> {
  switch (query.kind) {
    case "all":
      query.rows = await tx.all<unknown>(translate(query.sql), query.bindings);
      return;
    case "run":
      query.changes = await tx.run(translate(query.sql), query.bindings);
      return;
    case "insert": {
      const { table, columns, ending = "" } = query.target;
      const names = columns.map(([name]) => name).join(", ");
      const rows = new Rows(columns);
      for (const row of query.rows) rows.add(row);
      query.changes = await tx.run(
        `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${toSource(columns, "given")} ${ending}`,
        rows.bindings,
      );
      return;
    }
    case "scan": {
      let parts = scans.get(query);
      if (parts === undefined) {
        const { sql, bindings } = query;
        if (tx.parts === undefined) throw new TypeError("rows are handed on in parts by a transaction alone");
        parts = tx.parts<unknown>({ text: translate(sql), bindings, rowsPerFetch: ROWS_PER_FETCH });
        scans.set(query, parts);
      }
      const step = await parts.next();
      query.rows = step.done === true ? [] : step.value;
      query.hasMore = step.done !== true;
      return;
    }
    case "none":
  }
}

/** `?1` is `$1`, and a `?` the next one. An order of joins is the planner's here, which knows how much each table holds. */
function translate(sql: string): string {
  let last = 0;
  return sql
    .replaceAll(/\?(\d*)/g, (_, number: string) => {
      last = number === "" ? last + 1 : Math.max(last, Number(number));
      return `$${number === "" ? last : number}`;
    })
    .replaceAll("CROSS JOIN", "JOIN");
}

/** The connection of a script that reads or writes the catalog. */
export function toConnection(): Connection {
  return { dialect: POSTGRES };
}

type Value = string | number | boolean | Uint8Array | null;

/** Rows of a table, column by column, as `unnest` takes them: one statement of one shape stores any number of them. */
class Rows {
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

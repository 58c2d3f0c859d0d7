import type { Result, Statement } from "./pool.ts";
import type { Binding } from "./values.ts";

/**
 * Statements with `$1`, `$2` … An array is bound as an array of PostgreSQL: the statement names its type (`$1::bigint[]`).
 * `bigint` and `count(*)` arrive as numbers, and fail with SQLSTATE 22003 beyond 2^53 where they are not what a number reads
 * as; `numeric` as text, `bytea` as Uint8Array, `timestamptz` as Date.
 */
export interface Sql {
  all<Row>(text: string, bindings?: readonly Binding[]): Promise<readonly Row[]>;
  /** Rows that were inserted, updated or deleted. Without bindings, several statements may stand in one text. */
  run(text: string, bindings?: readonly Binding[]): Promise<number>;
}

export type Call = <Row>(statement: Omit<Statement, "commits">) => Promise<Result<Row>>;

export function createSql(call: Call): Sql {
  return {
    all: async <Row>(text: string, bindings: readonly Binding[] = []) =>
      (await call<Row>({ text, bindings })).rows,
    run: async (text, bindings = []) => (await call({ text, bindings })).touched,
  };
}

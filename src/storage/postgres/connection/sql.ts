import { createOrm, type Orm } from "./orm.ts";
import type { Result, Statement } from "./statement.ts";
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

export interface SqlWithOrm extends Sql {
  readonly orm: Orm;
}

export type Call = <Row>(statement: Omit<Statement, "commits">) => Promise<Result<Row>>;

export function createSql(call: Call): SqlWithOrm {
  return {
    all: async <Row>(text: string, bindings: readonly Binding[] = []) =>
      (await call<Row>({ text, bindings })).rows,
    run: async (text, bindings = []) => (await call({ text, bindings })).touched,
    orm: createOrm(async (text, bindings, method) => {
      // Rows of the catalog, of which none may take a list out.
      const { rows } = await call({ text, bindings, asArrays: method === "all", isNearest: true });
      return { rows: [...rows] };
    }),
  };
}

import { DrizzleQueryError } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { PgRemoteDatabase, PgRemoteSession } from "drizzle-orm/pg-proxy";
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

export interface SqlWithOrm extends Sql {
  /** Drizzle's queries, run by our own calls and under their limits. It has no `transaction`: `Postgres.transaction` is the one. */
  readonly orm: PgRemoteDatabase;
}

export type Call = <Row>(statement: Omit<Statement, "commits">) => Promise<Result<Row>>;

export function createSql(call: Call): SqlWithOrm {
  const dialect = new PgDialect();
  const session = new Session(
    async (text, bindings, method) => {
      // Rows of the catalog, of which none may take a list out.
      const { rows } = await call({ text, bindings, asArrays: method === "all", isNearest: true });
      return { rows: [...rows] };
    },
    dialect,
    undefined,
  );
  return {
    all: async <Row>(text: string, bindings: readonly Binding[] = []) =>
      (await call<Row>({ text, bindings })).rows,
    run: async (text, bindings = []) => (await call({ text, bindings })).touched,
    orm: new PgRemoteDatabase(dialect, session, undefined),
  };
}

/** Drizzle wraps each failure in one whose message is the statement with its parameters: ours goes on instead. */
class Session extends PgRemoteSession<Record<string, never>, Record<string, never>> {
  override prepareQuery: PgRemoteSession<Record<string, never>, Record<string, never>>["prepareQuery"] = (
    ...query
  ) => {
    const prepared = super.prepareQuery(...query);
    const run = prepared.execute.bind(prepared);
    prepared.execute = (values) => run(values).catch(throwCause);
    return prepared;
  };
}

function throwCause(error: unknown): never {
  throw error instanceof DrizzleQueryError ? error.cause : error;
}

import { DrizzleQueryError } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { PgRemoteDatabase, PgRemoteSession, type RemoteCallback } from "drizzle-orm/pg-proxy";

/** Drizzle's queries, run by our own calls and under their limits. It has no `transaction`: `Postgres.transaction` is the one. */
export type Orm = PgRemoteDatabase;

/** Runs a statement whose rows are arrays (`all`) or objects (`execute`). */
export type OrmCall = RemoteCallback;

export function createOrm(call: OrmCall): Orm {
  const dialect = new PgDialect();
  return new PgRemoteDatabase(dialect, new Session(call, dialect, undefined), undefined);
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

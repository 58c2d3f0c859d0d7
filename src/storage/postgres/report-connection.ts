import type { Connection, Script } from "#storage/sql/script.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "#storage/postgres/connection/drive.ts";

const connections = new WeakMap<Postgres, Connection>();

/**
 * Before the first look, which is the moment that is read, the log is locked: until the end retention drops no day of it, and
 * no rows move from the default partition into one of their day, where this moment would see none of them. Plans are made for
 * what is bound, since the driver's prepared statements would have one plan for all; to compile them takes longer than reports
 * do; and what a report sums up fits into memory, as it does on SQLite.
 */
const PREPARE_SQL = `SET LOCAL jit = off; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL work_mem = '32MB';
  LOCK TABLE ONLY event, ONLY event_default IN ACCESS SHARE MODE`;

/**
 * Reads within one transaction: totals and rows of different commits would not fit together. Nothing is kept of it. Throws
 * DatabaseUnreachableError while the database is away, and StatementError with SQLSTATE 57014 when `signal` has ended it.
 */
export function readFrom<Answer>(
  postgres: Postgres,
  reading: Script<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  const connection = connections.get(postgres) ?? { dialect: POSTGRES };
  connections.set(postgres, connection);
  const step = async (tx: Transaction) => {
    await tx.run(PREPARE_SQL);
    return drive(tx, reading, connection);
  };
  return postgres.transaction(step, {
    isReadOnly: true,
    isolation: "repeatable read",
    callMsMax: STATEMENT_MS_MAX.report,
    ...(signal === undefined ? {} : { signal }),
  });
}

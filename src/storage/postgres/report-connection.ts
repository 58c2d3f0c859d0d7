import type { Connection, Script } from "#storage/sql/script.ts";
import { forgetMemory } from "#storage/reports/report-memory.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Reserved, Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { prepareTables } from "#storage/postgres/connection/temporary.ts";

/** A connection that answers questions, one at a time. */
export interface ReportConnection {
  readonly reserved: Reserved;
  readonly connection: Connection;
}

/** Connects at the first question, and makes the temporary tables of reports with each connection. */
export function openReportConnection(postgres: Postgres): ReportConnection {
  const connection: Connection = { dialect: POSTGRES };
  const reserved = postgres.reserve(async (sql) => {
    // A server that was restored to an earlier state gives its ids anew, and has ended every connection.
    forgetMemory(connection);
    await prepareTables(sql);
  });
  return { reserved, connection };
}

/**
 * Reads within one transaction: totals and rows of different commits would not fit together. Nothing is kept of it. Throws
 * DatabaseUnreachableError while the database is away, and StatementError with SQLSTATE 57014 when `signal` has ended it.
 */
export function readFrom<Answer>(
  { reserved, connection }: ReportConnection,
  reading: Script<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  const step = async (tx: Transaction) => {
    // Before the first look, which is the moment that is read: until the end retention drops no day of it, and no rows move
    // from the default partition into one of their day, where this moment would see none of them.
    await tx.run("LOCK TABLE ONLY event, ONLY event_default IN ACCESS SHARE MODE");
    return drive(tx, connection, reading);
  };
  return reserved.transaction(step, {
    isReadOnly: true,
    isolation: "repeatable read",
    callMsMax: STATEMENT_MS_MAX.report,
    ...(signal === undefined ? {} : { signal }),
  });
}

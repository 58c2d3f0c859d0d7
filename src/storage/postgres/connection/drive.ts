import { POSTGRES } from "#storage/sql/dialect.ts";
import type { Connection, Query, Script } from "#storage/sql/script.ts";
import { STATEMENT_MS_MAX } from "./limits.ts";
import type { Postgres } from "./postgres.ts";
import type { Transaction } from "./transaction.ts";

const ROWS_PER_FETCH = 4_096;

/** A transaction, or a connection for one statement, which cannot be a scan. */
type Target = Pick<Transaction, "all" | "run"> & Partial<Pick<Transaction, "parts">>;
type Scans = Map<Query, AsyncGenerator<readonly unknown[]>>;

/** Answers the queries of a script, one after the other, within a transaction. */
export async function drive<Answer>(
  tx: Target,
  script: Script<Answer>,
  connection: Connection = { dialect: POSTGRES },
): Promise<Answer> {
  const scans: Scans = new Map();
  for (;;) {
    const step = script.next(connection);
    if (step.done === true) return step.value;
    await perform(tx, step.value, scans);
  }
}

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
      const arrays = columns.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
      // One statement of one shape stores any number of rows.
      query.changes = await tx.run(
        `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${arrays}) ${ending}`,
        columns.map((_, index) => query.rows.map((row) => row[index] ?? null)),
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

import { POSTGRES } from "#storage/sql/dialect.ts";
import type { Connection, Query, Script } from "#storage/sql/script.ts";
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

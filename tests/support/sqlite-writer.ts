import type { Database } from "bun:sqlite";
import { drainMicrotasks } from "bun:jsc";
import { SqliteWriter } from "#storage/sqlite/ledger/sqlite-writer.ts";
import { boundRetention, type MaintenancePass, pruneRows } from "#storage/cells/retention.ts";
import { sealCells } from "#storage/cells/maintenance.ts";
import { UsageWriter, type WriterOptions } from "#storage/writer/writer.ts";

type Options = Omit<WriterOptions, "engine"> & { readonly database: Database };

/** The writer of a usage.db, without a thread: what the Worker does, step by step. SQLite answers at once, and so does this. */
export type SqliteTestWriter = ReturnType<typeof openSqliteWriter>;

export function openSqliteWriter({ database, ...options }: Options) {
  const engine = new SqliteWriter({ database });
  const writer = new UsageWriter({ engine, ...options });
  return {
    writeBatch: () => answerOf(writer.writeBatch()),
    seal: (beforeDay: number) => engine.transact(() => sealCells(beforeDay)),
    boundRetention: (pass: MaintenancePass) => engine.transact(() => boundRetention(pass)),
    prune: (beforeUs: number) => engine.transact(() => pruneRows(beforeUs)),
    close() {
      writer.close();
      database.close();
    },
  };
}

/** What a promise is settled with that waits for nothing outside of this thread. */
function answerOf<Answer>(promise: Promise<Answer>): Answer {
  promise.catch(() => {});
  drainMicrotasks();
  const answer = Bun.peek(promise);
  if (answer instanceof Error) throw answer;
  if (answer instanceof Promise) throw new TypeError("the writer waits for something");
  return answer;
}

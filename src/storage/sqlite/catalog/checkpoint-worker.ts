import { Database } from "bun:sqlite";
import { findFileIdentity } from "#storage/files/file-watch.ts";
import { serveWorker } from "#storage/threads/worker-server.ts";
import type { CheckpointStart, CheckpointTasks } from "./log-sync.ts";

serveWorker((start: CheckpointStart) => ({
  tasks: { copy: () => copy(start) } satisfies CheckpointTasks,
  close: () => {},
}));

/** Commits go on meanwhile (sqlite.org/c3ref/wal_checkpoint_v2.html, PASSIVE). */
function copy({ path, file }: CheckpointStart): boolean {
  const database = new Database(path, { readwrite: true });
  try {
    // Another database under this name would get the pages of the log that the server goes on with.
    if (findFileIdentity(path) !== file) throw new Error("the database's file was replaced");
    database.run("PRAGMA synchronous = FULL");
    const row = database
      .query<{ log: number; checkpointed: number }, []>("PRAGMA wal_checkpoint(PASSIVE)")
      .get();
    return row !== null && row.log === row.checkpointed;
  } finally {
    database.close();
  }
}

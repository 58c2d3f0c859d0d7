import { Database } from "bun:sqlite";
import { findFileIdentity } from "#storage/files/file-watch.ts";
import { isBusy } from "#storage/files/setup-errors.ts";
import { serveWorker } from "#storage/threads/worker-server.ts";
import { countAside } from "./catalog-file.ts";
import type { CheckpointStart, CheckpointTasks } from "./log-sync.ts";

serveWorker((start: CheckpointStart) => ({
  tasks: { copy: () => copy(start) } satisfies CheckpointTasks,
  close: () => {},
}));

function copy({ path, file }: CheckpointStart): boolean {
  const database = new Database(path, { readwrite: true });
  try {
    // Another database under this name would get the pages of the log that the server goes on with.
    if (findFileIdentity(path) !== file) throw new Error("the database's file was replaced");
    database.run("PRAGMA synchronous = FULL");
    // Commits go on meanwhile (sqlite.org/c3ref/wal_checkpoint_v2.html, PASSIVE).
    const { log, checkpointed } = checkpoint(database, "PASSIVE");
    if (log !== checkpointed) return false;
    // A change that comes meanwhile meets a lock, and runs again: little is left to be copied.
    if (checkpoint(database, "TRUNCATE").busy === 0) beginLog(database);
    return true;
  } finally {
    database.close();
  }
}

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

function checkpoint(database: Database, mode: "PASSIVE" | "TRUNCATE"): CheckpointRow {
  const row = database.query<CheckpointRow, []>(`PRAGMA wal_checkpoint(${mode})`).get();
  if (row === null) throw new Error("PRAGMA wal_checkpoint gave no row");
  return row;
}

/** Commits what changes nothing: the first commit in a log syncs its header, for which the serving thread would wait. */
function beginLog(database: Database): void {
  try {
    database.transaction(() => countAside(database)).immediate();
  } catch (cause) {
    // Another connection begins it.
    if (!isBusy(cause)) throw cause;
  }
}

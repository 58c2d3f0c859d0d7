import { Database } from "bun:sqlite";
import { findFileIdentity } from "#storage/files/file-watch.ts";
import { isBusy } from "#storage/files/setup-errors.ts";
import { serveWorker } from "#storage/threads/worker-server.ts";
import { countAside } from "./catalog-file.ts";
import type { CheckpointStart, CheckpointTasks } from "./log-sync.ts";

/** A commit of another process, or what is read from the log, is waited for as long; changes of the server wait meanwhile. */
const LOCK_WAIT_MS_MAX = 100;

serveWorker((start: CheckpointStart) => ({
  tasks: {
    // Commits go on meanwhile (sqlite.org/c3ref/wal_checkpoint_v2.html, PASSIVE).
    copy: () =>
      withDatabase(start, (database) => {
        const { log, checkpointed } = checkpoint(database, "PASSIVE");
        return log === checkpointed;
      }),
    // Little was committed since the copy.
    begin: () =>
      withDatabase(start, (database) => {
        if (checkpoint(database, "TRUNCATE").busy === 0) beginLog(database);
      }),
  } satisfies CheckpointTasks,
  close: () => {},
}));

function withDatabase<Answer>({ path, file }: CheckpointStart, step: (database: Database) => Answer): Answer {
  const database = new Database(path, { readwrite: true });
  try {
    // Another database under this name would get the pages of the log that the server goes on with.
    if (findFileIdentity(path) !== file) throw new Error("the database's file was replaced");
    database.run("PRAGMA synchronous = FULL");
    database.run(`PRAGMA busy_timeout = ${LOCK_WAIT_MS_MAX}`);
    return step(database);
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

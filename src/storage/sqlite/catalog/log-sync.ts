import type { Database } from "bun:sqlite";
import { closeSync, fstatSync, openSync } from "node:fs";
import { ProxyError } from "#kernel/errors.ts";
import { joinNext } from "#kernel/turns.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { toFileIdentity } from "#storage/files/file-watch.ts";
import { syncData } from "#storage/files/sync-folder.ts";
import { TaskFailedError, WorkerClient } from "#storage/threads/worker-client.ts";

/** A log that has grown past this is copied into the database: what SQLite's own 1,000 pages are. */
const LOG_BYTES_MAX = 4 * 1024 * 1024;

export interface LogSyncOptions {
  readonly path: string;
  readonly log: Log;
  readonly logBytesMax?: number;
}

/** The start of a Worker that copies the write-ahead log of a database into it, which syncs both. */
export interface CheckpointStart {
  readonly path: string;
  /** The identity of the file that the server has open. */
  readonly file: string;
}

export interface CheckpointTasks {
  /** True when all that the log held at the call is in the database now, and on the disk. Rejects when the disk refuses. */
  copy(): boolean;
  /** Begins a log anew that was copied, unless something is read from it. */
  begin(): void;
}

/** Brings what this process commits to the disk, without holding up the thread that serves requests. */
export interface LogSync {
  /** Fulfilled once every commit before the call is on the disk; calls that come meanwhile share one sync. Throws `internal_error`. */
  synced(): Promise<void>;
  /**
   * A change waits for it before its transaction, nearly always null: the first commit in a log that begins anew syncs its
   * header, and is the Worker's.
   */
  held(): Promise<void> | null;
  /** After the sync that is under way: the descriptor's number may be another file's next. */
  close(): Promise<void>;
}

/**
 * Takes the sync of each commit over from SQLite (sqlite.org/pragma.html#pragma_synchronous): on the serving thread it held
 * up every other request for as long as the disk takes. What is answered is as durable as before, since the answer waits; a
 * commit is seen by other requests before it is durable. A Worker copies the log into the database once it has grown long,
 * which syncs both.
 *
 * `synchronous = NORMAL` still syncs the log before a checkpoint overwrites the database with it, so that the file is sound
 * after a loss of power. No lock is on the log (sqlite.org/walformat.html, 2.3): closing a descriptor of it drops none.
 */
export function createLogSync(
  client: Database,
  { path, log, logBytesMax = LOG_BYTES_MAX }: LogSyncOptions,
): LogSync {
  client.run("PRAGMA synchronous = NORMAL");
  client.run("PRAGMA wal_autocheckpoint = 0");
  // The log is there from the first read on.
  client.query("SELECT count(*) FROM sqlite_schema").get();
  const file = openSync(`${path}-wal`, "r+");
  const checkpoints = new WorkerClient<CheckpointTasks, CheckpointStart>({
    name: "catalog checkpoint",
    url: new URL("./checkpoint-worker.ts", import.meta.url),
    log,
    start: { path, file: toFileIdentity(path) },
  });
  const copyLog = async (): Promise<boolean> => {
    try {
      return await checkpoints.ask("copy");
    } catch (cause) {
      if (cause instanceof TaskFailedError)
        log.error("catalog: its log could not be copied into the database", cause.fields);
      throw cause;
    }
  };
  let isDoubtful = false;
  let shortenAtBytes = logBytesMax;
  let shortening: Promise<void> | null = null;
  let beginning: Promise<void> | null = null;

  const sync = joinNext(async () => {
    try {
      await syncData(file);
      if (!isDoubtful) return;
    } catch (cause) {
      isDoubtful = true;
      throw cause;
    }
    // After a sync that failed, the kernel may take pages for written that are not, and confirm them the next time: the
    // database gets a copy of all of them, in writes of its own.
    if (!(await copyLog())) throw new Error("a checkpoint after a failed sync was held up");
    isDoubtful = false;
  });

  const shorten = async () => {
    try {
      if (await copyLog()) await (beginning = checkpoints.ask("begin"));
    } catch (cause) {
      log.warn("catalog: its log grows until it can be copied into the database", describeCause(cause));
    }
    beginning = null;
    // A reader may need what is in the log: the next attempt comes when it has grown again.
    shortenAtBytes = fstatSync(file).size + logBytesMax;
    shortening = null;
  };

  const closeOnce = async () => {
    await sync().catch(() => {});
    await shortening;
    await checkpoints.stop();
    closeSync(file);
  };
  let closing: Promise<void> | null = null;
  return {
    async synced() {
      try {
        await sync();
      } catch (cause) {
        throw new ProxyError(
          "internal_error",
          "The disk did not confirm the change, which may be lost: see whether it was made, and check the disk.",
          { cause },
        );
      }
      if (closing === null && fstatSync(file).size > shortenAtBytes) shortening ??= shorten();
    },
    held: () => beginning?.catch(() => {}) ?? null,
    close: () => (closing ??= closeOnce()),
  };
}

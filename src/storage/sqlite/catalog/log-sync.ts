import type { Database } from "bun:sqlite";
import { closeSync, fdatasync, openSync } from "node:fs";
import { ProxyError } from "#kernel/errors.ts";
import { joinNext } from "#kernel/join-next.ts";

/** Brings what this process commits to the disk, without holding up the thread that serves requests. */
export interface LogSync {
  /** Fulfilled once every commit before the call is on the disk; calls that come meanwhile share one sync. Throws `internal_error`. */
  synced(): Promise<void>;
  /** After the sync that is under way: the descriptor's number may be another file's next. */
  close(): Promise<void>;
}

/**
 * Takes the sync of each commit over from SQLite (sqlite.org/pragma.html#pragma_synchronous): on the serving thread it held
 * up every other request for as long as the disk takes. What is answered is as durable as before, since the answer waits; a
 * commit is seen by other requests before it is durable.
 *
 * `synchronous = NORMAL` still syncs the log before a checkpoint overwrites the database with it, so that the file is sound
 * after a loss of power. No lock is on the log (sqlite.org/walformat.html, 2.3): closing a descriptor of it drops none.
 */
export function createLogSync(client: Database, path: string): LogSync {
  client.run("PRAGMA synchronous = NORMAL");
  // The log is there from the first read on.
  client.query("SELECT count(*) FROM sqlite_schema").get();
  const file = openSync(`${path}-wal`, "r+");
  const checkpoint = client.prepare<CheckpointRow, []>("PRAGMA wal_checkpoint(FULL)");
  let isDoubtful = false;

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
    const copied = checkpoint.get();
    if (copied === null || copied.busy !== 0) throw new Error("a checkpoint after a failed sync was held up");
    isDoubtful = false;
  });
  const closeOnce = async () => {
    await sync().catch(() => {});
    checkpoint.finalize();
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
    },
    close: () => (closing ??= closeOnce()),
  };
}

interface CheckpointRow {
  readonly busy: number;
}

function syncData(file: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  fdatasync(file, (cause) => (cause === null || cause === undefined ? resolve() : reject(cause)));
  return promise;
}

import type { Database } from "bun:sqlite";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { isBusy } from "#storage/files/setup-errors.ts";
import type { CatalogFile } from "./catalog-file.ts";
import type { LogSync } from "./log-sync.ts";

/** How long a step waits for a lock that another process holds, before it is refused. */
export const BUSY_WAIT_MS_MAX = 5_000;
const BUSY_RETRY_INTERVAL_MS_MIN = 2;
const BUSY_RETRY_INTERVAL_MS_MAX = 50;

/**
 * The one connection to catalog.db of a process. Steps are synchronous, so that nothing else on the connection gets in
 * between; one that meets a foreign lock is tried again later, while the event loop goes on, and throws `internal_error`
 * when the lock stays for BUSY_WAIT_MS_MAX.
 */
export interface Connection {
  /** A step of one statement. */
  query<Result>(step: () => Result): Promise<Result>;
  /** A step that is tried once, now; null when it meets a foreign lock. */
  tryQuery<Result>(step: () => Result): Result | null;
  /** A step that reads with several statements and sees one state of the file. */
  read<Result>(step: () => Result): Promise<Result>;
  /**
   * One transaction, under the write lock from its first statement on: what `step` reads stays true until its COMMIT.
   * What it throws is thrown after the ROLLBACK. It runs again only when it was rolled back because of a lock.
   * `committed` is called in the same turn of the event loop as the COMMIT: memory is never older than the file.
   * Fulfilled once the transaction is on the disk.
   */
  write<Result>(step: () => Result, committed?: (result: Result) => void): Promise<Result>;
  /** Differs when another connection has committed in between; own writes do not count. */
  dataVersion(): number;
  close(): Promise<void>;
}

/**
 * How often the file is asked for its version. `turn`: once per turn of the event loop, which spares a busy server two
 * system calls (2.5 µs) of three per request. What a turn serves had arrived when it began, so nothing committed later
 * was there to be seen by it; a step under the write lock always asks. `call`: each time.
 */
export type Freshness = "turn" | "call";

export interface ConnectionOptions {
  readonly freshness?: Freshness | undefined;
  /** Syncs what is committed; null where SQLite does, within the COMMIT. */
  readonly logSync?: LogSync | null;
  /** The file of its name, which a server may lose; null: it is not looked for. */
  readonly file?: Pick<CatalogFile, "isInPlace" | "requireInPlace"> | null;
}

export function createConnection(
  client: Database,
  clock: Clock,
  { freshness = "call", logSync = null, file = null }: ConnectionOptions = {},
): Connection {
  // From here on waiting is ours: SQLite's own stops the whole event loop.
  client.run("PRAGMA busy_timeout = 0");
  const dataVersion = client.prepare<{ data_version: number }, []>("PRAGMA data_version");
  // A deferred BEGIN that later wants to write fails at once when another process wrote meanwhile.
  const beginImmediate = client.prepare("BEGIN IMMEDIATE");
  const begin = client.prepare("BEGIN");
  const commit = client.prepare("COMMIT");
  const rollback = client.prepare("ROLLBACK");

  let versionOfTurn: number | null = null;
  const endTurn = () => {
    versionOfTurn = null;
  };

  const transact = <Result>(opening: typeof begin, step: () => Result): Result => {
    opening.run();
    versionOfTurn = null;
    try {
      const result = step();
      if (result instanceof Promise) throw new TypeError("a transaction must be synchronous");
      commit.run();
      return result;
    } catch (cause) {
      // A full disk or an I/O error may have rolled back already.
      if (client.inTransaction) rollback.run();
      throw cause;
    }
  };

  return {
    query: (step) => retryWhileBusy(clock, step),
    tryQuery(step) {
      try {
        return step();
      } catch (cause) {
        if (!isBusy(cause)) throw cause;
        return null;
      }
    },
    read: (step) => retryWhileBusy(clock, () => transact(begin, step)),
    async write(step, committed) {
      const held = logSync?.held() ?? null;
      if (held !== null) await held;
      const written = await retryWhileBusy(clock, () => {
        file?.requireInPlace();
        const result = transact(beginImmediate, step);
        committed?.(result);
        return result;
      });
      await logSync?.synced();
      return written;
    },
    dataVersion() {
      if (versionOfTurn !== null) return versionOfTurn;
      const row = dataVersion.get();
      if (row === null) throw new Error("PRAGMA data_version gave no row");
      if (freshness === "turn") {
        versionOfTurn = row.data_version;
        setImmediate(endTurn);
      }
      return row.data_version;
    },
    async close() {
      await logSync?.close();
      // SQLite removes the log of that name as it closes, which is another file's by then.
      if (file?.isInPlace() !== false) client.close(true);
    },
  };
}

async function retryWhileBusy<Result>(clock: Clock, step: () => Result): Promise<Result> {
  const startedMs = clock.monotonicMs();
  let intervalMs = BUSY_RETRY_INTERVAL_MS_MIN;
  for (;;) {
    try {
      return step();
    } catch (cause) {
      if (!isBusy(cause)) throw cause;
      if (clock.monotonicMs() - startedMs >= BUSY_WAIT_MS_MAX) {
        throw new ProxyError(
          "internal_error",
          "The database is busy: another process holds its lock. Try again.",
          { cause },
        );
      }
    }
    await Bun.sleep(intervalMs);
    intervalMs = Math.min(intervalMs * 2, BUSY_RETRY_INTERVAL_MS_MAX);
  }
}

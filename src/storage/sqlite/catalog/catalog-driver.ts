import type { Database } from "bun:sqlite";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import { changeCatalog, Follower, readVersion, trimChanges } from "#storage/catalog/change.ts";
import type { StoreMemory } from "#storage/catalog/memory.ts";
import { isBusy } from "#storage/files/setup-errors.ts";
import type { Script } from "#storage/sql/script.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { type CatalogFile, countAside, readAsides } from "./catalog-file.ts";
import type { LogSync } from "./log-sync.ts";

/** The wait of a script for a lock that another process holds, before it is refused. */
export const BUSY_WAIT_MS_MAX = 5_000;
const BUSY_RETRY_INTERVAL_MS_MIN = 2;
const BUSY_RETRY_INTERVAL_MS_MAX = 50;

interface SqliteDriverOptions {
  readonly memory: StoreMemory;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Null: the connection is a command's, and no request waits for its thread. */
  readonly serving: Serving | null;
}

export interface Serving {
  /** The file of its name, which a server may lose. */
  readonly file: Pick<CatalogFile, "isInPlace" | "requireInPlace">;
  /** Syncs what is committed, in place of SQLite within the COMMIT. */
  readonly logSync: LogSync;
}

export interface SqliteDriver extends CatalogDriver {
  readonly close: () => Promise<void>;
}

/**
 * The one connection to catalog.db of a process. A script runs at once, so that nothing else on the connection gets in between.
 * One that meets a foreign lock runs again later, while the event loop goes on. Memory is trusted for as long as no other
 * connection has committed; then it reads what the change log names.
 */
export function createSqliteDriver(
  client: Database,
  { memory, clock, ids, serving }: SqliteDriverOptions,
): SqliteDriver {
  // From here on waiting is ours: SQLite's own stops the whole event loop.
  client.run("PRAGMA busy_timeout = 0");
  const version = createDataVersion(client, { isOncePerTurn: serving !== null });
  const follower = new Follower(memory);
  let trustedVersion: number | null = null;
  let trustedAsides: number | null = null;

  const isTrusted = () => trustedVersion === version.find();
  /** To be called within a transaction: the version and the rows are then of one moment. */
  const follow = () => {
    const found = version.find();
    if (found === trustedVersion) return;
    const asides = readAsides(client);
    // Neither a change nor an aside of a command: another program has written to the file, and told nothing of it.
    if (asides === trustedAsides && follower.isAt(drive(client, readVersion()))) follower.forget();
    drive(client, follower.follow())();
    trustedVersion = found;
    trustedAsides = asides;
  };
  const begin = client.prepare("BEGIN");
  // A deferred BEGIN that later wants to write fails at once when another process wrote meanwhile.
  const beginImmediate = client.prepare("BEGIN IMMEDIATE");
  const commit = client.prepare("COMMIT");
  const rollback = client.prepare("ROLLBACK");
  const transact = <Result>(opening: typeof begin, step: () => Result): Result => {
    opening.run();
    version.forget();
    try {
      const result = step();
      commit.run();
      return result;
    } catch (cause) {
      // A full disk or an I/O error may have rolled back already.
      if (client.inTransaction) rollback.run();
      throw cause;
    }
  };
  const read = <Result>(step: () => Result) => retryWhileBusy(clock, () => transact(begin, step));
  /**
   * One transaction, under the write lock from its first statement on. `committed` is called in the turn of the COMMIT: memory
   * is never older than the file. Fulfilled once the transaction is on the disk.
   */
  const write = async <Result>(step: () => Result, committed?: (result: Result) => void): Promise<Result> => {
    const held = serving?.logSync.held() ?? null;
    if (held !== null) await held;
    const written = await retryWhileBusy(clock, () => {
      serving?.file.requireInPlace();
      const result = transact(beginImmediate, step);
      committed?.(result);
      return result;
    });
    await serving?.logSync.synced();
    return written;
  };
  /** The server's own commits are none that it has to look into. */
  const countOwnAside = () => {
    if (serving === null) countAside(client);
  };
  const change = <Answer>(script: () => Script<Answer>) => {
    follow();
    const stamp = { token: ids.uuid(), atUs: clock.nowUs() };
    const made = drive(client, changeCatalog(follower, script(), stamp));
    if (made.version === null) countOwnAside();
    else drive(client, trimChanges(made.version));
    return made;
  };
  const aside = <Answer>(script: () => Script<Answer>) =>
    write(() => {
      const answer = drive(client, script());
      countOwnAside();
      return answer;
    });

  return {
    read: (script) => read(() => drive(client, script())),
    ask: (script) => retryWhileBusy(clock, () => drive(client, script())),
    async change(script) {
      const { answer } = await write(
        () => change(script),
        ({ takeOver }) => takeOver(),
      );
      return answer;
    },
    aside,
    put: aside,
    isShared: false,
    memory,
    isTrusted() {
      try {
        return isTrusted();
      } catch (cause) {
        if (!isBusy(cause)) throw cause;
        // A foreign lock may leave open whether something was committed: memory is brought up to date then.
        return false;
      }
    },
    async current() {
      if (!(await retryWhileBusy(clock, isTrusted))) await read(follow);
    },
    async close() {
      await serving?.logSync.close();
      // SQLite removes the log of that name as it closes, which is another file's by then.
      if (serving?.file.isInPlace() !== false) client.close(true);
    },
  };
}

/**
 * Tells of commits of other connections, by another number. Asked once per turn of the event loop it spares a busy server two
 * system calls (2.5 µs) of three per request. What a turn serves had arrived when it began, so nothing committed later was
 * there to be seen by it; a transaction asks anew.
 */
function createDataVersion(client: Database, { isOncePerTurn }: { readonly isOncePerTurn: boolean }) {
  const query = client.prepare<{ data_version: number }, []>("PRAGMA data_version");
  let known: number | null = null;
  const forget = () => {
    known = null;
  };
  return {
    find(): number | null {
      if (known !== null) return known;
      const found = query.get()?.data_version ?? null;
      if (isOncePerTurn) {
        known = found;
        setImmediate(forget);
      }
      return found;
    },
    forget,
  };
}

/** Runs a step again while it meets a foreign lock. Throws `internal_error` when that stays for BUSY_WAIT_MS_MAX. */
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

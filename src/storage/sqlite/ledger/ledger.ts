import { join } from "node:path";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { findFileIdentity, toFileIdentity } from "#storage/files/file-watch.ts";
import type { ServerLock } from "#storage/files/folder-lock.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import type { LedgerSource } from "#storage/ledger-reader.ts";
import { readInTurns } from "#storage/sqlite/drive.ts";
import { openSqliteReader } from "#storage/sqlite/file/open.ts";
import type { LedgerParts } from "#storage/threads/ledger.ts";
import type { RecordedOrder, RecordedSince } from "#storage/threads/stats.ts";
import {
  beginServerRun,
  hasUsageDatabase,
  openForReading,
  prepareUsageDatabase,
  type UsagePlace,
} from "./file/database.ts";

const READER_URL = new URL("./reader-worker.ts", import.meta.url);

/** Takes `usage.db` for the server that holds the lock of its folder. Throws SetupError for a file that cannot be used. */
export function takeLedger(
  dataDir: string,
  {
    lock,
    clock,
    catalogPath,
  }: { readonly lock: ServerLock; readonly clock: Clock; readonly catalogPath?: string },
): LedgerParts {
  const databasePath = join(dataDir, USAGE_NAME);
  const committed = prepareUsageDatabase(databasePath);
  const run = beginServerRun(databasePath, lock.file);
  let usageFile = toFileIdentity(databasePath);
  return {
    journalDirectory: join(dataDir, JOURNAL_NAME),
    place: { databasePath, catalogPath } satisfies UsagePlace,
    writerUrl: new URL("./writer-worker.ts", import.meta.url),
    readerUrl: READER_URL,
    committed,
    run,
    recorded: new RecordedEvents(clock.nowUs().toString(36)),
    listFiles: ({ lockFile, restoreDatabase }) => [
      lockFile,
      {
        name: USAGE_NAME,
        isInPlace: () => findFileIdentity(databasePath) === usageFile,
        async restore() {
          await restoreDatabase();
          usageFile = toFileIdentity(databasePath);
        },
      },
    ],
  };
}

/** Finds the ledger of a data folder for a process beside its server. Takes no lock and changes nothing. */
export function findLedger(dataDir: string): LedgerSource {
  const databasePath = join(dataDir, USAGE_NAME);
  return {
    readerUrl: READER_URL,
    place: { databasePath } satisfies UsagePlace,
    async open() {
      if (!hasUsageDatabase(databasePath)) return null;
      // The keeper is closed last: the read-only mode of the others would leave the files behind that SQLite needed.
      const keeper = openSqliteReader(databasePath);
      try {
        const database = withSetupErrors(databasePath, () => openForReading(databasePath));
        return {
          read: (script) => readInTurns(database, script),
          findJournal: () => ({
            directory: join(dataDir, JOURNAL_NAME),
            position: "SELECT journal_segment AS segment, journal_offset AS offset FROM ledger_state",
            lane: null,
          }),
          close() {
            database.close();
            keeper.close();
          },
        };
      } catch (cause) {
        keeper.close();
        throw cause;
      }
    },
  };
}

/** Events of which the order is kept, eight bytes each: ten seconds of the fastest ledger, hours of a usual one. */
const EVENTS_KEPT_MAX = 32_768;

/**
 * The order in which a server's ledger has committed its newest events. Rows are clustered by arrival, and a request that
 * began earlier may end later, so that no row tells what is new. In memory of the serving thread: a look that finds nothing
 * new asks no reader.
 */
export class RecordedEvents implements RecordedOrder {
  readonly #epoch: string;
  readonly #ids = new Float64Array(EVENTS_KEPT_MAX);
  /** Events recorded so far; the newest stands at the place before it. */
  #count = 0;
  /** Cursors below it are unknown. */
  #first = 0;

  /** The epoch tells cursors of this start from those of every other one; letters and digits. */
  constructor(epoch: string) {
    this.#epoch = epoch;
  }

  add(ids: Float64Array): void {
    for (const id of ids) {
      this.#ids[this.#count % EVENTS_KEPT_MAX] = id;
      this.#count += 1;
    }
    this.#first = Math.max(this.#first, this.#count - EVENTS_KEPT_MAX);
  }

  /** Every cursor of before is unknown. */
  interrupt(): void {
    this.#count += 1;
    this.#first = this.#count;
  }

  since(cursor: string): RecordedSince {
    const now = `${this.#epoch}.${this.#count.toString(36)}`;
    const from = cursor === "" ? this.#count : this.#parse(cursor);
    if (from === null) return { ids: [], lanes: null, cursor: now, hasGap: true };
    const ids = Array.from({ length: this.#count - from }, (_, index) => this.#idAt(from + index));
    return { ids, lanes: null, cursor: now, hasGap: false };
  }

  #idAt(place: number): InstantUs {
    return this.#ids[place % EVENTS_KEPT_MAX] ?? 0;
  }

  #parse(cursor: string): number | null {
    const [epoch, count, ...rest] = cursor.split(".");
    if (epoch !== this.#epoch || count === undefined || rest.length > 0) return null;
    const place = Number.parseInt(count, 36);
    const isKnown = place.toString(36) === count && place >= this.#first && place <= this.#count;
    return isKnown ? place : null;
  }
}

/** How long events wait from their end until they are committed, seen from outside the server. */
import { SQL } from "bun";
import { Database } from "bun:sqlite";
import { percentile } from "./table.ts";

/** On PostgreSQL each look plans anew, which takes the server half a millisecond. */
const LOOK_INTERVAL_MS = { sqlite: 5, postgres: 20 } as const;

/** Milliseconds from the end of an event to the look that found it committed. */
export interface CommitDelays {
  readonly events: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface Ended {
  readonly id: number | string;
  readonly duration_us: number;
}

/** Looks at the newest events all the time. */
export class CommitWatch {
  readonly #intervalMs: number;
  readonly #readAfter: (id: number) => Promise<readonly Ended[]>;
  readonly #closeDatabase: () => Promise<void>;
  readonly #looking: Promise<void>;
  #lastId = Date.now() * 1000;
  #delays: number[] = [];
  #isClosed = false;

  private constructor(
    intervalMs: number,
    readAfter: (id: number) => Promise<readonly Ended[]>,
    closeDatabase: () => Promise<void>,
  ) {
    this.#intervalMs = intervalMs;
    this.#readAfter = readAfter;
    this.#closeDatabase = closeDatabase;
    this.#looking = this.#look();
  }

  static ofSqlite(path: string): CommitWatch {
    const database = new Database(path, { readonly: true });
    const query = database.query<Ended, [number]>(
      "SELECT id, duration_us FROM event WHERE id > ? ORDER BY id",
    );
    return new CommitWatch(
      LOOK_INTERVAL_MS.sqlite,
      async (id) => query.all(id),
      async () => database.close(),
    );
  }

  static ofPostgres({ url, schema }: { readonly url: string; readonly schema: string }): CommitWatch {
    const sql = new SQL(url, { max: 1 });
    // A constant leaves out the partitions of all other days.
    return new CommitWatch(
      LOOK_INTERVAL_MS.postgres,
      (id) => sql.unsafe(`SELECT id, duration_us FROM ${schema}.event WHERE id > ${id} ORDER BY id`),
      () => sql.close(),
    );
  }

  /** The delays since it was last asked. */
  take(): CommitDelays {
    const delays = this.#delays;
    this.#delays = [];
    return {
      events: delays.length,
      p99Ms: percentile(delays, 0.99),
      maxMs: delays.reduce((most, delay) => Math.max(most, delay), 0),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#looking;
    await this.#closeDatabase();
  }

  async #look(): Promise<void> {
    while (!this.#isClosed) {
      const rows = await this.#readAfter(this.#lastId);
      const nowUs = (performance.timeOrigin + performance.now()) * 1000;
      for (const row of rows) {
        const id = Number(row.id);
        this.#lastId = id;
        this.#delays.push((nowUs - id - row.duration_us) / 1000);
      }
      await Bun.sleep(this.#intervalMs);
    }
  }
}

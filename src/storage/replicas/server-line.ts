import { StatementError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";

/**
 * Whether a server of PostgreSQL that has just started goes on where the one before it ended: both write one timeline. A
 * standby that is promoted, and a server that was put back to an earlier moment, begin a timeline of their own.
 */
export class ServerLine {
  readonly #read: () => Promise<string>;
  #asked: string | null = null;
  /** Null: not known. */
  #line: string | null = null;
  #same: string | null = null;

  constructor(read: () => Promise<string>) {
    this.#read = read;
  }

  /** False also where it is not known. `server` is when it was started. */
  isSame(server: string): boolean {
    return this.#same === server;
  }

  /** To be called with the server of each answer: what it writes has to be known before the next one starts. Never throws. */
  async follow(server: string): Promise<void> {
    if (this.#asked === server) return;
    this.#asked = server;
    const before = this.#line;
    try {
      const line = await this.#read();
      if (this.#asked !== server) return;
      this.#line = line;
      if (line === before) this.#same = server;
    } catch (cause) {
      if (this.#asked !== server) return;
      // Some that are offered as a service tell it nobody; one that was not reached is asked again.
      if (cause instanceof StatementError) this.#line = null;
      else this.#asked = null;
    }
  }
}

/** The first eight digits of the name of a segment are its timeline (PostgreSQL's documentation, 9.27.3). */
export async function readServerLine(postgres: Pick<Postgres, "all">): Promise<string> {
  const [row] = await postgres.all<{ line: string }>(
    "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS line",
  );
  if (row === undefined) throw new TypeError("PostgreSQL named no timeline");
  return row.line;
}

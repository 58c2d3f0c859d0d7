import type { Database, Statement } from "bun:sqlite";
import { fstatSync } from "node:fs";
import { isBusy } from "#storage/files/setup-errors.ts";

/**
 * Begins a write-ahead log anew without a sync on the calling thread. SQLite itself would overwrite it from its beginning,
 * and sync the new header before the first pages of the commit that does so, since old pages behind an old header would be
 * taken for the database's after a loss of power. An empty file has none: what of its first commit is on the disk and what
 * is not makes no difference (sqlite.org/walformat.html, 4.4 and 4.5).
 */
export class LogRestart {
  readonly #client: Database;
  /** A descriptor of the log. */
  readonly #file: number;
  readonly #look: Statement<CheckpointRow, []>;
  readonly #empty: Statement<CheckpointRow, []>;

  constructor(client: Database, file: number) {
    this.#client = client;
    this.#file = file;
    this.#look = client.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#empty = client.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Empties the log and writes its first page, without a sync. False while something is to be copied, or read from it. */
  begin(): boolean {
    // What another process commits in between is copied and synced here.
    if (!this.#isCopied() || this.#empty.get()?.busy !== 0) return false;
    this.#client.run("PRAGMA synchronous = OFF");
    try {
      this.#writeFirstPage();
    } catch (cause) {
      // Another process begins it, with a sync of its own.
      if (!isBusy(cause)) throw cause;
    } finally {
      if (this.#client.inTransaction) this.#client.run("ROLLBACK");
      this.#client.run("PRAGMA synchronous = NORMAL");
    }
    return true;
  }

  /** Whether all that is in the log is in the database as well. */
  #isCopied(): boolean {
    const row = this.#look.get();
    return row !== null && row.log === row.checkpointed;
  }

  #writeFirstPage(): void {
    this.#client.run("BEGIN IMMEDIATE");
    // Only another process can have written to it.
    if (fstatSync(this.#file).size > 0) return;
    const row = this.#client.query<VersionRow, []>("PRAGMA user_version").get();
    // Changes nothing, and is a commit all the same.
    this.#client.run(`PRAGMA user_version = ${row?.user_version ?? 0}`);
    this.#client.run("COMMIT");
  }

  close(): void {
    this.#look.finalize();
    this.#empty.finalize();
  }
}

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

interface VersionRow {
  readonly user_version: number;
}

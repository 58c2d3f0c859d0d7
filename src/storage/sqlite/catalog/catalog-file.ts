import type { Database } from "bun:sqlite";
import { basename } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { type WatchedFile, findFileIdentity, toFileIdentity } from "#storage/files/file-watch.ts";
import { restoreDatabaseFile } from "#storage/sqlite/file/copy.ts";

/**
 * The file of a connection that serves. One that was removed or replaced is still read, and takes no change: that would be
 * made in a file without a name, and gone with the process.
 */
export class CatalogFile {
  readonly #client: Database;
  readonly #path: string;
  readonly #log: Log;
  readonly #opened: string;

  constructor(client: Database, path: string, log: Log) {
    this.#client = client;
    this.#path = path;
    this.#log = log;
    this.#opened = toFileIdentity(path);
  }

  /** False: what is written to the connection is in a file that has lost its name. */
  isInPlace(): boolean {
    return findFileIdentity(this.#path) === this.#opened;
  }

  /** Throws `internal_error` when it is not in place. */
  requireInPlace(): void {
    if (this.isInPlace()) return;
    const name = basename(this.#path);
    throw new ProxyError(
      "internal_error",
      `Nothing was changed: ${name} was removed or replaced while the server runs. Restart the server.`,
      { isLogged: true },
    );
  }

  toWatched(): WatchedFile {
    return {
      name: basename(this.#path),
      isInPlace: () => this.isInPlace(),
      save: () => this.#save(),
    };
  }

  /** A file that has taken the name is left alone: local commands may have written to it. Throws what SQLite and the file system do. */
  #save(): void {
    if (findFileIdentity(this.#path) !== null) return;
    restoreDatabaseFile(this.#client, this.#path);
    this.#log.error(
      "the catalog was removed while the server runs: it is saved under its name as it was, and changes are refused until the server is restarted",
      { file: basename(this.#path) },
    );
  }
}

/** Counts a commit that leaves alone what servers remember: by it they tell such a one from what another program has written. */
export function countAside(client: Database): void {
  client.run(`PRAGMA user_version = ${readAsides(client) + 1}`);
}

/** The number stands in the header of the file, which costs no page more. */
export function readAsides(client: Database): number {
  return client.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

import type { Database } from "bun:sqlite";
import { basename } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { type WatchedFile, findFileIdentity, toFileIdentity } from "#storage/files/file-watch.ts";
import { restoreDatabaseFile } from "#storage/sqlite/file/copy.ts";

export interface CatalogFile extends WatchedFile {
  /** Throws `internal_error` when it is not in place. */
  requireInPlace(): void;
}

/**
 * The file of a connection that serves. One that was removed or replaced is still read, and takes no change: that would be
 * made in a file without a name, and gone with the process.
 */
export function createCatalogFile(client: Database, path: string, log: Log): CatalogFile {
  const name = basename(path);
  const opened = toFileIdentity(path);
  const isInPlace = () => findFileIdentity(path) === opened;
  return {
    name,
    isInPlace,
    requireInPlace() {
      if (isInPlace()) return;
      throw new ProxyError(
        "internal_error",
        `Nothing was changed: ${name} was removed or replaced while the server runs. Restart the server.`,
        { isLogged: true },
      );
    },
    /** A file that has taken the name is left alone: local commands may have written to it. */
    save() {
      if (findFileIdentity(path) !== null) return;
      restoreDatabaseFile(client, path);
      log.error(
        "the catalog was removed while the server runs: it is saved under its name as it was, and changes are refused until the server is restarted",
        { file: name },
      );
    },
  };
}

/** Counts a commit that leaves alone what servers remember: by it they tell such a one from what another program has written. */
export function countAside(client: Database): void {
  client.run(`PRAGMA user_version = ${readAsides(client) + 1}`);
}

/** The number stands in the header of the file, which costs no page more. */
export function readAsides(client: Database): number {
  return client.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

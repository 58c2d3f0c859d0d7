import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { openSqliteReader } from "./open.ts";
import { requireReferences, requireSound } from "./soundness.ts";

/** Unlike `existsSync`, it tells a folder that this user may not look into from one without the file. */
export function hasFile(path: string): boolean {
  return withSetupErrors(path, () => statSync(path, { throwIfNoEntry: false })) !== undefined;
}

/** Throws a SetupError that says `name` unless every page, every index and every reference is sound. */
export function requireIntact(path: string, name: string = path): void {
  withReader(path, (database) => {
    requireSound(database, name, "integrity_check");
    requireReferences(database, name);
  });
}

/** What `look` returns; nothing is changed, and the file is closed. Throws a SetupError for a file that cannot be used. */
export function withReader<Result>(path: string, look: (database: Database) => Result): Result {
  return withSetupErrors(path, () => {
    const database = openSqliteReader(path);
    try {
      return look(database);
    } finally {
      database.close();
    }
  });
}

import { SetupError } from "#kernel/errors.ts";
import type { UsageFacts } from "#storage/file-data.ts";
import { hasFile, withReader } from "#storage/sqlite/file/open.ts";
import { readSchemaVersion, toForeignError } from "./schema-version.ts";

/** Whether there is a usage database. Changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function hasUsageDatabase(path: string): boolean {
  if (!hasFile(path)) return false;
  return withReader(path, (database) => {
    if (readSchemaVersion(database, path) > 0) return true;
    if (database.query("SELECT 1 FROM sqlite_schema").get() !== null) throw toForeignError(path);
    return false;
  });
}

/** Looks at a usage database and changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function inspectUsage(path: string): UsageFacts {
  return withReader(path, (database) => {
    const schema = readSchemaVersion(database, path);
    if (schema === 0) throw toForeignError(path);
    const state = database
      .query<{ journal_segment: number; journal_offset: number }, []>(
        "SELECT journal_segment, journal_offset FROM ledger_state",
      )
      .get();
    if (state === null) {
      throw new SetupError(
        "configuration",
        `The database ${path} no longer says how far its journal is in it: restore a backup.`,
      );
    }
    const newest = database.query<{ id: number | null }, []>("SELECT max(id) AS id FROM event").get();
    return {
      schema,
      position: { segment: state.journal_segment, offsetBytes: state.journal_offset },
      newestAtUs: newest?.id ?? null,
    };
  });
}

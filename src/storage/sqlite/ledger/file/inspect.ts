import { SetupError } from "#kernel/errors.ts";
import type { JournalPosition } from "#storage/ledger/journal/segments.ts";
import { hasFile, withReader, type DatabaseAge } from "#storage/sqlite/file/reader.ts";
import { readSchemaVersion, toForeignError } from "./schema-version.ts";
import { SCHEMA_VERSION } from "./schema.ts";

export interface UsageFacts {
  readonly schema: number;
  readonly isCurrent: boolean;
  /** How far its journal is in it. */
  readonly position: JournalPosition;
  /** The arrival of the newest event; null when there is none. */
  readonly newestAtUs: number | null;
}

/** Whether there is a usage database, and of which age. Throws like `findCatalogAge`. */
export function findUsageAge(path: string): DatabaseAge {
  if (!hasFile(path)) return "none";
  return withReader(path, (database) => {
    const schema = readSchemaVersion(database, path);
    if (schema > 0) return schema === SCHEMA_VERSION ? "current" : "older";
    if (database.query("SELECT 1 FROM sqlite_schema").get() !== null) throw toForeignError(path);
    return "none";
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
      isCurrent: schema === SCHEMA_VERSION,
      position: { segment: state.journal_segment, offsetBytes: state.journal_offset },
      newestAtUs: newest?.id ?? null,
    };
  });
}

import type { Database } from "bun:sqlite";
import { SetupError } from "#kernel/errors.ts";
import { APPLICATION_ID, SCHEMA_VERSION, UNRELEASED_APPLICATION_IDS } from "./schema.ts";

/**
 * The schema of usage.db, at most `SCHEMA_VERSION`; zero for a file that has none yet. Throws a `SetupError` for another
 * program's file, which may carry any version, for one of a version that was never released, and for one of a newer version.
 */
export function readSchemaVersion(database: Database, path: string): number {
  const { version, application } = database
    .query<{ version: number; application: number }, []>(
      "SELECT user_version AS version, application_id AS application FROM pragma_user_version, pragma_application_id",
    )
    .get() ?? { version: 0, application: 0 };
  if (UNRELEASED_APPLICATION_IDS.includes(application)) {
    throw new SetupError(
      "configuration",
      `The database ${path} was made by an unreleased lockport and cannot be brought up to date: start the executable that made it, or move it and the folder journal beside it away to begin without what they recorded.`,
    );
  }
  const isEmpty = application === 0 && version === 0;
  if (application !== APPLICATION_ID && !isEmpty) throw toForeignError(path);
  if (version <= SCHEMA_VERSION) return version;
  throw new SetupError(
    "configuration",
    `The database ${path} was written by a newer lockport: start that version, or restore a backup.`,
  );
}

export function toForeignError(path: string): SetupError {
  return new SetupError("configuration", `The file ${path} is not a usage database: move it away.`);
}

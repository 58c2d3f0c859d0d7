import type { DataPlace, StorageEngine } from "#storage/engine.ts";
import type { DatabaseExamination, ExaminationOptions } from "#storage/postgres/examine.ts";
import { sqliteEngine } from "#storage/sqlite/engine.ts";
import { sqliteFiles } from "#storage/sqlite/files.ts";
import { folderLocks } from "#storage/files/folder-lock.ts";

/** The storage engine of an installation, chosen here and nowhere else. */
export async function engineOf({ database }: Pick<DataPlace, "database">): Promise<StorageEngine> {
  if (database.kind === "sqlite") return sqliteEngine;
  // Loaded here and not above: an installation in files needs none of it.
  const { postgresEngine } = await import("#storage/postgres/engine.ts");
  return postgresEngine;
}

/** Looks at a PostgreSQL database for `doctor`, and changes nothing. */
export async function examineDatabase(options: ExaminationOptions): Promise<DatabaseExamination> {
  const { examineDatabase: examine } = await import("#storage/postgres/examine.ts");
  return examine(options);
}

/** The files of an installation that is kept in files, and of a backup. */
export const files = sqliteFiles;

export type UsageFacts = ReturnType<typeof files.inspect.inspectUsage>;

export const locks = folderLocks;

/** Loads the move of an installation from its files to PostgreSQL. */
export async function loadMove() {
  const { openInstallationSource } = await import("#storage/sqlite/move/source.ts");
  const { requireVacant, takeInstallation, updateSchema } = await import("#storage/postgres/move/target.ts");
  return { openInstallationSource, requireVacant, takeInstallation, updateSchema };
}

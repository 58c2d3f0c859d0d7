import { SetupError } from "#kernel/errors.ts";
import { findPending } from "#storage/sqlite/file/migrate.ts";
import type { DatabaseAge } from "#storage/place.ts";
import { hasFile, withReader } from "#storage/sqlite/file/open.ts";
import { CATALOG_MIGRATIONS } from "./migrations.ts";
import { readSecretState } from "#storage/catalog/secret-state.ts";
import { drive } from "#storage/sqlite/drive.ts";

/** Whether there is a catalog, and of which age. Changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function findCatalogAge(path: string): DatabaseAge {
  if (!hasFile(path)) return "none";
  return withReader(path, (database) => {
    const pending = findPending(database, CATALOG_MIGRATIONS, path).length;
    if (pending === 0) return "current";
    return pending === CATALOG_MIGRATIONS.length ? "none" : "older";
  });
}

interface CatalogFacts {
  /** The last migration that was applied. */
  readonly schema: string;
  /** False: the next start brings it up to date. */
  readonly isCurrent: boolean;
  /** `SecretBox.checkValue` of the secret key that it was made with; null when that is not in it. */
  readonly secretCheckValue: string | null;
}

/** Inspects a catalog and changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function inspectCatalog(path: string): CatalogFacts {
  return withReader(path, (database) => {
    const pending = findPending(database, CATALOG_MIGRATIONS, path);
    const last = CATALOG_MIGRATIONS.at(-1 - pending.length);
    if (last === undefined) throw toEmptyError(path);
    const secretCheckValue = drive(database, readSecretState())?.checkValue ?? null;
    const isCurrent = pending.length === 0;
    return { schema: last.name, isCurrent, secretCheckValue };
  });
}

/** For a database in which nothing was made, as a start leaves it that was cut off. */
export function toEmptyError(path: string): SetupError {
  return new SetupError(
    "configuration",
    `The file ${path} is an empty database: the next start of the server makes a catalog of it, or restore a backup.`,
  );
}

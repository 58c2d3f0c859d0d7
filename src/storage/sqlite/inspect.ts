import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { SetupError } from "#kernel/errors.ts";
import { readSecretCheckValue } from "./catalog-database.ts";
import { findPending } from "./migrate.ts";
import { CATALOG_MIGRATIONS } from "./migrations.ts";
import { openSqliteReader, withSetupErrors } from "./open.ts";
import { requireReferences, requireSound } from "./soundness.ts";
import { readSchemaVersion, toForeignError } from "./usage/schema-version.ts";
import { SCHEMA_VERSION } from "./usage/schema.ts";
import type { JournalPosition } from "./usage/segments.ts";

export interface CatalogFacts {
  /** The last migration that was applied. */
  readonly schema: string;
  /** False: the next start brings it up to date. */
  readonly isCurrent: boolean;
  /** Of the secret key that it was made with. */
  readonly secretCheckValue: string | null;
}

export interface UsageFacts {
  readonly schema: number;
  readonly isCurrent: boolean;
  /** How far its journal is in it. */
  readonly position: JournalPosition;
  /** The arrival of the newest event; null when there is none. */
  readonly newestAtUs: number | null;
}

/** `none`: there is no such file, or nothing is in it. `older`: the next start brings its schema up to date. */
export type DatabaseAge = "none" | "older" | "current";

/** Whether there is a catalog, and of which age. Changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function findCatalogAge(path: string): DatabaseAge {
  if (!isThere(path)) return "none";
  return withReader(path, (database) => {
    const pending = findPending(database, CATALOG_MIGRATIONS, path).length;
    if (pending === 0) return "current";
    return pending === CATALOG_MIGRATIONS.length ? "none" : "older";
  });
}

/** The same of a usage database. */
export function findUsageAge(path: string): DatabaseAge {
  if (!isThere(path)) return "none";
  return withReader(path, (database) => {
    const schema = readSchemaVersion(database, path);
    if (schema > 0) return schema === SCHEMA_VERSION ? "current" : "older";
    if (database.query("SELECT 1 FROM sqlite_schema").get() !== null) throw toForeignError(path);
    return "none";
  });
}

/** Unlike `existsSync`, it tells a folder that this user may not look into from one without the file. */
function isThere(path: string): boolean {
  return withSetupErrors(path, () => statSync(path, { throwIfNoEntry: false })) !== undefined;
}

/** Looks at a catalog and changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function inspectCatalog(path: string): CatalogFacts {
  return withReader(path, (database) => {
    const pending = findPending(database, CATALOG_MIGRATIONS, path);
    const last = CATALOG_MIGRATIONS.at(-1 - pending.length);
    if (last === undefined) throw toEmptyError(path);
    const secretCheckValue = readSecretCheckValue(database);
    return { schema: last.name, isCurrent: pending.length === 0, secretCheckValue };
  });
}

/** For a database in which nothing was made, as a start leaves it that was cut off. */
export function toEmptyError(path: string): SetupError {
  return new SetupError(
    "configuration",
    `The file ${path} is an empty database: the next start of the server makes a catalog of it, or restore a backup.`,
  );
}

/** The same of a usage database. */
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

/** Throws a SetupError that says `name` unless every page, every index and every reference is sound. */
export function requireIntact(path: string, name: string = path): void {
  withReader(path, (database) => {
    requireSound(database, name, "integrity_check");
    requireReferences(database, name);
  });
}

function withReader<Result>(path: string, look: (database: Database) => Result): Result {
  return withSetupErrors(path, () => {
    const database = openSqliteReader(path);
    try {
      return look(database);
    } finally {
      database.close();
    }
  });
}

import type { Database } from "bun:sqlite";
import { SetupError } from "#kernel/errors.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { readPending, type Migration, recordMigration, toMigrationTable } from "#storage/sql/migration.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { backUp } from "./copy.ts";
import { requireReferences } from "./open.ts";

export interface MigrateOptions {
  /** The database's own file; a backup is laid beside it. */
  readonly path: string;
  /** Runs in the transaction that makes a new database, for rows that it must never be without. Synchronous. */
  readonly seed?: () => void;
  /** False for a copy that is thrown away. */
  readonly isBackedUp?: boolean;
}

export interface MigrateOutcome {
  /** Names, in order; empty when the schema was current. */
  readonly applied: readonly string[];
  /** The copy of the database as it was before, when it was not new. */
  readonly backupPath: string | null;
}

/**
 * Brings a database to the schema of this version: all missing migrations in one transaction, under the write lock, so
 * that of several processes one does the work and the others find it done. Expects a connection of `openSqlite`, without a
 * transaction. Throws SetupError for a newer or altered schema, for a database that is not ours, and for a backup that fails;
 * the database is then as it was.
 */
export function migrate(
  db: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): MigrateOutcome {
  return withSetupErrors(options.path, () => {
    if (findPending(db, migrations, options.path).length === 0) return { applied: [], backupPath: null };
    // Ignored inside a transaction; with it on, rebuilding a table would delete the rows that refer to it.
    db.run("PRAGMA foreign_keys = OFF");
    try {
      return db.transaction(() => applyPending(db, migrations, options)).immediate();
    } finally {
      db.run("PRAGMA foreign_keys = ON");
    }
  });
}

function applyPending(
  db: Database,
  migrations: readonly Migration[],
  { path, seed, isBackedUp = true }: MigrateOptions,
): MigrateOutcome {
  const pending = findPending(db, migrations, path);
  const [first] = pending;
  const isNew = pending.length === migrations.length;
  // Another connection copies the last commit while this one holds the write lock: nothing can slip in between.
  const backupPath =
    first === undefined || isNew || !isBackedUp ? null : backUp(path, `${path}.before-${first.name}`);
  if (isNew) db.run(toMigrationTable("TEXT"));
  for (const migration of pending) {
    db.run(migration.sql);
    drive(db, recordMigration(migration));
  }
  if (isNew) seed?.();
  requireReferences(db, path);
  return { applied: pending.map(({ name }) => name), backupPath };
}

/** The migrations that a database lacks. Throws a SetupError for a newer or altered schema, and for a database that is not ours. */
export function findPending(
  db: Database,
  migrations: readonly Migration[],
  path: string,
): readonly Migration[] {
  const tables = db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  if (tables.length === 0) return migrations;
  if (!tables.some(({ name }) => name === "migration")) {
    throw new SetupError(
      "configuration",
      `The file ${path} is a database of another program: set another path.`,
    );
  }
  return drive(db, readPending(migrations, { what: `The database ${path}`, copy: "a backup" }));
}

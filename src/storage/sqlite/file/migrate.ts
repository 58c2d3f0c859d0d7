import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import { backUp } from "./copy.ts";
import { type AppliedMigration, hashOf, listPending, type Migration } from "#storage/sql/migration.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { requireReferences } from "./open.ts";

export interface MigrateOptions {
  /** The database's own file; a backup is laid beside it. */
  readonly path: string;
  readonly nowUs: InstantUs;
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

const MIGRATIONS_TABLE = "schema_migrations";
const MIGRATIONS_TABLE_SQL = `CREATE TABLE ${MIGRATIONS_TABLE} (
  position INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  applied_at_us INTEGER NOT NULL
)`;

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
      return applyPending(db, migrations, options);
    } finally {
      db.run("PRAGMA foreign_keys = ON");
    }
  });
}

function applyPending(
  db: Database,
  migrations: readonly Migration[],
  options: MigrateOptions,
): MigrateOutcome {
  db.run("BEGIN IMMEDIATE");
  try {
    const pending = findPending(db, migrations, options.path);
    const first = pending[0];
    const isNew = pending.length === migrations.length;
    // Another connection copies the last commit while this one holds the write lock: nothing can slip in between.
    const backupPath =
      first === undefined || isNew || options.isBackedUp === false
        ? null
        : backUp(options.path, `${options.path}.before-${first.name}`);
    if (isNew) db.run(MIGRATIONS_TABLE_SQL);
    const record = db.prepare(
      `INSERT INTO ${MIGRATIONS_TABLE} (position, name, hash, applied_at_us) VALUES (?, ?, ?, ?)`,
    );
    for (const migration of pending) {
      db.run(migration.sql);
      record.run(migrations.indexOf(migration), migration.name, hashOf(migration), options.nowUs);
    }
    record.finalize();
    if (isNew) options.seed?.();
    requireReferences(db, options.path);
    db.run("COMMIT");
    return { applied: pending.map((migration) => migration.name), backupPath };
  } catch (cause) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw cause;
  }
}

/** The migrations that a database lacks. Throws a SetupError for a newer or altered schema, and for a database that is not ours. */
export function findPending(
  db: Database,
  migrations: readonly Migration[],
  path: string,
): readonly Migration[] {
  return listPending(migrations, readApplied(db, path), { what: `The database ${path}`, copy: "a backup" });
}

function readApplied(db: Database, path: string): readonly AppliedMigration[] {
  const tables = db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  if (tables.length === 0) return [];
  if (!tables.some((table) => table.name === MIGRATIONS_TABLE)) {
    throw new SetupError(
      "configuration",
      `The file ${path} is a database of another program: set another path.`,
    );
  }
  return db.query<AppliedMigration, []>(`SELECT name, hash FROM ${MIGRATIONS_TABLE} ORDER BY position`).all();
}

import { MIGRATIONS as CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/migrations.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import type { Migration } from "#storage/sql/migration.ts";

/** Makes this process a version with one more migration, so that every catalog that there is, is of an older one. */
export function makeSchemaLater(): Disposable {
  // One list for the whole process, which nothing but this writes to.
  const migrations = CATALOG_MIGRATIONS as Migration[];
  migrations.push({ name: "9999_later", sql: "CREATE TABLE later (id INTEGER PRIMARY KEY)" });
  return {
    [Symbol.dispose]() {
      migrations.pop();
    },
  };
}

/** The number of the catalog's migrations. */
export function countMigrations(path: string): number {
  const database = openSqlite(path);
  try {
    return database.query("SELECT name FROM migration").all().length;
  } finally {
    database.close(true);
  }
}

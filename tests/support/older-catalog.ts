import { renameSync, rmSync } from "node:fs";
import { migrate } from "#storage/sqlite/file/migrate.ts";
import { CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/migrations.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";

/** Puts a catalog with the same rows in its place, of the schema before the last migration. Nobody may have it open. */
export function makeCatalogOlder(path: string): void {
  const current = `${path}.current`;
  renameSync(path, current);
  const database = openSqlite(path);
  migrate(database, CATALOG_MIGRATIONS.slice(0, -1), { path, nowUs: 1 });
  database.run("PRAGMA foreign_keys = OFF");
  database.run("ATTACH ? AS current", [current]);
  const tables = database
    .query<{ name: string }, []>(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'schema_migrations'",
    )
    .all();
  for (const { name } of tables) {
    const columns = database
      .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)")
      .all(name)
      .map((column) => `"${column.name}"`)
      .join(", ");
    database.run(`INSERT INTO main."${name}" (${columns}) SELECT ${columns} FROM current."${name}"`);
  }
  database.run("DETACH current");
  database.close(true);
  rmSync(current);
}

/** How many of this version's migrations the catalog has. */
export function countMigrations(path: string): number {
  const database = openSqlite(path);
  try {
    return database.query("SELECT position FROM schema_migrations").all().length;
  } finally {
    database.close(true);
  }
}

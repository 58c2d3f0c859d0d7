import { sha256Hex } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import { insert, select } from "./rows.ts";
import type { Script } from "./script.ts";
import { table, text } from "./table.ts";

/** One step of a schema. Its SQL never changes once released: databases remember its hash. */
export interface Migration {
  /** Such as `0000_catalog`; the names are in the order of the steps. */
  readonly name: string;
  /** Several statements; none that PostgreSQL refuses within a transaction. */
  readonly sql: string;
}

/** The steps that a database has. No step makes it: of processes that start at once on nothing, the one that makes it goes on. */
const applied = table("migration", { name: text("name"), hash: text("hash") }, { key: ["name"] });

/** `type` is the engine's text that orders by its bytes. */
export function toMigrationTable(type: string): string {
  return `CREATE TABLE ${applied.name} (name ${type} PRIMARY KEY NOT NULL, hash ${type} NOT NULL)`;
}

/** The name of the database in a message, and the copy that a person would restore. */
export interface MigratedDatabase {
  readonly what: string;
  readonly copy: string;
}

/** The steps that a database lacks, which has the table of its steps. Throws a SetupError for a newer or an altered one. */
export function* readPending(
  migrations: readonly Migration[],
  { what, copy }: MigratedDatabase,
): Script<readonly Migration[]> {
  const rows = yield* select(applied, "ORDER BY name");
  for (const [position, migration] of migrations.slice(0, rows.length).entries()) {
    const row = rows[position];
    if (row?.name !== migration.name || row.hash !== hashOf(migration)) {
      throw new SetupError(
        "configuration",
        `${what} is of no released lockport (migration ${row?.name} differs) and cannot be brought up to date: start the executable that made it, or restore ${copy}.`,
      );
    }
  }
  if (rows.length > migrations.length) {
    throw new SetupError(
      "configuration",
      `${what} was made by a newer version: start that version, or restore ${copy}.`,
    );
  }
  return migrations.slice(rows.length);
}

/** Within the transaction of the step itself. */
export function* recordMigration(migration: Migration): Script<void> {
  yield* insert(applied, [{ name: migration.name, hash: hashOf(migration) }]);
}

/** The hash is that of the text in the repository: a checkout with CRLF line ends makes the same schema. */
function hashOf({ sql }: Migration): string {
  return sha256Hex(sql.replaceAll("\r\n", "\n"));
}

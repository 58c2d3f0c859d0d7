import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { generateDrizzleJson, generateSQLiteDrizzleJson } from "drizzle-kit/api";
import { ENGINES } from "#drizzle/tables.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { MIGRATIONS } from "#storage/postgres/connection/migrations.ts";
import { MIGRATIONS as CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/migrations.ts";
import { SCHEMA_SQL } from "#storage/sqlite/ledger/file/schema.ts";
import { postgresMissing } from "../support/postgres.ts";
import { createDatabase } from "./postgres/support.ts";

test.each([
  ["sqlite", CATALOG_MIGRATIONS],
  ["postgres", MIGRATIONS],
] as const)("each file of drizzle/%s is a migration, in order", (engine, migrations) => {
  const folder = join(import.meta.dir, "../../drizzle", engine);
  expect(migrations.map(({ name }) => `${name}.sql`)).toEqual(readdirSync(folder).sort());
  for (const { name, sql } of migrations) expect(sql).toBe(readFileSync(join(folder, `${name}.sql`), "utf8"));
});

test("the migrations of SQLite make the catalog's tables as they are described", async () => {
  const { describe: describeTables, compare } = ENGINES.sqlite;
  const described = await compare(await generateSQLiteDrizzleJson({}), await describeTables());
  const made = readSqlite(described);
  expect(made.length).toBeGreaterThan(150);
  expect(readSqlite(CATALOG_MIGRATIONS.map(({ sql }) => sql))).toEqual(made);
});

describe.skipIf(postgresMissing !== null)("the migrations of PostgreSQL", () => {
  test("make the catalog's tables as they are described", async () => {
    await using database = await createDatabase();
    const { describe: describeTables, compare } = ENGINES.postgres;
    const described = await compare(generateDrizzleJson({}), await describeTables());
    await database.postgres.run(
      `CREATE SCHEMA described; SET LOCAL search_path = described; ${described.join("")}`,
    );
    const made = await readPostgres(database.postgres, "described");
    expect(made.length).toBeGreaterThan(150);
    const tables = new Set(made.map(({ table }) => table));
    const migrated = await readPostgres(database.postgres, "lockport");
    expect(made).toEqual(migrated.filter(({ table }) => tables.has(table)));
  });

  test("make the ledger's columns as usage.db has them, but for lanes, spools and the one server of a file", async () => {
    await using database = await createDatabase();
    const sqlite = readColumns(SCHEMA_SQL);
    const ofCatalog = readColumns(CATALOG_MIGRATIONS.map(({ sql }) => sql).join(""));
    const rows = await database.postgres.all<{ table: string; column: string }>(
      `SELECT relname AS table, attname AS column FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = 'lockport'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND attnum > 0`,
    );
    const ofLedger = rows.filter(({ table }) => !(table in ofCatalog) && !ONLY_REPLICAS.has(table));
    const postgres = toColumns(ofLedger);
    expect(Object.keys(sqlite).length).toBeGreaterThan(10);
    expect(without(postgres, sqlite)).toEqual(ONLY_POSTGRES);
    expect(without(sqlite, postgres)).toEqual(ONLY_SQLITE);
  });

  test("make no text that sorts by anything but its bytes, as it does in SQLite", async () => {
    await using database = await createDatabase();
    const texts = await database.postgres.all<{ collation: string }>(
      `SELECT collname AS collation FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
         JOIN pg_collation ON pg_collation.oid = attcollation
       WHERE relnamespace = 'lockport'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0`,
    );
    expect(texts.length).toBeGreaterThan(100);
    expect(texts.filter(({ collation }) => collation !== "C")).toEqual([]);
  });
});

/** Tables of what replicas tell each other, and the list of migrations: SQLite has neither, or keeps it elsewhere. */
const ONLY_REPLICAS = new Set([
  "migration",
  "replica",
  "slot_pool",
  "slot_lease",
  "open_use",
  "attempt_bucket",
  "used_sign_in",
]);
const ONLY_POSTGRES: Columns = {
  carried_total: ["lane"],
  event: ["lane"],
  hour_total: ["lane"],
  open_cell: ["lane"],
  open_request: ["lane"],
  pending_event: ["lane"],
  recorded_batch: ["ids", "lane", "number", "recorded_at"],
  settlement: ["lane"],
  spool: ["batch", "heard_at", "holder", "id", "lane", "offset", "run", "segment"],
};
const ONLY_SQLITE: Columns = {
  ledger_state: ["journal_offset", "journal_segment"],
  server_run: ["id", "lock_file", "number"],
};

type Columns = { readonly [table: string]: readonly string[] };

/** Columns, indexes, references and checks of the tables that the statements make. */
function readSqlite(statements: readonly string[]): readonly unknown[] {
  using database = new Database(":memory:");
  for (const statement of statements) database.run(statement);
  const ofTables = (what: string) =>
    database
      .query(
        `SELECT * FROM (SELECT t.name AS "table", ${what}) WHERE "table" NOT LIKE 'sqlite_%' ORDER BY 1, 2, 3`,
      )
      .values();
  const tables = database
    .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    .all();
  return [
    ...ofTables("x.* FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS x"),
    ...ofTables(
      "l.name, x.seqno, x.name, l.[unique], l.origin, l.partial FROM pragma_table_list AS t, pragma_index_list(t.name) AS l, pragma_index_xinfo(l.name) AS x",
    ),
    ...ofTables("x.* FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS x"),
    // In one order: a migration makes its tables behind those of the ones before.
    ...tables
      .toSorted((left, right) => (left.name < right.name ? -1 : 1))
      .flatMap(({ name, sql }) =>
        [...sql.matchAll(/^\s*CONSTRAINT (.*?)(?=,?\n\s*CONSTRAINT|\n\))/gms)].map(([, check]) => [
          name,
          check,
        ]),
      ),
  ];
}

/** Columns, indexes and constraints of the tables of a schema. */
async function readPostgres(postgres: Postgres, schema: string): Promise<readonly { table: string }[]> {
  const rows = await postgres.all<{ table: string; what: string }>(
    `WITH made AS (SELECT oid, relname FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r')
     SELECT relname AS table, concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
       attcollation::regcollation, pg_get_expr(adbin, adrelid)) AS what
     FROM made JOIN pg_attribute ON attrelid = made.oid AND attnum > 0 LEFT JOIN pg_attrdef ON adrelid = made.oid AND adnum = attnum
     UNION ALL SELECT relname, pg_get_indexdef(indexrelid) FROM made JOIN pg_index ON indrelid = made.oid
     UNION ALL SELECT relname, conname || ' ' || pg_get_constraintdef(pg_constraint.oid) FROM made JOIN pg_constraint ON conrelid = made.oid
     ORDER BY 1, 2`,
  );
  return rows.map(({ table, what }) => ({ table, what: what.replaceAll(`${schema}.`, "") }));
}

function readColumns(sql: string): Columns {
  using database = new Database(":memory:");
  database.run(sql);
  return toColumns(
    database
      .query<{ table: string; column: string }, []>(
        `SELECT t.name AS "table", c.name AS "column" FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
         WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'`,
      )
      .all(),
  );
}

function toColumns(rows: readonly { readonly table: string; readonly column: string }[]): Columns {
  const tables = Object.entries(Object.groupBy(rows, ({ table }) => table));
  return Object.fromEntries(
    tables.map(([table, of]) => [table, (of ?? []).map(({ column }) => column).sort()]),
  );
}

/** The columns of the first that the second does not have. */
function without(columns: Columns, others: Columns): Columns {
  const rest = Object.entries(columns).map(([table, of]) => {
    return [table, of.filter((column) => !(others[table] ?? []).includes(column))] as const;
  });
  return Object.fromEntries(rest.filter(([, of]) => of.length > 0));
}

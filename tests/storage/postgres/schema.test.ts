import { expect, test } from "bun:test";
import { is } from "drizzle-orm";
import { getTableConfig as describePostgres, PgTable } from "drizzle-orm/pg-core";
import { getTableConfig as describeSqlite, SQLiteTable } from "drizzle-orm/sqlite-core";
import * as postgresIdentity from "#storage/postgres/catalog/identity-schema.ts";
import * as postgresLimits from "#storage/postgres/catalog/limit-schema.ts";
import * as postgresCatalog from "#storage/postgres/catalog/schema.ts";
import * as sqliteIdentity from "#storage/sqlite/catalog/identity-schema.ts";
import * as sqliteLimits from "#storage/sqlite/catalog/limit-schema.ts";
import * as sqliteCatalog from "#storage/sqlite/catalog/schema.ts";

type Column = {
  readonly name: string;
  readonly notNull: boolean;
  readonly primary: boolean;
  readonly isUnique: boolean;
};
type Named = { readonly name: string };
interface TableConfig {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly indexes: readonly { readonly config: object }[];
  readonly checks: readonly Named[];
  readonly primaryKeys: readonly { readonly columns: readonly Named[] }[];
  readonly foreignKeys: readonly {
    readonly onDelete: string | undefined;
    reference(): {
      readonly columns: readonly Named[];
      readonly foreignColumns: readonly (Named & { readonly table: object })[];
    };
  }[];
}

const text = (value: unknown) => JSON.stringify(value);

/** What the engines' tables must have in common: a query or a copy of one is right for the other. */
function toShape({ name, columns, indexes, checks, primaryKeys, foreignKeys }: TableConfig) {
  return {
    name,
    columns: columns.map((column) => text([column.name, column.notNull, column.primary, column.isUnique])),
    indexes: indexes.map(({ config }) => toIndex(config)).toSorted(),
    // A boolean of PostgreSQL needs no check.
    checks: checks
      .map((check) => check.name)
      .filter((check) => !check.endsWith("_boolean"))
      .toSorted(),
    primaryKeys: primaryKeys.map((key) => key.columns.map((column) => column.name)),
    foreignKeys: foreignKeys
      .map((key) => {
        const { columns: from, foreignColumns } = key.reference();
        return text([
          from.map((column) => column.name),
          foreignColumns.map((column) => column.name),
          foreignColumns.map(({ table }) => toTableName(table)),
          key.onDelete ?? "no action",
        ]);
      })
      .toSorted(),
  };
}

function toTableName(table: object): string | null {
  if (is(table, PgTable)) return describePostgres(table).name;
  return is(table, SQLiteTable) ? describeSqlite(table).name : null;
}

function toIndex(config: object): string {
  const { name, unique, where, columns } = {
    name: "",
    unique: false,
    where: undefined,
    columns: [],
    ...config,
  };
  return text([name, unique, where !== undefined, columns.map((column: Named) => column.name)]);
}

const postgres = Object.entries({ ...postgresCatalog, ...postgresIdentity, ...postgresLimits }).flatMap(
  ([name, table]) => (is(table, PgTable) ? [[name, toShape(describePostgres(table))] as const] : []),
);
const sqlite = Object.entries({ ...sqliteCatalog, ...sqliteIdentity, ...sqliteLimits }).flatMap(
  ([name, table]) => (is(table, SQLiteTable) ? [[name, toShape(describeSqlite(table))] as const] : []),
);

test("the catalog has the same tables, columns, keys, references, indexes and checks in PostgreSQL as in SQLite", () => {
  expect(postgres).toHaveLength(15);
  for (const [name, shape] of sqlite)
    expect([name, shape]).toEqual([name, Object.fromEntries(postgres)[name]!]);
  expect(postgres.map(([name]) => name).toSorted()).toEqual(sqlite.map(([name]) => name).toSorted());
});

test("the catalog's migrations for PostgreSQL name no schema, and every text compares by code points", async () => {
  for await (const path of new Bun.Glob("*.sql").scan("drizzle/postgres")) {
    const sql = await Bun.file(`drizzle/postgres/${path}`).text();
    expect(sql).not.toContain('"public"');
    if (!path.endsWith("_catalog.sql")) continue;
    expect(sql.match(/" text(?! COLLATE "C")/g)).toBeNull();
    expect(sql).toContain('"name" text COLLATE "C" NOT NULL');
  }
});

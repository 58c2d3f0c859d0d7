import {
  generateDrizzleJson,
  generateMigration,
  generateSQLiteDrizzleJson,
  generateSQLiteMigration,
} from "drizzle-kit/api";
import { sql } from "drizzle-orm";
import * as pg from "drizzle-orm/pg-core";
import * as sqlite from "drizzle-orm/sqlite-core";
import * as catalog from "#storage/catalog/tables.ts";
import type { Column, Table } from "#storage/sql/table.ts";

/** The catalog's tables (`storage/catalog/tables.ts`) as drizzle-kit reads them, for each engine. */
export const ENGINES = {
  sqlite: {
    describe: () => generateSQLiteDrizzleJson(toTables(SQLITE, Object.values(catalog))),
    compare: generateSQLiteMigration,
  },
  postgres: {
    // Tables of what replicas tell each other are written by hand: they have columns and storage parameters of PostgreSQL's own.
    describe: async () => {
      const tables = Object.values(catalog).filter(
        (table) => table !== catalog.catalogState && table !== catalog.changeLog,
      );
      return generateDrizzleJson(toTables(POSTGRES, tables));
    },
    compare: async (before: Parameters<typeof generateMigration>[0], now: typeof before) => {
      const statements = await generateMigration(before, now);
      // The tables are in the schema of the connection's `search_path`.
      return statements.map((statement) => statement.replaceAll('"public".', ""));
    },
  },
};

/** The builders that drizzle spells alike for its dialects, though the types of each are its own. */
interface Dialect {
  readonly table: (name: string, columns: object, extra: (self: any) => object[]) => object;
  readonly primaryKey: (options: { columns: any }) => object;
  readonly index: (name: string) => any;
  readonly check: typeof pg.check | typeof sqlite.check;
  readonly columns: { readonly [type in Column["type"]]: (name: string) => any };
  readonly toNumberedKey: (column: any) => any;
  /** The type of the JSON in a column of text. */
  readonly toJsonType: (column: string) => string;
  /** True where booleans are numbers, which have to be held to 0 and 1. */
  readonly hasNumbersForBooleans: boolean;
}

const SQLITE: Dialect = {
  ...sqlite,
  table: sqlite.sqliteTable as Dialect["table"],
  columns: {
    text: sqlite.text,
    integer: sqlite.integer,
    bigint: sqlite.integer,
    boolean: sqlite.integer,
    "double precision": sqlite.real,
    bytea: sqlite.blob,
  },
  toNumberedKey: (column) => column.primaryKey({ autoIncrement: true }),
  toJsonType: (column) => `json_type(${column})`,
  hasNumbersForBooleans: true,
};

const POSTGRES: Dialect = {
  ...pg,
  table: pg.pgTable as Dialect["table"],
  columns: {
    // Orders and compares by code points, as SQLite does: lists are alike whatever the database's own collation.
    text: pg.customType({ dataType: () => 'text COLLATE "C"' }),
    integer: pg.integer,
    bigint: (name) => pg.bigint(name, { mode: "number" }),
    boolean: pg.boolean,
    "double precision": pg.doublePrecision,
    bytea: pg.customType({ dataType: () => "bytea" }),
  },
  toNumberedKey: (column) => column.generatedByDefaultAsIdentity().primaryKey(),
  toJsonType: (column) => `json_typeof(${column}::json)`,
  hasNumbersForBooleans: false,
};

function toTables(dialect: Dialect, tables: readonly Table[]) {
  const made = new Map<string, any>();
  for (const table of tables)
    made.set(
      table.name,
      toTable(dialect, table, (name) => made.get(name).id),
    );
  return Object.fromEntries(made);
}

function toTable(dialect: Dialect, table: Table, idOf: (table: string) => object): object {
  const { name, columns, key, indexes, checks } = table;
  const entries = Object.entries(columns);
  const made = entries.map(([property, column]) => {
    const isKey = key.length === 1 && key[0] === property;
    return [property, toColumn(dialect, column, { isKey, idOf })];
  });
  return dialect.table(name, Object.fromEntries(made), (self) => {
    const check = (called: string, condition: string) => dialect.check(called, sql.raw(condition));
    const list = (properties: readonly string[]) => properties.map((property) => self[property]);
    return [
      ...(key.length > 1 ? [dialect.primaryKey({ columns: list(key) })] : []),
      ...indexes.map(({ name: called, on, where }) => {
        const index = dialect.index(called).on(...list(on));
        return where === undefined ? index : index.where(sql.raw(where));
      }),
      ...checks.map(({ name: called, sql: condition }) =>
        check(called, typeof condition === "string" ? condition : condition(dialect.toJsonType)),
      ),
      ...entries.flatMap(([, column]) =>
        column.type === "boolean" && dialect.hasNumbersForBooleans
          ? check(`${name}_${column.name}_boolean`, `${column.name} IN (0, 1)`)
          : [],
      ),
    ];
  });
}

interface Keys {
  readonly isKey: boolean;
  readonly idOf: (table: string) => object;
}

function toColumn(dialect: Dialect, column: Column, { isKey, idOf }: Keys): object {
  let builder = dialect.columns[column.type](column.name);
  if (!column.isNull) builder = builder.notNull();
  if (column.initial !== undefined) builder = builder.default(column.initial);
  if (column.isUnique === true) builder = builder.unique();
  const { references } = column;
  if (references !== undefined)
    builder = builder.references(
      () => idOf(references.table),
      references.cascades ? { onDelete: "cascade" } : {},
    );
  if (!isKey) return builder;
  return column.isNumbered === true ? dialect.toNumberedKey(builder) : builder.primaryKey();
}

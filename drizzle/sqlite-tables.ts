import { sql } from "drizzle-orm";
import {
  type AnySQLiteColumn,
  blob,
  check,
  index,
  integer,
  primaryKey,
  real,
  type SQLiteColumnBuilderBase,
  type SQLiteTableWithColumns,
  sqliteTable,
  type TableConfig,
  text,
} from "drizzle-orm/sqlite-core";
import * as catalog from "#storage/catalog/tables.ts";
import type { Column, Table } from "#storage/sql/table.ts";

/** The catalog's tables as drizzle-kit reads them: each is an export, and all are described in `storage/catalog/tables.ts`. */
const made = new Map<string, SQLiteTableWithColumns<TableConfig>>();

export const meta = toTable(catalog.meta);
export const providers = toTable(catalog.providers);
export const models = toTable(catalog.models);
export const prices = toTable(catalog.prices);
export const pricingFeed = toTable(catalog.pricingFeed);
export const auditEvents = toTable(catalog.auditEvents);
export const principals = toTable(catalog.principals);
export const apiKeys = toTable(catalog.apiKeys);
export const relayTokens = toTable(catalog.relayTokens);
export const oidcSubjects = toTable(catalog.oidcSubjects);
export const sessions = toTable(catalog.sessions);
export const loginLinks = toTable(catalog.loginLinks);
export const limits = toTable(catalog.limits);
export const notices = toTable(catalog.notices);
export const noticeMarks = toTable(catalog.noticeMarks);
export const keptResponses = toTable(catalog.keptResponses);
export const catalogState = toTable(catalog.catalogState);
export const changeLog = toTable(catalog.changeLog);

function toTable(table: Table) {
  const columns = Object.entries(table.columns);
  const nameOf = (property: string) => table.columns[property]?.name ?? property;
  const own = sqliteTable(
    table.name,
    Object.fromEntries(columns.map(([property, column]) => [property, toColumn(table, property, column)])),
    (self) => {
      const listed = (properties: readonly string[]) =>
        properties.flatMap((property) => self[property] ?? []);
      const [first, ...rest] = listed(table.key);
      const [head, ...tail] = table.key.length > 1 ? [first, ...rest] : [];
      return [
        ...(head === undefined ? [] : [primaryKey({ columns: [head, ...tail.flatMap((one) => one ?? [])] })]),
        ...table.indexes.flatMap(({ name, on, where }) => {
          const [leading, ...others] = listed(on);
          if (leading === undefined) return [];
          const built = index(name).on(leading, ...others);
          return [where === undefined ? built : built.where(sql.raw(where))];
        }),
        ...table.checks.map(({ name, sql: spelled }) =>
          check(
            name,
            sql.raw(typeof spelled === "string" ? spelled : spelled((column) => `json_type(${column})`)),
          ),
        ),
        ...columns
          .filter(([, { type }]) => type === "boolean")
          .map(([property]) =>
            check(`${table.name}_${nameOf(property)}_boolean`, sql.raw(`${nameOf(property)} IN (0, 1)`)),
          ),
      ];
    },
  );
  made.set(table.name, own);
  return own;
}

function toColumn(table: Table, property: string, column: Column): SQLiteColumnBuilderBase {
  const { isNull, isUnique, isNumbered, references, default: given } = column;
  let builder = toBuilder(column);
  if (!isNull) builder = builder.notNull();
  if (isUnique === true) builder = builder.unique();
  if (given !== undefined) builder = builder.default(sql.raw(given));
  if (references !== undefined)
    builder = builder.references(
      () => idOf(references.table),
      references.cascades ? { onDelete: "cascade" } : {},
    );
  if (table.key.length === 1 && table.key[0] === property)
    builder = isNumbered === true ? builder.primaryKey({ autoIncrement: true }) : builder.primaryKey();
  return builder;
}

function idOf(name: string): AnySQLiteColumn {
  const id = made.get(name)?.["id"];
  if (id === undefined) throw new TypeError(`no table ${name} has an id`);
  return id;
}

function toBuilder({ name, type }: Column) {
  switch (type) {
    case "text":
      return text(name);
    case "integer":
      return integer(name);
    case "boolean":
      return integer(name, { mode: "boolean" });
    case "real":
      return real(name);
    default:
      return blob(name, { mode: "buffer" });
  }
}

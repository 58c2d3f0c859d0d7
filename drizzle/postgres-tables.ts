import { sql } from "drizzle-orm";
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  customType,
  doublePrecision,
  index,
  type PgColumnBuilderBase,
  type PgTableWithColumns,
  pgTable,
  primaryKey,
  type TableConfig,
} from "drizzle-orm/pg-core";
import * as catalog from "#storage/catalog/tables.ts";
import type { Column, Table } from "#storage/sql/table.ts";

/** `text` that orders and compares by code points, as SQLite does: lists are alike whatever the database's own collation. */
const text = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });

/** The catalog's tables as drizzle-kit reads them: each is an export, and all are described in `storage/catalog/tables.ts`. */
const made = new Map<string, PgTableWithColumns<TableConfig>>();

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

function toTable(table: Table) {
  const columns = Object.entries(table.columns);
  const own = pgTable(
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
            sql.raw(
              typeof spelled === "string" ? spelled : spelled((column) => `json_typeof(${column}::json)`),
            ),
          ),
        ),
      ];
    },
  );
  made.set(table.name, own);
  return own;
}

function toColumn(table: Table, property: string, column: Column): PgColumnBuilderBase {
  const { isNull, isUnique, references, default: given } = column;
  let builder = toBuilder(column);
  if (!isNull) builder = builder.notNull();
  if (isUnique === true) builder = builder.unique();
  if (given !== undefined) builder = builder.default(sql.raw(given));
  if (references !== undefined)
    builder = builder.references(
      () => idOf(references.table),
      references.cascades ? { onDelete: "cascade" } : {},
    );
  if (table.key.length === 1 && table.key[0] === property) builder = builder.primaryKey();
  return builder;
}

function idOf(name: string): AnyPgColumn {
  const id = made.get(name)?.["id"];
  if (id === undefined) throw new TypeError(`no table ${name} has an id`);
  return id;
}

function toBuilder({ name, type, isNumbered }: Column) {
  switch (type) {
    case "text":
      return text(name);
    case "integer": {
      const whole = bigint(name, { mode: "number" });
      return isNumbered === true ? whole.generatedByDefaultAsIdentity() : whole;
    }
    case "boolean":
      return boolean(name);
    case "real":
      return doublePrecision(name);
    default:
      return bytes(name);
  }
}

import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { toStored } from "#storage/postgres/connection/values.ts";

interface WriterOptions {
  readonly key?: readonly string[];
  /** What the database gives a value. */
  readonly generated?: readonly string[];
}

/** 20,000 prices take some 150 ms on two cores: so many stay far from the limit of a call, also on a busy server. */
const ROWS_PER_STATEMENT = 5_000;

/**
 * Prepares writing rows of a table in their order, by the names that the table has in TypeScript. They travel as one text of
 * JSON, since PostgreSQL binds 65,535 values at most; it is bound as text, since the driver would spell one that is bound as
 * JSON once more. With `key`, each row is written over the one that has it: two rows of one call must not have the same.
 */
export function createRowWriter(
  table: PgTable,
  { key = [], generated = [] }: WriterOptions = {},
): (sql: Pick<Sql, "run">, rows: readonly object[]) => Promise<void> {
  const columns = Object.entries(getTableColumns(table)).filter(
    ([property]) => !generated.includes(property),
  );
  const names = columns.map(([, { name }]) => `"${name}"`);
  const types = columns.map(([, column]) => {
    const type = column.getSQLType();
    return `"${column.name}" ${type === "bytea" ? "text" : type}`;
  });
  const values = columns.map(([, column]) =>
    column.getSQLType() === "bytea" ? `decode("${column.name}", 'hex')` : `"${column.name}"`,
  );
  const keyNames = columns.filter(([property]) => key.includes(property)).map(([, { name }]) => `"${name}"`);
  const others = names.filter((name) => !keyNames.includes(name));
  const conflict =
    key.length === 0
      ? ""
      : `ON CONFLICT (${keyNames.join(", ")}) DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(", ")}`;
  const text = `INSERT INTO "${getTableName(table)}" (${names.join(", ")})
    SELECT ${values.join(", ")} FROM ROWS FROM (json_to_recordset($1::text::json) AS (${types.join(", ")}))
    WITH ORDINALITY AS written (${names.join(", ")}, place) ORDER BY place ${conflict}`;
  const nameOf = new Map(columns.map(([property, { name }]) => [property, name]));
  const toCells = (row: object) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([property, cell]) => {
        const name = nameOf.get(property);
        return name === undefined ? [] : [[name, toJsonCell(cell)]];
      }),
    );
  return async (sql, rows) => {
    for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT)
      await sql.run(text, [JSON.stringify(rows.slice(start, start + ROWS_PER_STATEMENT).map(toCells))]);
  };
}

/** A lone surrogate is no text of PostgreSQL, nor is NUL; as bound values they arrive as U+FFFD as well. */
function toJsonCell(cell: unknown): unknown {
  if (typeof cell === "string") return toStored(cell);
  return cell instanceof Uint8Array ? cell.toHex() : cell;
}

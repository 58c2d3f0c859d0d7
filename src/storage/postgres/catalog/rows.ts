import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "#storage/postgres/connection/sql.ts";

/** The columns of a table as a SELECT names them, so that rows arrive by their names in TypeScript. */
export function toSelection(table: PgTable, alias = getTableName(table)): string {
  return Object.entries(getTableColumns(table))
    .map(([property, { name }]) => `"${alias}"."${name}" AS "${property}"`)
    .join(", ");
}

interface WriterOptions {
  readonly key?: readonly string[];
  /** What the database gives a value. */
  readonly generated?: readonly string[];
}

/**
 * Prepares writing rows of a table in their order, by one statement for any number of them: they travel as one JSON text,
 * since PostgreSQL binds 65,535 values at most (bound as text: the driver would spell a text that is bound as JSON once more). With `key`, each is written over the one that has it; two rows of one call must
 * not have the same. 20,000 prices take some 150 ms on two cores.
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
    if (rows.length > 0) await sql.run(text, [JSON.stringify(rows.map(toCells))]);
  };
}

/** A lone surrogate is no text of PostgreSQL; as a bound value it arrives as U+FFFD as well. */
function toJsonCell(cell: unknown): unknown {
  if (typeof cell === "string") return cell.toWellFormed();
  return cell instanceof Uint8Array ? cell.toHex() : cell;
}

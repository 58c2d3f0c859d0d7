import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { SCHEMA_SQL } from "#storage/sqlite/ledger/file/schema.ts";

const INSTALLATION = join(import.meta.dir, "../../../drizzle/postgres/0000_installation.sql");
/** The part of the migration that makes the ledger. */
async function readLedgerSql(): Promise<string> {
  const [, sql = ""] =
    /^-- The ledger\.(.*)^-- What replicas tell each other/ms.exec(await Bun.file(INSTALLATION).text()) ?? [];
  return sql;
}

/** What only one of the two has: a replica's spool and lane here, the one server of a file there. */
const ONLY_POSTGRES: { readonly [table: string]: readonly string[] } = {
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
const ONLY_SQLITE: { readonly [table: string]: readonly string[] } = {
  ledger_state: ["journal_offset", "journal_segment"],
  server_run: ["id", "lock_file", "number"],
};

type Columns = { readonly [table: string]: readonly string[] };

test("the ledger's tables and columns are those of usage.db, but for lanes, spools and the one server of a file", async () => {
  const postgres = parseColumns(await readLedgerSql());
  const sqlite = readColumns();
  expect(Object.keys(sqlite).length).toBeGreaterThan(15);
  expect(without(postgres, sqlite)).toEqual(ONLY_POSTGRES);
  expect(without(sqlite, postgres)).toEqual(ONLY_SQLITE);
});

test("every text of the ledger sorts by its bytes, as it does in usage.db", async () => {
  const texts = (await readLedgerSql()).split("\n").filter((line) => /\btext\b/.test(line));
  expect(texts.length).toBeGreaterThan(20);
  expect(texts.filter((line) => !line.includes('COLLATE "C"'))).toEqual([]);
});

function readColumns(): Columns {
  const database = new Database(":memory:");
  database.run(SCHEMA_SQL);
  const rows = database
    .query<{ table: string; column: string }, []>(
      `SELECT t.name AS "table", c.name AS "column" FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
       WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'`,
    )
    .all();
  database.close();
  return toColumns(rows);
}

/** The file has one column a line. */
function parseColumns(sql: string): Columns {
  const tables = [...sql.matchAll(/^CREATE TABLE (\w+) \(\n(.*?)^\)/gms)];
  return toColumns(
    tables.flatMap(([, table = "", body = ""]) =>
      [...body.matchAll(/^ {2}"?([a-z]\w*)"? /gm)].map(([, column = ""]) => ({ table, column })),
    ),
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

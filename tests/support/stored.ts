import { Database } from "bun:sqlite";
import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { SQL } from "bun";
import { engineEnvironment, isOnPostgres } from "./engine.ts";

/** The rows of a table of the catalog in the file `path`, or of the schema of its folder, as they are stored. */
export async function readStored(path: string, table: string): Promise<readonly unknown[]> {
  if (isOnPostgres) return await query(path, (schema) => `SELECT * FROM ${schema}.${table}`);
  const database = new Database(path, { readonly: true });
  const rows = database.query(`SELECT * FROM ${table}`).all();
  database.close();
  return rows;
}

/** Everything that the catalog holds, as bytes of its files or as text of all rows. */
export async function readWhole(path: string): Promise<string> {
  if (!isOnPostgres) {
    const files = [path, `${path}-wal`].filter((file) => existsSync(file));
    return files.map((file) => readFileSync(file, "latin1")).join("");
  }
  const tables = await query<{ name: string }>(
    path,
    (schema) => `SELECT tablename AS name FROM pg_tables WHERE schemaname = '${schema}'`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const rows = await query<{ text: string }>(
      path,
      (schema) => `SELECT t::text AS text FROM ${schema}.${name} t`,
    );
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join("\n");
}

async function query<Row>(path: string, toText: (schema: string) => string): Promise<Row[]> {
  const { PROXY_DATABASE_URL: url = "", PROXY_DATABASE_SCHEMA: schema = "" } = await engineEnvironment(
    dirname(path),
  );
  await using client = new SQL(url, { max: 1 });
  return [...(await client.unsafe<Row[]>(toText(schema)))];
}

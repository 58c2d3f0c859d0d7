import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
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

/** Changes the catalog in the file `path`, or in the schema of its folder, by hand. */
export async function changeStored(path: string, statements: readonly string[]): Promise<void> {
  if (isOnPostgres) {
    await query(path, (schema) => [`SET search_path = ${schema}`, ...statements].join(";"));
    return;
  }
  using database = new Database(path, { readwrite: true });
  for (const statement of statements) database.run(statement);
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

/** What catalog and ledger take, in bytes: the files of a data folder, or the tables that the migrations make in its schema. */
export async function measureStored(
  dataDir: string,
): Promise<{ catalog_bytes: number; usage_bytes: number }> {
  if (!isOnPostgres) {
    const sizeOf = (name: string) =>
      readdirSync(dataDir)
        .filter((file) => file.startsWith(name))
        .reduce((sum, file) => sum + statSync(join(dataDir, file)).size, 0);
    return { catalog_bytes: sizeOf("catalog.db"), usage_bytes: sizeOf("usage.db") };
  }
  const readMigration = (name: string) =>
    readFileSync(join(import.meta.dir, `../../drizzle/postgres/${name}.sql`), "utf8");
  const [, made = ""] =
    /^-- The ledger\.(.*)^-- What replicas tell each other/ms.exec(readMigration("0000_installation")) ?? [];
  const later = readMigration("0004_repricing");
  const ofLedger = new Set([...`${made}${later}`.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name));
  const tables = await query<{ name: string; bytes: string }>(
    join(dataDir, "catalog.db"),
    (schema) =>
      `SELECT tablename AS name, pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass) AS bytes
       FROM pg_tables WHERE schemaname = '${schema}'`,
  );
  const sizeOf = (isLedger: boolean) =>
    tables
      .filter(({ name }) => (ofLedger.has(name) || /^event_\d/.test(name)) === isLedger)
      .reduce((sum, { bytes }) => sum + Number(bytes), 0);
  return { catalog_bytes: sizeOf(false), usage_bytes: sizeOf(true) };
}

async function query<Row>(path: string, toText: (schema: string) => string): Promise<Row[]> {
  const { PROXY_DATABASE_URL: url = "", PROXY_DATABASE_SCHEMA: schema = "" } = await engineEnvironment(
    dirname(path),
  );
  await using client = new SQL(url, { max: 1 });
  return [...(await client.unsafe<Row[]>(toText(schema)))];
}

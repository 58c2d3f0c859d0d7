import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { readAsides } from "#storage/sqlite/catalog/catalog-file.ts";
import { createLogSync } from "#storage/sqlite/catalog/log-sync.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { makeFolder } from "../support/folder.ts";
import { createTestLog } from "../ledger/usage.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const LOG_BYTES_MAX = 64 * 1024;

let counter = 0;

/** A table of numbers behind a serving connection. */
function openTable() {
  counter += 1;
  const directory = join(folder.path, String(counter));
  mkdirSync(directory);
  const path = join(directory, "table.db");
  const client = openSqlite(path);
  client.run("CREATE TABLE number (value INTEGER PRIMARY KEY, text TEXT)");
  const { log, lines } = createTestLog();
  const logSync = createLogSync(client, { path, log, logBytesMax: LOG_BYTES_MAX });
  const insert = client.prepare("INSERT INTO number (text) VALUES (?)");
  let count = 0;
  const logBytes = () => statSync(`${path}-wal`).size;
  const add = async () => {
    insert.run("x".repeat(3_000));
    count += 1;
    await logSync.synced();
  };
  return {
    path,
    client,
    lines,
    logBytes,
    add,
    addUntil: async (isDone: () => boolean) => {
      while (!isDone()) await add();
    },
    count: () => count,
    async close() {
      insert.finalize();
      await logSync.close();
      client.close(true);
    },
  };
}

function countRows(path: string): number {
  const database = new Database(path, { readwrite: true });
  expect(database.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  const row = database.query<{ count: number }, []>("SELECT count(*) AS count FROM number").get();
  database.close();
  return row?.count ?? 0;
}

describe("the log of a serving connection", () => {
  test("is copied and begun anew again and again, which a server takes for no change by another program", async () => {
    const table = openTable();
    await table.add();
    const asides = readAsides(table.client);
    // The log may be begun anew without having been put aside between two looks at it.
    while (readAsides(table.client) < asides + 4) {
      await table.addUntil(() => table.logBytes() > LOG_BYTES_MAX);
      await table.addUntil(() => table.logBytes() < LOG_BYTES_MAX);
    }
    expect(table.lines).toEqual([]);
    await table.close();
    expect(countRows(table.path)).toBe(table.count());
  });

  test("grows while another connection reads from it, and is begun anew at a later attempt", async () => {
    const table = openTable();
    await table.add();
    const reader = new Database(table.path, { readonly: true });
    reader.run("BEGIN");
    expect(reader.query("SELECT count(*) AS count FROM number").get()).toEqual({ count: 1 });
    await table.addUntil(() => table.logBytes() > 3 * LOG_BYTES_MAX);
    expect(reader.query("SELECT count(*) AS count FROM number").get()).toEqual({ count: 1 });
    reader.run("COMMIT");
    reader.close();
    await table.addUntil(() => table.logBytes() < LOG_BYTES_MAX);
    await table.close();
    expect(countRows(table.path)).toBe(table.count());
  });

  test("is never copied into another file that has taken the name of the database", async () => {
    const table = openTable();
    await table.add();
    const moved = `${table.path}.moved`;
    renameSync(table.path, moved);
    copyFileSync(moved, table.path);
    const before = readFileSync(table.path);
    await table.addUntil(() => table.lines.some((line) => line.includes("could not be copied")));
    expect(Buffer.compare(readFileSync(table.path), before)).toBe(0);
    await table.close();
  });
});

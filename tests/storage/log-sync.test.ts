import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createConnection } from "#storage/sqlite/catalog/connection.ts";
import { createLogSync } from "#storage/sqlite/catalog/log-sync.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { makeFolder } from "../support/folder.ts";
import { createManualClock, createTestLog } from "../ledger/usage.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const LOG_BYTES_MAX = 64 * 1024;
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4096;

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
  const connection = createConnection(client, createManualClock(), { logSync });
  const insert = client.prepare("INSERT INTO number (text) VALUES (?)");
  let count = 0;
  const logBytes = () => statSync(`${path}-wal`).size;
  const add = async () => {
    await connection.write(() => insert.run("x".repeat(3_000)));
    count += 1;
  };
  return {
    path,
    lines,
    connection,
    logBytes,
    add,
    addUntil: async (isDone: () => boolean) => {
      while (!isDone()) await add();
    },
    count: () => count,
    async close() {
      insert.finalize();
      await connection.close();
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
  test("is copied and begun anew again and again, which no other reader of the connection takes for a change", async () => {
    const table = openTable();
    await table.add();
    const version = table.connection.dataVersion();
    for (let round = 0; round < 4; round += 1) {
      await table.addUntil(() => table.logBytes() > LOG_BYTES_MAX);
      await table.addUntil(() => table.logBytes() < LOG_BYTES_MAX);
    }
    expect(table.connection.dataVersion()).toBe(version);
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

  test("that was begun anew leaves a whole database, whatever of it a loss of power leaves on the disk", async () => {
    const table = openTable();
    await table.addUntil(() => table.logBytes() > LOG_BYTES_MAX);
    await table.addUntil(() => table.logBytes() < LOG_BYTES_MAX);
    const copied = table.count();
    await table.add();
    await table.add();
    const whole = readFileSync(`${table.path}-wal`);
    const database = readFileSync(table.path);
    const cuts = Array.from({ length: Math.ceil(whole.length / FRAME_BYTES) + 1 }, (_, index) =>
      Math.min(whole.length, HEADER_BYTES + index * FRAME_BYTES),
    );
    const left = join(folder.path, "left.db");
    const countLeft = (log: Buffer) => {
      writeFileSync(left, database);
      writeFileSync(`${left}-wal`, log);
      return countRows(left);
    };
    for (const cut of [0, ...cuts]) {
      const zeroed = Buffer.from(whole).fill(0, 0, cut);
      for (const log of [whole.subarray(0, cut), zeroed]) {
        const count = countLeft(log);
        expect(count).toBeGreaterThanOrEqual(copied - 1);
        expect(count).toBeLessThanOrEqual(copied + 2);
      }
    }
    expect(countLeft(whole)).toBe(copied + 2);
    await table.close();
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

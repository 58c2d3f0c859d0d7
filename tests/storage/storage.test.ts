import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSystemClock } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import { sqliteEngine } from "#storage/sqlite/engine.ts";
import { makeSchemaLater } from "../support/later-schema.ts";
import { createTempDir, silentLog, toSecrets } from "./support.ts";

const open = (folder: string) =>
  sqliteEngine.serve({
    database: { kind: "sqlite", path: join(folder, "catalog.db") },
    dataDir: folder,
    secrets: toSecrets(),
    ledgerSync: "interval",
    usageRetentionDays: null,
    clock: createSystemClock(),
    log: silentLog,
  });

test("a ledger that cannot be opened is a SetupError, and the catalog does not stay open", async () => {
  using dir = createTempDir();
  writeFileSync(join(dir.path, "usage.db"), "this is a letter, not a database".repeat(40));
  const cause: unknown = await open(dir.path).catch((thrown: unknown) => thrown);
  expect(cause).toBeInstanceOf(SetupError);
  // Its log is removed by the last connection that closes.
  expect(readdirSync(dir.path)).not.toContain("catalog.db-wal");
}, 20_000);

test("a second server is refused before it touches the catalog, which the first may know in an older form", async () => {
  using dir = createTempDir();
  const first = await open(dir.path);
  using _ = makeSchemaLater();
  const catalog = new Database(join(dir.path, "catalog.db"));
  const tables = () => catalog.query("SELECT name FROM sqlite_schema ORDER BY name").all();
  const before = tables();
  const cause: unknown = await open(dir.path).catch((thrown: unknown) => thrown);
  expect(cause).toBeInstanceOf(SetupError);
  expect(String(cause)).toContain("Another lockport serves from this folder");
  expect(tables()).toEqual(before);
  catalog.close();
  await first.close();
}, 20_000);

test.each([
  [
    "catalog.db",
    "UPDATE migration SET hash = 'of an earlier text'",
    "differs) and cannot be brought up to date: start the executable that made it",
  ],
  ["usage.db", "PRAGMA application_id = 7", "is not a usage database: move it away"],
])(
  "a %s of a schema that was never released is refused in one sentence and never reset",
  async (name, sql, sentence) => {
    using dir = createTempDir();
    await (await open(dir.path)).close();
    const path = join(dir.path, name);
    const database = new Database(path);
    database.run(sql);
    database.close(true);
    const before = readFileSync(path);
    const cause: unknown = await open(dir.path).catch((thrown: unknown) => thrown);
    expect(cause).toMatchObject({ name: "SetupError", kind: "configuration" });
    expect(String(cause)).toContain(sentence);
    expect(readFileSync(path).equals(before)).toBe(true);
  },
);

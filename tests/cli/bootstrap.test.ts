import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { MIGRATIONS as CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/migrations.ts";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { useFolder } from "../support/folder.ts";
import { countMigrations, makeSchemaLater } from "../support/later-schema.ts";
import { runLocal } from "./terminal.ts";

const folder = useFolder();

const run = (line: string) => runLocal(folder.data, line.split(" "));

describe("lockport admin bootstrap beside a server of an older version", () => {
  test("needs no more than to look where the admin has a key, and is refused where one has to be made", async () => {
    await run("admin bootstrap");
    const catalogPath = join(folder.data, "catalog.db");
    using _ = makeSchemaLater();
    const lock = lockDataFolder(folder.data);
    try {
      expect(await run("admin bootstrap --if-missing")).toEqual({
        code: 0,
        data: "",
        messages: "admin has a key already: nothing to do\n",
      });
      expect((await run("admin bootstrap")).messages).toContain("admin has a key already");
      const other = await run("admin bootstrap --name ada --if-missing");
      expect({ code: other.code, data: other.data }).toEqual({ code: 78, data: "" });
      expect(other.messages).toContain("A server of an older version runs");
      expect(countMigrations(catalogPath)).toBe(CATALOG_MIGRATIONS.length - 1);
    } finally {
      lock.release();
    }
    expect((await run("principal list")).data).not.toContain("ada");
  });
});

test("several that make the same admin at once all succeed, and there is one admin", async () => {
  await run("admin bootstrap");
  const done = await Promise.all(
    ["a", "b", "c"].map(() => run("admin bootstrap --principal ada --if-missing")),
  );
  expect(done.map(({ code, messages }) => ({ code, messages }))).toEqual(
    done.map(() => ({ code: 0, messages: expect.stringContaining("ada") })),
  );
  expect((await run("principal list")).data.match(/ada/g)).toHaveLength(1);
});

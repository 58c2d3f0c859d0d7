import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { createKeyring } from "#kernel/crypto.ts";
import { findCatalogAge, readCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import { createFakeClock, principal, toSecrets, silentLog } from "./support.ts";
import { makeSchemaLater } from "../support/later-schema.ts";

const read = (path: string) =>
  readCatalogDatabase({
    path,
    secrets: toSecrets(),
    clock: createFakeClock(),
    log: silentLog,
  });

describe("a catalog that is opened to be read", () => {
  for (const age of ["current", "older"] as const) {
    test(`of ${age} schema shows its rows and refuses every change`, async () => {
      await using engine = createSqliteEngine();
      const database = await engine.open();
      await database.identity.createPrincipal(principal("ann"), null);
      await database.close();
      using _ = age === "older" ? makeSchemaLater() : null;
      expect(findCatalogAge(engine.path)).toBe(age);

      const reading = await read(engine.path);
      expect(await reading.identity.countPrincipals()).toBe(1);
      const change = reading.identity.createPrincipal(principal("bob"), null);
      expect(await change.catch((cause: unknown) => String(cause))).toContain("readonly");
      await reading.close();
      expect(findCatalogAge(engine.path)).toBe(age);
      expect(readdirSync(dirname(engine.path))).toEqual(["catalog.db"]);
    });
  }

  test("keeps the way of writing that its file has", async () => {
    await using engine = createSqliteEngine();
    await (await engine.open()).close();
    const plain = new Database(engine.path);
    plain.run("PRAGMA journal_mode = DELETE");
    plain.close(true);
    await (await read(engine.path)).close();
    const after = new Database(engine.path);
    expect(after.query("PRAGMA journal_mode").values()).toEqual([["delete"]]);
    after.close(true);
  });

  test("is refused with another key, and when nothing is in it, and is not made when it is not there", async () => {
    await using engine = createSqliteEngine();
    const path = `${engine.path}.other`;
    expect(findCatalogAge(path)).toBe("none");
    expect(await read(path).catch(String)).toContain("SetupError");
    new Database(path, { create: true, readwrite: true }).close(true);
    expect(findCatalogAge(path)).toBe("none");
    expect(readdirSync(dirname(path)).filter((name) => name.includes("-wal"))).toEqual([]);
    await (await engine.open()).close();
    const foreign = {
      path: engine.path,
      secrets: createKeyring(new Uint8Array(32).fill(2)),
      clock: createFakeClock(),
      log: silentLog,
    };
    expect(await readCatalogDatabase(foreign).catch(String)).toContain("secret key is not the one");
  });
});

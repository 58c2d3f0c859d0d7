import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { createKeyring } from "#kernel/crypto.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import { createFakeClock, createTempDir, principal, runChild, toSecrets, silentLog } from "./support.ts";

const open = (path: string, secrets = toSecrets()) =>
  openCatalogDatabase({ path, secrets, clock: createFakeClock(), log: silentLog });

async function refusalOf(attempt: Promise<unknown>): Promise<SetupError> {
  const cause = await attempt.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(cause instanceof SetupError)) throw new Error("expected a SetupError", { cause });
  expect(cause.message).not.toContain("\n");
  return cause;
}

describe("a connection", () => {
  test("has the pragmas that the design counts on", () => {
    using dir = createTempDir();
    const db = openSqlite(join(dir.path, "a.db"));
    const value = (pragma: string) => db.query(`PRAGMA ${pragma}`).values()[0]?.[0];
    expect(value("journal_mode")).toBe("wal");
    expect(value("synchronous")).toBe(2);
    expect(value("foreign_keys")).toBe(1);
    expect(value("trusted_schema")).toBe(0);
    expect(value("temp_store")).toBe(2);
    db.close(true);
  });

  test("makes its files readable by their owner alone, whatever the umask", async () => {
    await using engine = createSqliteEngine();
    const umask = process.umask(0);
    try {
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
    } finally {
      process.umask(umask);
    }
    const files = readdirSync(dirname(engine.path));
    expect(files.sort()).toEqual(["catalog.db", "catalog.db-shm", "catalog.db-wal"]);
    for (const file of files) expect(statSync(join(dirname(engine.path), file)).mode & 0o777).toBe(0o600);
  });

  test("leaves one complete file behind when it is closed", async () => {
    await using engine = createSqliteEngine();
    const database = await engine.open();
    await database.identity.createPrincipal(principal("ann"), null);
    await database.identity.findPrincipalByName("ann");
    await database.close();
    expect(readdirSync(dirname(engine.path))).toEqual(["catalog.db"]);
  });
});

describe("a database that cannot be used", () => {
  test("an absent folder, and a folder in the file's place, are configuration errors that name the path", async () => {
    using dir = createTempDir();
    const absent = await refusalOf(open(join(dir.path, "absent", "catalog.db")));
    expect(absent.kind).toBe("configuration");
    expect(absent.message).toContain(join(dir.path, "absent", "catalog.db"));
    expect(existsSync(join(dir.path, "absent"))).toBe(false);
    mkdirSync(join(dir.path, "catalog.db"));
    expect((await refusalOf(open(join(dir.path, "catalog.db")))).kind).toBe("configuration");
  });

  test("a file that is no database is a configuration error and stays as it is", async () => {
    using dir = createTempDir();
    const path = join(dir.path, "catalog.db");
    writeFileSync(path, "this is a letter, not a database".repeat(40));
    const before = readFileSync(path);
    expect((await refusalOf(open(path))).kind).toBe("configuration");
    expect(readFileSync(path)).toEqual(before);
  });

  test("a damaged database is a configuration error, not a surprise under load", async () => {
    await using engine = createSqliteEngine();
    const database = await engine.open();
    for (let index = 0; index < 60; index += 1) {
      await database.identity.createPrincipal(principal(`${index}-${"x".repeat(100)}`), null);
    }
    await database.close();
    const bytes = readFileSync(engine.path);
    // Every page but the first, which holds the schema.
    bytes.fill(0xa5, 4096 * 4);
    writeFileSync(engine.path, bytes);
    const refusal = await refusalOf(open(engine.path));
    expect(refusal.kind).toBe("configuration");
    expect(refusal.message).toContain("damaged");
  });

  test("a secret key that is not the one it was made with is refused, and the right one still opens it", async () => {
    await using engine = createSqliteEngine();
    const database = await engine.open();
    await database.identity.createPrincipal(principal("ann"), null);
    await database.close();
    const refusal = await refusalOf(open(engine.path, createKeyring(new Uint8Array(32).fill(2))));
    expect(refusal.kind).toBe("configuration");
    expect(refusal.message).toContain("secret key is not the one");
    expect(await (await engine.open()).identity.countPrincipals()).toBe(1);
  });

  test("a file or folder without write access is a permission error, also for a server that would only read", async () => {
    await using engine = createSqliteEngine();
    const folder = dirname(engine.path);
    await (await engine.open()).close();
    const run = async (fileMode: number, folderMode: number, path: string) => {
      chmodSync(engine.path, fileMode);
      chmodSync(folder, folderMode);
      const output = await runChild("as-nobody", path);
      chmodSync(folder, 0o700);
      return output;
    };
    expect(await run(0o444, 0o777, engine.path)).toStartWith("SetupError permission:");
    // The file may be written, but its log cannot be made.
    expect(await run(0o666, 0o555, engine.path)).toStartWith("SetupError permission:");
    expect(await run(0o666, 0o555, join(folder, "new.db"))).toStartWith("SetupError permission:");
    expect(await run(0o666, 0o777, engine.path)).toBe("done");
  }, 20_000);
});

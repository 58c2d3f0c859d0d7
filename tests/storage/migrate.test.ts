import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { Migration } from "#storage/sql/migration.ts";
import { migrate } from "#storage/sqlite/file/migrate.ts";
import { CATALOG_MIGRATIONS } from "#storage/sqlite/catalog/catalog-database.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import { apiKey, createTempDir, principal, relayToken, spawnChild, START_US } from "./support.ts";

const FIRST: Migration = {
  name: "0000_first",
  sql: "CREATE TABLE owner (id INTEGER PRIMARY KEY);\n--> statement-breakpoint\nCREATE TABLE pet (owner INTEGER REFERENCES owner(id) ON DELETE CASCADE);",
};
/** Rebuilds a table as drizzle-kit does: with foreign keys on, the DROP would delete every pet. */
const SECOND: Migration = {
  name: "0001_named",
  sql: `CREATE TABLE new_owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT '');
    INSERT INTO new_owner (id) SELECT id FROM owner; DROP TABLE owner; ALTER TABLE new_owner RENAME TO owner;`,
};

interface Scene extends Disposable {
  readonly path: string;
  readonly db: Database;
  migrate(migrations: readonly Migration[]): ReturnType<typeof migrate>;
  refusal(migrations: readonly Migration[]): string;
  tables(): string[];
}

function createScene(): Scene {
  const dir = createTempDir();
  const path = join(dir.path, "a.db");
  const db = openSqlite(path);
  const run = (migrations: readonly Migration[]) => migrate(db, migrations, { path, nowUs: START_US });
  return {
    path,
    db,
    migrate: run,
    refusal(migrations) {
      try {
        run(migrations);
      } catch (cause) {
        if (cause instanceof SetupError) return cause.message;
        throw cause;
      }
      throw new Error("it was not refused");
    },
    tables: () =>
      db
        .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .all()
        .map((row) => row.name),
    [Symbol.dispose]() {
      db.close(true);
      dir[Symbol.dispose]();
    },
  };
}

describe("migrations", () => {
  test("make a new database without a backup, and a second start changes nothing", () => {
    using scene = createScene();
    expect(scene.migrate([FIRST, SECOND])).toEqual({
      applied: ["0000_first", "0001_named"],
      backupPath: null,
    });
    expect(scene.migrate([FIRST, SECOND])).toEqual({ applied: [], backupPath: null });
    expect(scene.tables()).toEqual(["owner", "pet", "schema_migrations"]);
    expect(scene.db.query("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1 });
  });

  test("bring an older database up to date, keep its rows, and leave a checked private copy of what was before", () => {
    using scene = createScene();
    scene.migrate([FIRST]);
    scene.db.run("INSERT INTO owner VALUES (1); INSERT INTO pet VALUES (1);");
    const { applied, backupPath } = scene.migrate([FIRST, SECOND]);
    expect(applied).toEqual(["0001_named"]);
    expect(scene.db.query("SELECT owner, name FROM pet JOIN owner ON owner.id = pet.owner").all()).toEqual([
      { owner: 1, name: "" },
    ]);

    expect(backupPath).toBe(`${scene.path}.before-0001_named`);
    expect(statSync(backupPath!).mode & 0o777).toBe(0o600);
    const backup = new Database(backupPath!, { readonly: true });
    expect(backup.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(backup.query("SELECT * FROM owner").all()).toEqual([{ id: 1 }]);
    expect(backup.query("SELECT * FROM pet").all()).toEqual([{ owner: 1 }]);
    expect(backup.query("SELECT name FROM schema_migrations").all()).toEqual([{ name: "0000_first" }]);
    backup.close(true);
  });

  test("that fail in the middle leave the database as it was, and can be tried again", () => {
    using scene = createScene();
    scene.migrate([FIRST]);
    const broken = { name: "0002_broken", sql: "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1);" };
    expect(() => scene.migrate([FIRST, SECOND, broken])).toThrow();
    expect(scene.tables()).toEqual(["owner", "pet", "schema_migrations"]);
    expect(scene.db.query("SELECT name FROM pragma_table_info('owner')").all()).toEqual([{ name: "id" }]);
    expect(scene.db.inTransaction).toBe(false);
    expect(scene.db.query("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1 });
    expect(scene.migrate([FIRST, SECOND]).applied).toEqual(["0001_named"]);
  });

  test("that would leave a row without what it refers to are undone", () => {
    using scene = createScene();
    scene.migrate([FIRST]);
    scene.db.run("INSERT INTO owner VALUES (1); INSERT INTO pet VALUES (1);");
    const orphaning = { name: "0001_orphans", sql: "DELETE FROM owner" };
    expect(scene.refusal([FIRST, orphaning])).toContain("missing");
    expect(scene.db.query("SELECT * FROM owner").all()).toEqual([{ id: 1 }]);
  });

  test("refuse a schema of a newer version", () => {
    using scene = createScene();
    scene.migrate([FIRST, SECOND]);
    expect(scene.refusal([FIRST])).toContain("newer version");
    expect(scene.tables()).toEqual(["owner", "pet", "schema_migrations"]);
  });

  test("refuse a database whose applied migration is not the one of this version", () => {
    using scene = createScene();
    scene.migrate([FIRST]);
    expect(scene.refusal([{ ...FIRST, sql: `${FIRST.sql} ` }])).toContain("0000_first");
    expect(scene.refusal([{ ...FIRST, name: "0000_renamed" }, SECOND])).toContain("0000_first");
    scene.db.run("UPDATE schema_migrations SET hash = 'tampered'");
    expect(scene.refusal([FIRST, SECOND])).toContain("0000_first");
    expect(scene.tables()).not.toContain("new_owner");
  });

  test("are the same with CRLF line ends", () => {
    using scene = createScene();
    scene.migrate([FIRST]);
    expect(scene.migrate([{ ...FIRST, sql: FIRST.sql.replaceAll("\n", "\r\n") }]).applied).toEqual([]);
  });

  test("do not begin when no backup can be made", () => {
    using scene = createScene();
    scene.migrate([FIRST]);
    // A folder where the copy would be laid down: the rename fails.
    const target = `${scene.path}.before-0001_named`;
    mkdirSync(target);
    writeFileSync(join(target, "occupied"), "");
    expect(scene.refusal([FIRST, SECOND])).toContain("backup");
    expect(scene.db.query("SELECT name FROM pragma_table_info('owner')").all()).toEqual([{ name: "id" }]);
    expect(existsSync(`${target}.unfinished`)).toBe(false);
  });

  test("are applied once by four processes that start at the same moment", async () => {
    await using engine = createSqliteEngine();
    const children = Array.from({ length: 4 }, () => spawnChild("open", engine.path));
    const outputs = children.map(async (child) => {
      const reader = child.stdout.getReader();
      const decoder = new TextDecoder();
      let text = decoder.decode((await reader.read()).value);
      return {
        async start() {
          void child.stdin.write("go\n");
          await child.stdin.end();
        },
        async rest() {
          for (let part = await reader.read(); !part.done; part = await reader.read())
            text += decoder.decode(part.value);
          await child.exited;
          return text.trim();
        },
      };
    });
    const ready = await Promise.all(outputs);
    await Promise.all(ready.map((child) => child.start()));
    const results = await Promise.all(ready.map((child) => child.rest()));
    expect(results).toEqual(Array.from({ length: 4 }, () => "ready\ndone"));

    const raw = engine.openRaw();
    expect(raw.query("SELECT count(*) AS applied FROM schema_migrations").get()).toEqual({
      applied: CATALOG_MIGRATIONS.length,
    });
    expect(raw.query("SELECT count(*) AS values_ FROM meta").get()).toEqual({ values_: 1 });
    expect(raw.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  }, 30_000);
});

describe("the catalog's migrations", () => {
  test("leave no orphan behind and pass every check of the file", async () => {
    await using engine = createSqliteEngine();
    const { identity } = await engine.open();
    await identity.createPrincipal(principal("ann"), null);
    await identity.keys.create(apiKey("one", "principal-ann"), null);
    await identity.relayTokens.create(relayToken("one", "principal-ann"), null);
    await identity.createPrincipalForSubject(principal("bob"), {
      issuer: "https://idp.example",
      subject: "1",
    });
    await identity.deletePrincipal("principal-ann", null);
    await identity.deletePrincipal("principal-bob", null);
    const raw = engine.openRaw();
    expect(raw.query("PRAGMA foreign_key_check").all()).toEqual([]);
    expect(raw.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    for (const table of ["api_keys", "relay_tokens", "oidc_subject", "sessions"]) {
      expect(raw.query(`SELECT count(*) AS rows FROM ${table}`).get()).toEqual({ rows: 0 });
    }
  });
});

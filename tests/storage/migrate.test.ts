import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { migrate as migratePostgres } from "#storage/postgres/connection/migrate.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Migration } from "#storage/sql/migration.ts";
import { MIGRATIONS as ON_POSTGRES } from "#storage/postgres/connection/migrations.ts";
import { MIGRATIONS as ON_SQLITE } from "#storage/sqlite/catalog/migrations.ts";
import { migrate as migrateSqlite } from "#storage/sqlite/file/migrate.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { postgresMissing, sharedPostgres, type TestSchema } from "../support/postgres.ts";
import { createSqliteEngine } from "./engines/sqlite.ts";
import { failureOf } from "./postgres/support.ts";
import { createTempDir, silentLog, spawnChild } from "./support.ts";

const FIRST: Migration = {
  name: "0000_first",
  sql: `CREATE TABLE owner (id INTEGER PRIMARY KEY);
    CREATE TABLE pet (owner INTEGER REFERENCES owner(id) ON DELETE CASCADE);`,
};
const SECOND: Migration = {
  name: "0001_named",
  sql: "ALTER TABLE owner ADD COLUMN name TEXT NOT NULL DEFAULT ''",
};

/** A database in which nothing is yet. */
interface Scene extends AsyncDisposable {
  /** The names of the migrations that were applied. */
  migrate(migrations: readonly Migration[]): Promise<readonly string[]>;
  /** A statement beside ours. */
  query(sql: string): Promise<unknown[]>;
  /** The tables, and the columns of `owner`. */
  look(): Promise<{ tables: unknown[]; columns: unknown[] }>;
}

interface SqliteScene extends Scene {
  readonly path: string;
  readonly db: Database;
}

async function createSqliteScene(): Promise<SqliteScene> {
  const dir = createTempDir();
  const path = join(dir.path, "a.db");
  const db = openSqlite(path);
  const query = async (sql: string): Promise<unknown[]> => db.query(sql).all();
  return {
    path,
    db,
    migrate: async (migrations) => migrateSqlite(db, migrations, { path }).applied,
    query,
    look: async () => ({
      tables: await query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"),
      columns: await query("SELECT name FROM pragma_table_info('owner')"),
    }),
    async [Symbol.asyncDispose]() {
      db.close(true);
      dir[Symbol.dispose]();
    },
  };
}

interface PostgresScene extends Scene {
  readonly target: TestSchema;
}

async function createPostgresScene(): Promise<PostgresScene> {
  const server = await sharedPostgres();
  const target = server.schema();
  const ofSchema = (columns: string, rest: string) =>
    server.sql<object>(
      `SELECT ${columns} AS name FROM information_schema.${rest} AND table_schema = '${target.schema}' ORDER BY 1`,
    );
  return {
    target,
    migrate: (migrations) => withConnection(target, (postgres) => migratePostgres(postgres, migrations)),
    async query(sql) {
      await server.sql(`CREATE SCHEMA IF NOT EXISTS ${target.schema}; SET search_path = ${target.schema}`);
      return server.sql(sql);
    },
    look: async () => ({
      tables: await ofSchema("table_name", "tables WHERE true"),
      columns: await ofSchema("column_name", "columns WHERE table_name = 'owner'"),
    }),
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}

async function withConnection<R>(
  target: { readonly url: string; readonly schema: string },
  step: (postgres: Postgres) => Promise<R>,
): Promise<R> {
  const options = { target, purpose: "test", connectionsMax: 1, callMsMax: 5_000, log: silentLog };
  const postgres = await openPostgres(options);
  try {
    return await step(postgres);
  } finally {
    await postgres.close();
  }
}

describe.each([
  ["SQLite", createSqliteScene, false],
  ["PostgreSQL", createPostgresScene, postgresMissing !== null],
] as const)("migrations on %s", (_, createScene: () => Promise<Scene>, isMissing) => {
  const promise = test.skipIf(isMissing);

  promise("make a new database, bring an older one up to date with its rows, and are done once", async () => {
    await using scene = await createScene();
    expect(await scene.migrate([FIRST])).toEqual(["0000_first"]);
    await scene.query("INSERT INTO owner VALUES (1)");
    await scene.query("INSERT INTO pet VALUES (1)");
    expect(await scene.migrate([FIRST, SECOND])).toEqual(["0001_named"]);
    expect(await scene.migrate([FIRST, SECOND])).toEqual([]);
    expect(await scene.query("SELECT owner, name FROM pet JOIN owner ON owner.id = pet.owner")).toEqual([
      { owner: 1, name: "" },
    ]);
    expect((await scene.look()).tables).toEqual(["migration", "owner", "pet"].map((name) => ({ name })));
  });

  promise("that fail in the middle leave the database as it was, and can be tried again", async () => {
    await using scene = await createScene();
    const broken = {
      name: "0002_broken",
      sql: "CREATE TABLE half (a bigint); INSERT INTO nowhere VALUES (1);",
    };
    expect(await failureOf(scene.migrate([FIRST, SECOND, broken]))).not.toBeNull();
    expect(await scene.look()).toEqual({ tables: [], columns: [] });
    await scene.migrate([FIRST]);
    expect(await failureOf(scene.migrate([FIRST, SECOND, broken]))).not.toBeNull();
    expect((await scene.look()).columns).toEqual([{ name: "id" }]);
    expect(await scene.migrate([FIRST, SECOND])).toEqual(["0001_named"]);
  });

  promise.each([
    ["of a newer version", [FIRST, SECOND], [FIRST], "newer version"],
    ["whose migration has another text", [FIRST], [{ ...FIRST, sql: `${FIRST.sql} ` }, SECOND], "0000_first"],
    ["whose migration has another name", [FIRST], [{ ...FIRST, name: "0000_other" }, SECOND], "0000_first"],
  ])("refuse a database %s, and leave it as it is", async (_case, before, now, told) => {
    await using scene = await createScene();
    await scene.migrate(before);
    const found = await scene.look();
    const refusal = await failureOf(scene.migrate(now));
    expect(refusal).toBeInstanceOf(SetupError);
    expect(refusal).toMatchObject({ kind: "configuration", message: expect.stringContaining(told) });
    expect(await scene.look()).toEqual(found);
  });

  promise("refuse a database of another program, and leave it as it is", async () => {
    await using scene = await createScene();
    await scene.query("CREATE TABLE letters (body TEXT)");
    const refusal = await failureOf(scene.migrate([FIRST]));
    expect(refusal).toBeInstanceOf(SetupError);
    expect(refusal).toMatchObject({ message: expect.stringContaining("another program") });
    expect((await scene.look()).tables).toEqual([{ name: "letters" }]);
  });

  promise("are the same with CRLF line ends", async () => {
    await using scene = await createScene();
    await scene.migrate([FIRST]);
    expect(await scene.migrate([{ ...FIRST, sql: FIRST.sql.replaceAll("\n", "\r\n") }])).toEqual([]);
  });
});

describe("migrations of a file", () => {
  /** Rebuilds a table as drizzle-kit does: with foreign keys on, the DROP would delete every pet. */
  const REBUILT: Migration = {
    name: "0001_rebuilt",
    sql: `CREATE TABLE new_owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT '');
      INSERT INTO new_owner (id) SELECT id FROM owner; DROP TABLE owner; ALTER TABLE new_owner RENAME TO owner;`,
  };

  test("keep the rows of a table that refers to a rebuilt one, and leave a checked private copy of what was before", async () => {
    await using scene = await createSqliteScene();
    expect(migrateSqlite(scene.db, [FIRST], scene).backupPath).toBeNull();
    scene.db.run("INSERT INTO owner VALUES (1); INSERT INTO pet VALUES (1);");
    const backupPath = migrateSqlite(scene.db, [FIRST, REBUILT], scene).backupPath!;
    expect(await scene.query("SELECT owner, name FROM pet, owner")).toEqual([{ owner: 1, name: "" }]);
    expect(await scene.query("PRAGMA foreign_keys")).toEqual([{ foreign_keys: 1 }]);

    expect(backupPath).toBe(`${scene.path}.before-0001_rebuilt`);
    expect(statSync(backupPath).mode & 0o777).toBe(0o600);
    const backup = new Database(backupPath, { readonly: true });
    expect(backup.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(backup.query("SELECT * FROM owner, pet").all()).toEqual([{ id: 1, owner: 1 }]);
    expect(backup.query("SELECT name FROM migration").all()).toEqual([{ name: "0000_first" }]);
    backup.close(true);
  });

  test("that would leave a row without what it refers to are undone", async () => {
    await using scene = await createSqliteScene();
    await scene.migrate([FIRST]);
    scene.db.run("INSERT INTO owner VALUES (1); INSERT INTO pet VALUES (1);");
    const refusal = await failureOf(
      scene.migrate([FIRST, { name: "0001_orphans", sql: "DELETE FROM owner" }]),
    );
    expect(refusal).toMatchObject({ message: expect.stringContaining("missing") });
    expect(await scene.query("SELECT * FROM owner")).toEqual([{ id: 1 }]);
    expect(await scene.query("PRAGMA foreign_keys")).toEqual([{ foreign_keys: 1 }]);
  });

  test("do not begin when no backup can be made", async () => {
    await using scene = await createSqliteScene();
    await scene.migrate([FIRST]);
    // A folder where the copy would be laid down: the rename fails.
    const target = `${scene.path}.before-0001_named`;
    mkdirSync(target);
    writeFileSync(join(target, "occupied"), "");
    const refusal = await failureOf(scene.migrate([FIRST, SECOND]));
    expect(refusal).toMatchObject({ message: expect.stringContaining("backup") });
    expect((await scene.look()).columns).toEqual([{ name: "id" }]);
    expect(existsSync(`${target}.unfinished`)).toBe(false);
  });

  test("are applied once by four processes that start at the same moment", async () => {
    await using engine = createSqliteEngine();
    const children = Array.from({ length: 4 }, () => spawnChild("open", engine.path));
    const readers = children.map(({ stdout }) => stdout.pipeThrough(new TextDecoderStream()).getReader());
    expect(await Promise.all(readers.map(async (reader) => (await reader.read()).value))).toEqual(
      children.map(() => "ready\n"),
    );
    for (const { stdin } of children) {
      void stdin.write("go\n");
      void stdin.end();
    }
    expect(await Promise.all(readers.map(async (reader) => (await reader.read()).value))).toEqual(
      children.map(() => "done\n"),
    );
    const raw = engine.openRaw();
    expect(raw.query("SELECT count(*) AS secrets FROM meta").get()).toEqual({ secrets: 1 });
    expect(raw.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  }, 30_000);
});

describe.skipIf(postgresMissing !== null)("migrations of a schema", () => {
  test("are applied once by four processes that start at the same moment", async () => {
    await using scene = await createPostgresScene();
    const four = () => Promise.all([1, 2, 3, 4].map(() => scene.migrate([FIRST])));
    expect((await four()).filter((names) => names.length > 0)).toEqual([["0000_first"]]);
  });

  test("say which one failed, and why, without a value", async () => {
    await using scene = await createPostgresScene();
    const broken = { name: "0001_broken", sql: "SELECT 1 / 0" };
    expect(await failureOf(scene.migrate([FIRST, broken]))).toMatchObject({
      name: "SetupError",
      message: "The migration 0001_broken failed (SQLSTATE 22012); nothing was changed.",
    });
  });

  test("are not needed of a role without the right to make anything, which is refused an older schema by name of the right", async () => {
    await using scene = await createPostgresScene();
    const { schema } = scene.target;
    const server = await sharedPostgres();
    const role = `${schema}_role`;
    const url = server.urlOf(role, "role-password");
    await scene.migrate([FIRST]);
    await server.sql(
      `CREATE ROLE ${role} LOGIN PASSWORD 'role-password'; GRANT USAGE ON SCHEMA ${schema} TO ${role};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    );
    const asRole = (migrations: readonly Migration[], of = schema) =>
      withConnection({ url, schema: of }, (postgres) => migratePostgres(postgres, migrations));
    expect(await asRole([FIRST])).toEqual([]);
    const older = await failureOf(asRole([FIRST, SECOND]));
    const absent = await failureOf(asRole([FIRST], "absent"));
    for (const refusal of [older, absent])
      expect(refusal).toMatchObject({ name: "SetupError", kind: "permission" });
    expect(String(older)).not.toContain("role-password");
    await server.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
});

describe.each([
  { engine: "SQLite", createScene: createSqliteScene, migrations: ON_SQLITE },
  { engine: "PostgreSQL", createScene: createPostgresScene, migrations: ON_POSTGRES },
])("the audit log of before changes were kept, on $engine", ({ engine, createScene, migrations }) => {
  test.skipIf(engine === "PostgreSQL" && postgresMissing !== null)(
    "keeps its entries, whose change is null",
    async () => {
      await using scene = await createScene();
      const added = migrations.findIndex(({ name }) => name.endsWith("_audit_change"));
      await scene.migrate(migrations.slice(0, added));
      await scene.query(
        `INSERT INTO audit_events (at_us, actor_principal_id, action, target_kind, target_ref)
         VALUES (1, 'p', 'key.create', 'api_key', 'k')`,
      );
      await scene.migrate(migrations);
      expect(await scene.query("SELECT target_ref, change FROM audit_events")).toEqual([
        { target_ref: "k", change: null },
      ]);
    },
  );
});

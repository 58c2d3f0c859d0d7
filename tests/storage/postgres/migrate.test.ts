import { describe, expect, test } from "bun:test";
import { SetupError } from "#kernel/errors.ts";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { postgresMissing, sharedPostgres, type TestSchema, type TestServer } from "../../support/postgres.ts";
import { silentLog } from "../support.ts";
import { failureOf } from "./support.ts";

const FIRST = { name: "0000_first", sql: "CREATE TABLE first (a bigint); CREATE TABLE also (a bigint)" };
const SECOND = { name: "0001_second", sql: "ALTER TABLE first ADD COLUMN b text" };

describe.skipIf(postgresMissing !== null)("the schema of PostgreSQL", () => {
  test("four processes that start at once on an older schema apply what is missing once", async () => {
    await using made = await makeSchema();
    await made.migrate([FIRST]);
    const four = [1, 2, 3, 4].map(() =>
      withConnection(made.target, (postgres) => migrate(postgres, [FIRST, SECOND])),
    );
    expect((await Promise.all(four)).filter((names) => names.length > 0)).toEqual([["0001_second"]]);
    expect(await made.applied()).toEqual(["0000_first", "0001_second"]);
  });

  test("a newer schema is refused and stays as it is", async () => {
    await using made = await makeSchema();
    await made.migrate([FIRST, SECOND]);
    expect(await failureOf(made.migrate([FIRST]))).toMatchObject({
      name: "SetupError",
      kind: "configuration",
      message: expect.stringContaining("newer version"),
    });
    expect(await made.applied()).toEqual(["0000_first", "0001_second"]);
  });

  test("a migration whose text was edited after it was applied is refused", async () => {
    await using made = await makeSchema();
    await made.migrate([FIRST]);
    const edited = { ...FIRST, sql: `${FIRST.sql};` };
    const failure = await failureOf(made.migrate([edited, SECOND]));
    expect(failure).toMatchObject({ name: "SetupError", kind: "configuration" });
    expect(await made.applied()).toEqual(["0000_first"]);
  });

  test("a checkout with CRLF line ends makes the same schema", async () => {
    await using made = await makeSchema();
    await made.migrate([{ ...FIRST, sql: "CREATE TABLE first\n(a bigint)" }]);
    expect(await made.migrate([{ ...FIRST, sql: "CREATE TABLE first\r\n(a bigint)" }])).toEqual([]);
  });

  test("a migration that fails leaves nothing, not even the schema", async () => {
    await using made = await makeSchema();
    const broken = { name: "0001_broken", sql: "CREATE TABLE other (a bigint); SELECT 1 / 0" };
    const failure = await failureOf(made.migrate([FIRST, broken]));
    expect(failure).toMatchObject({
      name: "SetupError",
      message: "The migration 0001_broken failed (SQLSTATE 22012); nothing was changed.",
    });
    expect(
      await made.server.sql("SELECT 1 FROM pg_namespace WHERE nspname = $1", [made.target.schema]),
    ).toEqual([]);
  });

  test("a schema with the tables of another program is refused and stays as it is", async () => {
    await using made = await makeSchema();
    await made.server.sql(`CREATE SCHEMA ${made.target.schema} CREATE TABLE theirs (a bigint)`);
    const failure = await failureOf(made.migrate());
    expect(failure).toMatchObject({
      name: "SetupError",
      message: expect.stringContaining("another program"),
    });
  });

  test("a role without the right to make anything serves a current schema, and is refused by name of the right on an older one", async () => {
    await using made = await makeSchema();
    const { schema } = made.target;
    const role = `${schema}_role`;
    const url = made.server.urlOf(role, "role-password");
    await made.migrate([FIRST]);
    await made.server.sql(
      `CREATE ROLE ${role} LOGIN PASSWORD 'role-password'; GRANT USAGE ON SCHEMA ${schema} TO ${role};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    );
    const asRole = (migrations: readonly (typeof FIRST)[]) =>
      withConnection({ url, schema }, (postgres) => migrate(postgres, migrations));
    expect(await asRole([FIRST])).toEqual([]);
    const older = await failureOf(asRole([FIRST, SECOND]));
    expect(older).toMatchObject({ name: "SetupError", kind: "permission" });
    expect(
      await failureOf(withConnection({ url, schema: "absent" }, (postgres) => migrate(postgres))),
    ).toMatchObject({
      name: "SetupError",
      kind: "permission",
    });
    expect(older instanceof SetupError && older.message).not.toContain("role-password");
    await made.server.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
});

async function makeSchema() {
  const server: TestServer = await sharedPostgres();
  const target: TestSchema = server.schema();
  return {
    server,
    target,
    migrate: (migrations?: readonly (typeof FIRST)[]) =>
      withConnection(target, (postgres) => migrate(postgres, migrations)),
    async applied(): Promise<string[]> {
      const rows = await server.sql<{ name: string }>(
        `SELECT name FROM ${target.schema}.migration ORDER BY name`,
      );
      return rows.map(({ name }) => name);
    },
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}

async function withConnection<R>(
  target: { readonly url: string; readonly schema: string },
  step: (postgres: Postgres, schema: string) => Promise<R>,
): Promise<R> {
  const postgres = await openPostgres({
    target,
    purpose: "test",
    connectionsMax: 1,
    callMsMax: 5_000,
    log: silentLog,
  });
  try {
    return await step(postgres, target.schema);
  } finally {
    await postgres.close();
  }
}

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { runLocal } from "../../cli/terminal.ts";
import { migrate } from "#storage/postgres/connection/migrate.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { examineDatabase } from "#storage/postgres/examine.ts";
import { SHARED_SETTINGS } from "../../replicas/site.ts";
import { executable } from "../../support/executable.ts";
import { makeFolder } from "../../support/folder.ts";
import { postgresMissing, sharedPostgres, type TestSchema, type TestServer } from "../../support/postgres.ts";
import { startProcess } from "../../support/process.ts";
import { createFakeClock, silentLog } from "../support.ts";
import { failureOf } from "./support.ts";

setDefaultTimeout(60_000);
const root = join(import.meta.dir, "../../..");
const [OWNER_PASSWORD, SERVER_PASSWORD] = ["one password", "another password"];

describe.skipIf(postgresMissing !== null)("the rights that SECURITY.md gives", () => {
  let server: TestServer;
  let place: TestSchema;
  beforeAll(async () => {
    server = await sharedPostgres();
    place = server.schema();
    const text = await Bun.file(join(root, "SECURITY.md")).text();
    const [, statements = ""] = /```sql\n([\s\S]*?)```/.exec(text) ?? [];
    expect(statements).toContain("CREATE ROLE lockport_server");
    await server.sql(statements.replaceAll("SCHEMA lockport", `SCHEMA ${place.schema}`));
  });
  afterAll(async () => {
    await place[Symbol.asyncDispose]();
    await server.sql(
      "DROP OWNED BY lockport_owner, lockport_server; DROP ROLE lockport_owner, lockport_server",
    );
  });

  const urlOf = (role: string, password: string) => server.urlOf(role, encodeURIComponent(password));

  test("are asked for in one sentence by a start whose role may not use the schema, or whose database takes no connections", async () => {
    const elsewhere = server.schema();
    await server.sql(
      `CREATE SCHEMA ${elsewhere.schema}; CREATE TABLE ${elsewhere.schema}.migration (name text, sha256 text)`,
    );
    await server.sql("CREATE DATABASE closed ALLOW_CONNECTIONS false");
    const url = urlOf("lockport_server", SERVER_PASSWORD);
    const run = (of: string) =>
      runLocal("/nowhere", ["migrate"], {
        env: { PROXY_DATABASE_URL: of, PROXY_DATABASE_SCHEMA: elsewhere.schema },
      });
    try {
      const unseen = await run(url);
      expect(unseen.code).toBe(77);
      expect(unseen.messages).toContain("The PostgreSQL role lacks a right");
      const closed = await run(url.replace(/postgres$/, "closed"));
      expect(closed.code).toBe(78);
      expect(closed.messages).toContain("PostgreSQL makes no connection (SQLSTATE 55000)");
    } finally {
      await server.sql("DROP DATABASE closed");
      await elsewhere[Symbol.asyncDispose]();
    }
  });

  test("to make the tables is what an empty schema asks of a role that does not own it", async () => {
    await using empty = server.schema();
    await server.sql(
      `CREATE SCHEMA ${empty.schema}; GRANT USAGE ON SCHEMA ${empty.schema} TO lockport_server`,
    );
    const examine = async (url: string) => {
      const database = { kind: "postgres", graceMs: 30_000, url, schema: empty.schema } as const;
      return (await examineDatabase({ database, clock: createFakeClock(), log: silentLog })).lackingRights;
    };
    expect(await examine(empty.url)).toEqual([]);
    expect(await examine(urlOf("lockport_server", SERVER_PASSWORD))).toEqual([
      "CREATE on the database or the schema",
    ]);
  });

  test("let the owner make the schema, and a replica serve it without being able to change a table", async () => {
    const env = {
      PROXY_DATABASE_URL: urlOf("lockport_owner", OWNER_PASSWORD),
      PROXY_DATABASE_SCHEMA: place.schema,
    };
    const made = await runLocal("/nowhere", ["migrate"], { env });
    expect(made).toMatchObject({ code: 0, data: "" });

    const target = { url: urlOf("lockport_server", SERVER_PASSWORD), schema: place.schema };
    const database = { kind: "postgres", graceMs: 30_000, ...target } as const;
    const { schema, lackingRights } = await examineDatabase({
      database,
      clock: createFakeClock(),
      log: silentLog,
    });
    expect({ schema, lackingRights }).toEqual({ schema: "current", lackingRights: [] });

    const options = { target, purpose: "test", connectionsMax: 1, callMsMax: 5_000, log: silentLog };
    const postgres = await openPostgres(options);
    try {
      expect(await migrate(postgres)).toEqual([]);
      await postgres.run(
        "INSERT INTO event (id, lane, combination, manner, duration_us) VALUES (1, 1, 1, 1, 1)",
      );
      await postgres.run("INSERT INTO price_set (prices) VALUES ('{}')");
      expect(await postgres.run("DELETE FROM event")).toBe(1);
      // As a later version makes one.
      await server.sql(
        `SET ROLE lockport_owner; CREATE TABLE ${place.schema}.later (id integer GENERATED BY DEFAULT AS IDENTITY, a text); RESET ROLE`,
      );
      await postgres.run("INSERT INTO later (a) VALUES ('new')");
      for (const statement of [
        "CREATE TABLE planted (id integer)",
        "ALTER TABLE event ADD COLUMN planted integer",
        "DROP TABLE event_default",
      ]) {
        expect(await failureOf(postgres.run(statement))).toMatchObject({ kind: "permission" });
      }
    } finally {
      await postgres.close();
    }
    const ofServer = { ...env, PROXY_DATABASE_URL: target.url };
    expect(await runLocal("/nowhere", ["migrate"], { env: ofServer })).toMatchObject({
      code: 0,
      messages: `The schema ${place.schema} is up to date.\n`,
    });
    const folder = makeFolder();
    const replica = await startProcess([await executable()], {
      env: { ...SHARED_SETTINGS, ...ofServer, PROXY_DATA_DIR: folder.path },
    });
    expect((await fetch(`${replica.url}/healthz`)).status).toBe(200);
    expect(await replica.stop()).toBe(0);
    expect(replica.output()).not.toContain(encodeURIComponent(SERVER_PASSWORD));
    folder.remove();
  });
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { callApi } from "../support/installation.ts";
import { postgresMissing, startPostgres, type TestServer } from "../support/postgres.ts";
import { cleanEnvironment, runProcess, startProcess } from "../support/process.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = await executable();
const PASSWORD = "geheim-of-keeper-77";
const SECRET_KEY = Buffer.alloc(32, 0x77).toString("base64");

let folder: ReturnType<typeof makeFolder>;
let server: TestServer;

describe.skipIf(postgresMissing !== null)("the command line on PostgreSQL", () => {
  beforeAll(async () => {
    folder = makeFolder();
    server = await startPostgres();
    await server.sql(`CREATE ROLE keeper LOGIN SUPERUSER PASSWORD '${PASSWORD}'`);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder.remove();
  });

  const environment = (more: Record<string, string> = {}) => ({
    PROXY_DATA_DIR: join(folder.path, "data"),
    PROXY_DATABASE_URL: server.urlOf("keeper", PASSWORD),
    PROXY_DATABASE_SCHEMA: "lockport",
    PROXY_SECRET_KEY: SECRET_KEY,
    PROXY_ADMIN_PASSWORD: "a password for tests",
    ...more,
  });
  const run = (line: string, more: Record<string, string> = {}) =>
    runLocal(join(folder.path, "data"), line.split(" "), { env: environment(more) });

  test("a command reads no key or relay token that it has no use for, however many there are", async () => {
    const schema = { PROXY_DATABASE_SCHEMA: "unread" };
    expect((await run("admin bootstrap", schema)).code).toBe(0);
    await using holder = new SQL(server.url, { max: 1 });
    await holder.begin(async (tx) => {
      await tx.unsafe("LOCK TABLE unread.api_keys, unread.relay_tokens IN ACCESS EXCLUSIVE MODE");
      for (const line of [
        "model list",
        "provider list",
        "principal create ada",
        "limit list",
        "pricing missing",
      ])
        expect({ line, ...(await run(line, schema)) }).toMatchObject({ line, code: 0 });
    });
    const { code, data } = await run("key list", schema);
    expect({ code, data }).toEqual({ code: 0, data: expect.stringContaining("admin") });
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    "a command that %s interrupts while replicas are waited for says that the change is made, and before that nothing",
    async (signal, code) => {
      const schema = `waiting_${code}`;
      const env = environment({ PROXY_DATABASE_SCHEMA: schema });
      expect((await run("admin bootstrap", env)).code).toBe(0);
      await server.sql(
        `INSERT INTO ${schema}.replica (id, lane, name, applied, heartbeats, grace_ms, is_fenced, schema, version)
         VALUES (gen_random_uuid(), 1, 'pod-0', 0, 1, 45000, false, 's', 'v')`,
      );
      const start = (line: string) =>
        Bun.spawn({
          cmd: [LOCKPORT, ...line.split(" ")],
          env: cleanEnvironment(env),
          stdin: "ignore",
          stderr: "pipe",
        });
      // Those of commands before may not have ended yet.
      const sessions = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'lockport command'";
      while ((await server.sql(sessions)).length > 0) await Bun.sleep(5);
      const child = start("principal create ada");
      const asks = `${sessions} AND query LIKE '%FROM replica%'`;
      while ((await server.sql(asks)).length === 0) await Bun.sleep(5);
      child.kill(signal);
      const messages = await new Response(child.stderr).text();
      expect({ code: await child.exited, messages }).toEqual({
        code,
        messages:
          "lockport: It was interrupted: the change is made, and not all replicas have confirmed it yet. Each follows within PROXY_DATABASE_GRACE.\n",
      });
      expect(await server.sql(`SELECT name FROM ${schema}.principals WHERE name = 'ada'`)).toHaveLength(1);

      await using holder = new SQL(server.url, { max: 1 });
      await holder.begin(async (tx) => {
        await tx.unsafe(`SELECT version FROM ${schema}.catalog_state FOR UPDATE`);
        const early = start("principal create bob");
        const waits = `${sessions} AND wait_event_type = 'Lock'`;
        while ((await server.sql(waits)).length === 0) await Bun.sleep(5);
        early.kill(signal);
        expect(await new Response(early.stderr).text()).toBe("");
        expect(await early.exited).toBe(code);
      });
      expect(await server.sql(`SELECT name FROM ${schema}.principals WHERE name = 'bob'`)).toEqual([]);
    },
    30_000,
  );

  test.each([
    ["backup", "backup lockport.tar.zst", "pg_dump --schema=models --format=custom --file=lockport.dump"],
    ["backup to stdout", "backup -", "pg_dump --schema=models --format=custom --file=lockport.dump"],
    ["restore", "restore lockport.tar.zst", "DROP SCHEMA IF EXISTS models CASCADE"],
    [
      "restore --force",
      "restore lockport.tar.zst --force",
      "--single-transaction --exit-on-error lockport.dump",
    ],
  ])(
    "%s is refused with 78, in one sentence with PostgreSQL's own command and no part of the URL",
    async (_, line, command) => {
      const { code, data, messages } = await run(line, { PROXY_DATABASE_SCHEMA: "models" });
      expect({ code, data }).toEqual({ code: 78, data: "" });
      expect(messages).toContain(command);
      expect(messages.trim()).not.toContain("\n");
      for (const secret of [PASSWORD, "keeper", String(server.port), "postgres://"])
        expect(messages).not.toContain(secret);
    },
  );

  test.each([
    ["admin password show --yes", 1],
    ["admin password rotate", 78],
    ["admin password rotate --keep-sessions", 78],
  ])(
    "%s without PROXY_ADMIN_PASSWORD names it: it makes no file, which no server would read, and signs nobody out",
    async (line, refusal) => {
      const unset = { PROXY_ADMIN_PASSWORD: "", PROXY_DATABASE_SCHEMA: "signed_in" };
      const dataDir = join(folder.path, "data");
      expect((await run("admin bootstrap --if-missing", unset)).code).toBe(0);
      await server.sql(
        "INSERT INTO signed_in.sessions SELECT gen_random_uuid()::text, id, 1, 9e15::bigint FROM signed_in.principals",
      );
      const countSessions = async () =>
        (await server.sql<{ count: number }>("SELECT count(*)::int AS count FROM signed_in.sessions"))[0]
          ?.count;
      const before = await countSessions();
      expect(before).toBeGreaterThan(0);
      const { code, data, messages } = await run(line, unset);
      expect({ code, data }).toEqual({ code: refusal, data: "" });
      expect(messages).toContain("The password comes from PROXY_ADMIN_PASSWORD");
      expect(existsSync(join(dataDir, "admin-password"))).toBe(false);
      expect(await countSessions()).toBe(before);
    },
  );

  test("ledger check without an installation names the schema where none is, and no folder", async () => {
    const { code, messages } = await run("ledger check", { PROXY_DATABASE_SCHEMA: "nothing_here" });
    expect(code).toBe(78);
    expect(messages).toContain("There is no ledger in the schema nothing_here yet");
    expect(messages).not.toContain(folder.path);
  });

  test.each([
    ["PROXY_SECRET_KEY", { PROXY_SECRET_KEY: "" }],
    ["PROXY_ADMIN_PASSWORD", { PROXY_ADMIN_PASSWORD: "" }],
  ])(
    "serve without %s ends with 78 and says what has to be set, before it asks the database",
    async (name, unset) => {
      const env = environment({ ...unset, PROXY_DATABASE_URL: "postgres://keeper@127.0.0.1:1/none" });
      const { code, messages } = await runProcess([LOCKPORT, "serve"], { env: { ...env, PROXY_PORT: "0" } });
      expect(code).toBe(78);
      expect(messages).toContain(`${name} has to be set with PostgreSQL`);
    },
  );

  test("the dump that backup names restores into another database, in which the same key works", async () => {
    const env = environment();
    const bootstrap = await runProcess([LOCKPORT, "admin", "bootstrap"], { env });
    const key = bootstrap.data.trim();
    expect(bootstrap.code).toBe(0);
    const { messages } = await run("backup lockport.tar.zst");
    const backup = /(pg_dump .*)$/.exec(messages.trim())?.[1] ?? "";
    const refusal = await run("restore lockport.tar.zst");
    const restore = /(psql -c .*)$/.exec(refusal.messages.trim())?.[1] ?? "";
    const sh = async (command: string, database: string) => {
      const done = await runProcess(["sh", "-c", command], {
        cwd: folder.path,
        env: {
          PATH: `${server.binFolder}:${process.env["PATH"] ?? ""}`,
          PGHOST: "127.0.0.1",
          PGPORT: String(server.port),
          PGUSER: "keeper",
          PGPASSWORD: PASSWORD,
          PGDATABASE: database,
        },
      });
      expect({
        command,
        code: done.code,
        messages: done.messages.replace(/^(NOTICE|DETAIL|drop cascades).*\n/gm, ""),
      }).toEqual({
        command,
        code: 0,
        messages: "",
      });
    };
    await sh(backup, "postgres");
    await server.sql("CREATE DATABASE another");
    await sh(restore, "another");
    // Once more, over what is there.
    await sh(restore, "another");
    const url = server.urlOf("keeper", PASSWORD).replace(/postgres$/, "another");
    const copied = { ...env, PROXY_DATABASE_URL: url, PROXY_DATA_DIR: join(folder.path, "other") };
    const running = await startProcess([LOCKPORT], { env: copied });
    try {
      const answer = await callApi(running.url, key, "GET", "/admin/v1/principals");
      expect(answer.status).toBe(200);
      expect(await running.stop()).toBe(0);
    } finally {
      running.signal("SIGKILL");
    }
  });
});

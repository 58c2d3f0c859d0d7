import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { parseExposition, findValue } from "../support/exposition.ts";
import { makeFolder } from "../support/folder.ts";
import { callApi, provide } from "../support/installation.ts";
import { postgresMissing, startPostgres, type TestServer } from "../support/postgres.ts";
import { cleanEnvironment, runProcess, startProcess } from "../support/process.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { busyLimit, timed, until } from "../support/waiting.ts";

const LOCKPORT = await executable();
/** Planted where a log or an error could pick them up. */
const ROLE = "keeper_51c9";
const PASSWORD = "geheim-of-the-role-51c9";
const SECRET_KEY = Buffer.alloc(32, 0x51).toString("base64");
const ADMIN_PASSWORD = "geheim of admin 51c9";
const CREDENTIAL = "sk-planted-credential-51c9";
const CONTENT = "planted-content-51c9";
const PERSON = "person-51c9";
const GRACE_MS = 2_000;
const TEST_MS_MAX = 60_000;
const WAITS = "the database does not answer: the start waits for it";

let folder: ReturnType<typeof makeFolder>;
let server: TestServer;
let upstream: ScriptedUpstream;
let env: Record<string, string>;

/** Words that no line of a log and no answer to a stranger may hold. */
const secrets = (key: string) => [
  PASSWORD,
  ROLE,
  SECRET_KEY,
  ADMIN_PASSWORD,
  CREDENTIAL,
  CONTENT,
  PERSON,
  key,
  `:${server.port}`,
  "postgres://",
];

/** Throws where a line is no object of JSON. */
function toJsonLines(text: string): { readonly message: string }[] {
  const lines = text.split("\n").filter((line) => line !== "");
  const parsed: { readonly message: string }[] = JSON.parse(`[${lines.join(",")}]`);
  expect(parsed.length).toBe(lines.length);
  for (const { message } of parsed) expect(message).toBeString();
  return parsed;
}

describe.skipIf(postgresMissing !== null)("a server whose PostgreSQL goes away", () => {
  beforeAll(async () => {
    folder = makeFolder();
    server = await startPostgres({ fsync: true });
    await server.sql(`CREATE ROLE ${ROLE} LOGIN SUPERUSER PASSWORD '${PASSWORD}'`);
    upstream = await startUpstream({
      script: (call) =>
        call.reply({ body: JSON.stringify({ choices: [{ message: { content: CONTENT } }] }) }),
    });
    env = {
      PROXY_DATABASE_URL: server.urlOf(ROLE, PASSWORD),
      PROXY_DATABASE_GRACE: `${GRACE_MS / 1000}s`,
      PROXY_SECRET_KEY: SECRET_KEY,
      PROXY_ADMIN_PASSWORD: ADMIN_PASSWORD,
      PROXY_LOG: "debug",
    };
  });
  afterAll(async () => {
    await upstream.stop();
    await server[Symbol.asyncDispose]();
    folder.remove();
  });

  const inFolder = (name: string) => ({ ...env, PROXY_DATA_DIR: join(folder.path, name) });

  /** A start that has found PostgreSQL away. */
  const startWaiting = async (name: string) => {
    const child = Bun.spawn([LOCKPORT, "serve"], {
      env: cleanEnvironment({ ...inFolder(name), PROXY_PORT: "0" }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { output: "", messages: "" };
    const read = async (stream: ReadableStream<Uint8Array>, kind: keyof typeof said) => {
      const decoder = new TextDecoder();
      for await (const bytes of stream) said[kind] += decoder.decode(bytes, { stream: true });
    };
    void read(child.stdout, "output");
    void read(child.stderr, "messages");
    await until(
      () => said.messages.includes(WAITS),
      () => said.messages,
    );
    return { child, output: () => said.output, messages: () => said.messages };
  };

  test(
    "serves on for its grace, then refuses with our envelope and 503 of /healthz, and recovers by itself; its log is JSON and holds no secret",
    async () => {
      const bootstrap = await runProcess([LOCKPORT, "admin", "bootstrap"], { env: inFolder("one") });
      expect(bootstrap.code).toBe(0);
      const key = bootstrap.data.trim();
      const running = await startProcess([LOCKPORT], { env: inFolder("one") });
      const ask = () =>
        callApi(running.url, key, "POST", "/v1/chat/completions", {
          model: "fast",
          messages: [{ role: "user", content: CONTENT }],
        });
      const health = async () => (await fetch(`${running.url}/healthz`)).status;
      try {
        await provide(running.url, key, {
          name: "up",
          baseUrl: upstream.baseUrl,
          apiKey: CREDENTIAL,
          models: { fast: "fast" },
        });
        expect((await ask()).status).toBe(200);
        expect(await health()).toBe(200);

        await server.stop("immediate");
        const awayMs = performance.now();
        let served = 0;
        // Some of the grace has gone before it went away, and a busy machine is late.
        while (performance.now() - awayMs < GRACE_MS / 2) {
          const response = await ask();
          await response.text();
          expect(response.status).toBe(200);
          served += 1;
        }
        expect(served).toBeGreaterThan(5);
        expect(await health()).toBe(200);

        const { result: change, tookMs } = await timed(() =>
          callApi(running.url, key, "POST", "/admin/v1/principals", { name: PERSON }),
        );
        expect(tookMs).toBeLessThan(busyLimit(5_000));
        expect(change.status).toBe(500);
        const refusal = await change.text();
        expect(JSON.parse(refusal)).toMatchObject({ error: { code: "internal_error" } });

        await until(
          async () => (await health()) === 503,
          () => "/healthz says that it does not serve",
        );
        const refused = await ask();
        expect(refused.status).toBe(500);
        const envelope = await refused.text();
        expect(JSON.parse(envelope)).toMatchObject({ error: { code: "internal_error" } });
        const figures = parseExposition(await (await fetch(`${running.url}/metrics`)).text());
        expect(findValue(figures, "proxy_database_up")).toBe(0);
        expect(findValue(figures, "proxy_database_trust_seconds")).toBe(0);
        expect(findValue(figures, "proxy_spool_bytes")).toBeGreaterThan(0);

        await server.start();
        await until(
          async () => (await health()) === 200 && (await ask()).status === 200,
          () => "it serves again",
          5_000,
        );
        const again = await callApi(running.url, key, "POST", "/admin/v1/principals", { name: PERSON });
        expect([201, 409]).toContain(again.status);
        // Events that were recorded meanwhile come in.
        await until(
          async () => {
            const text = await (await fetch(`${running.url}/metrics`)).text();
            return findValue(parseExposition(text), "proxy_spool_bytes") === 0;
          },
          () => "the spool is empty",
        );

        expect(await running.stop()).toBe(0);
        const lines = toJsonLines(running.messages());
        expect(lines.length).toBeGreaterThan(3);
        for (const secret of secrets(key)) {
          expect(JSON.stringify(lines)).not.toContain(secret);
          for (const text of [refusal, envelope]) expect(text).not.toContain(secret);
        }
        expect(readdirSync(join(folder.path, "one")).toSorted()).toEqual([
          "refusals.jsonl",
          "serving.lock",
          "spool",
        ]);
        const check = await runProcess([LOCKPORT, "ledger", "check"], { env: inFolder("one") });
        expect({ code: check.code, messages: check.messages }).toEqual({ code: 0, messages: "" });
      } finally {
        running.signal("SIGKILL");
      }
    },
    TEST_MS_MAX,
  );

  test(
    "holds up the end of a server by ten seconds at most where it is silent, and what was recorded meanwhile comes in with the next start",
    async () => {
      const patient = { ...inFolder("silent"), PROXY_DATABASE_GRACE: "30s" };
      const created = await runProcess(
        [LOCKPORT, "key", "create", "--principal", "admin", "--label", "silent"],
        { env: patient },
      );
      const key = created.data.trim();
      const count = async () =>
        (await server.sql<{ count: number }>("SELECT count(*)::int AS count FROM lockport.event"))[0]?.count;
      const before = (await count()) ?? 0;
      let running = await startProcess([LOCKPORT], { env: patient });
      const ask = async () => {
        const body = { model: "fast", messages: [] };
        const response = await callApi(running.url, key, "POST", "/v1/chat/completions", body);
        await response.text();
        return response.status;
      };
      try {
        expect(await ask()).toBe(200);
        server.pause();
        expect(await ask()).toBe(200);
        const { result, tookMs } = await timed(() => running.stop());
        expect(result).toBe(0);
        expect(tookMs).toBeLessThan(busyLimit(10_000));
        server.resume();
        running = await startProcess([LOCKPORT], { env: patient });
        await until(
          async () => (await count()) === before + 2,
          () => "both requests are in PostgreSQL",
        );
        expect(await running.stop()).toBe(0);
      } finally {
        server.resume();
        running.signal("SIGKILL");
      }
    },
    TEST_MS_MAX,
  );

  test(
    "that refuses the role of a running server is told by the log and by a change that was not made, and serves again once it takes it",
    async () => {
      const key = (
        await runProcess([LOCKPORT, "admin", "bootstrap", "--principal", "eve"], { env: inFolder("one") })
      ).data;
      const running = await startProcess([LOCKPORT], { env: inFolder("one") });
      const change = () =>
        callApi(running.url, key.trim(), "POST", "/admin/v1/principals", { name: `${PERSON}-2` });
      try {
        await server.sql(`ALTER ROLE ${ROLE} PASSWORD 'another'`);
        await server.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`);
        const said: string[] = [];
        await until(
          async () => {
            const refused = await change();
            said.push(await refused.text());
            expect(refused.status).toBe(500);
            return said.at(-1)?.includes("as its log says: nothing was changed.") === true;
          },
          () => said.join("\n"),
        );
        await server.sql(`ALTER ROLE ${ROLE} PASSWORD '${PASSWORD}'`);
        await until(
          async () => (await change()).status === 201,
          () => "it changes again",
          5_000,
        );
        expect(running.messages()).toContain('"cause_message":"PostgreSQL refuses the password');
        for (const secret of secrets(key.trim()))
          expect(running.messages() + said.join("")).not.toContain(secret);
      } finally {
        await server.sql(`ALTER ROLE ${ROLE} PASSWORD '${PASSWORD}'`);
        running.signal("SIGKILL");
      }
    },
    TEST_MS_MAX,
  );

  test(
    "is waited for by a start, which listens nowhere meanwhile and serves as soon as it answers",
    async () => {
      await server.stop("fast");
      const { child, output, messages } = await startWaiting("two");
      try {
        expect(output()).not.toContain("listens on");
        await server.start();
        await until(
          () => output().includes("listens on"),
          () => messages(),
        );
        const url = /listens on (\S+)/.exec(output())?.[1];
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
        child.kill("SIGTERM");
        expect(await child.exited).toBe(0);
        expect(toJsonLines(messages()).filter(({ message }) => message === WAITS)).toHaveLength(1);
      } finally {
        child.kill("SIGKILL");
      }
    },
    TEST_MS_MAX,
  );

  test(
    "is waited for by a start whose tables another session holds, and named by a command with 69",
    async () => {
      expect((await runProcess([LOCKPORT, "migrate"], { env: inFolder("one") })).code).toBe(0);
      await server.sql("BEGIN");
      await server.sql("LOCK TABLE lockport.meta, lockport.spool IN ACCESS EXCLUSIVE MODE");
      const waiting = startWaiting("locked-out");
      const listed = await runProcess([LOCKPORT, "provider", "list"], { env: inFolder("one") });
      const { child, output, messages } = await waiting;
      try {
        // It names the session that holds them.
        expect(messages()).toMatch(/"held_by_process":\d+/);
        expect({ code: listed.code, messages: listed.messages }).toEqual({
          code: 69,
          messages: expect.stringMatching(
            /^lockport: PostgreSQL ended a statement .*Nothing was changed\. lockport doctor says more\.\n$/,
          ),
        });
        await server.sql("ROLLBACK");
        await until(
          () => output().includes("listens on"),
          () => output(),
        );
        child.kill("SIGTERM");
        expect(await child.exited).toBe(0);
      } finally {
        child.kill("SIGKILL");
      }
    },
    TEST_MS_MAX,
  );

  test(
    "is named by a command in one sentence with exit code 69, and by a start that is told to end while it waits with 0",
    async () => {
      await server.stop("fast");
      try {
        const listed = await runProcess([LOCKPORT, "principal", "list"], { env: inFolder("one") });
        expect(listed.code).toBe(69);
        expect(listed.messages).toMatch(
          /^lockport: PostgreSQL cannot be reached .*lockport doctor says more\.\n$/,
        );
        expect(listed.messages).not.toContain(PASSWORD);
        const { child, messages } = await startWaiting("three");
        child.kill("SIGTERM");
        const { result: code, tookMs } = await timed(() => child.exited);
        expect(code).toBe(0);
        // It would wait for a minute.
        expect(tookMs).toBeLessThan(busyLimit(2_000));
        await until(
          () => messages().includes("stopped before it served"),
          () => messages(),
        );
        expect(toJsonLines(messages()).at(-1)).toMatchObject({ message: "stopped before it served" });
      } finally {
        await server.start();
      }
    },
    TEST_MS_MAX,
  );
});

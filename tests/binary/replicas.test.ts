import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { createChance } from "../support/chance.ts";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { callApi, provide } from "../support/installation.ts";
import { checkAttempts, checkCost, checkReports } from "../support/invariants.ts";
import { checkPostgresTotals } from "../support/ledger-copy.ts";
import { postgresMissing, startPostgres, type TestSchema, type TestServer } from "../support/postgres.ts";
import { runProcess, startProcess, type RunningProcess } from "../support/process.ts";
import { readNumber, scale } from "../support/scale.ts";
import { silentLog } from "../storage/support.ts";
import { startLoad, startMixedUpstream, type Ledger, type MixedUpstream } from "./mixed-load.ts";

const SETUP_MS_MAX = 180_000;
const TEST_MS_MAX = 60_000;
const KILLS = readNumber("LOCKPORT_REPLICA_KILLS") ?? 3 * scale;
const CALLERS = 4;
const SECRET_KEY = Buffer.alloc(32, 0x5e).toString("base64");
const REPORTS = ["summary", "series?bucket=hour", "errors", "breakdown", "requests?limit=500"];

let lockport: string;
let postgres: TestServer;
let schema: TestSchema;
let upstream: MixedUpstream;
let adminKey: string;
let folder: ReturnType<typeof makeFolder>;
const running = new Set<RunningProcess>();

const dataDirOf = (name: string) => join(folder.path, name);
const envOf = (name: string, more: Record<string, string> = {}) => ({
  PROXY_DATA_DIR: dataDirOf(name),
  PROXY_DATABASE_URL: schema.url,
  PROXY_DATABASE_SCHEMA: schema.schema,
  PROXY_SECRET_KEY: SECRET_KEY,
  PROXY_ADMIN_PASSWORD: "a password for tests",
  ...more,
});

/** A replica with a data folder of its own, by its name. */
async function start(name: string, more: Record<string, string> = {}): Promise<RunningProcess> {
  const server = await startProcess([lockport], { env: envOf(name, more) });
  running.add(server);
  return server;
}

async function kill(server: RunningProcess): Promise<void> {
  server.signal("SIGKILL");
  await server.exited;
}

const command = (name: string, ...args: string[]) => runProcess([lockport, ...args], { env: envOf(name) });

async function send(server: RunningProcess, id: string): Promise<Response> {
  return callApi(
    server.url,
    adminKey,
    "POST",
    "/v1/chat/completions",
    { model: "m", user: id, kind: "unary" },
    { "x-proxy-tags": `id:${id}` },
  );
}

async function read(server: RunningProcess, path: string): Promise<string> {
  const response = await callApi(server.url, adminKey, "GET", `/stats/${path}`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
  return text;
}

/** How many events the log has. */
async function countEvents(server: RunningProcess): Promise<number> {
  return JSON.parse(await read(server, "requests?limit=1")).total;
}

/** Until every spool is in the database: replicas that are idle say so by what each of them counts. */
async function settled(servers: readonly RunningProcess[], total: number): Promise<void> {
  for (const server of servers) while ((await countEvents(server)) < total) await Bun.sleep(20);
}

async function checkWhole(attempts: Parameters<typeof checkAttempts>[1] = {}) {
  const options = { target: schema, purpose: "test", connectionsMax: 1, callMsMax: 30_000, log: silentLog };
  const connection = await openPostgres(options);
  try {
    const events = await checkPostgresTotals(connection);
    checkAttempts(events, attempts);
    for (const event of events) checkCost(event);
    return events;
  } finally {
    await connection.close();
  }
}

describe.skipIf(postgresMissing !== null)("replicas on one PostgreSQL", () => {
  beforeAll(async () => {
    lockport = await executable();
    postgres = await startPostgres();
  }, SETUP_MS_MAX);
  afterAll(() => postgres[Symbol.asyncDispose]());

  beforeEach(async () => {
    folder = makeFolder();
    schema = postgres.schema();
    upstream = await startMixedUpstream();
    const bootstrap = await command("one", "admin", "bootstrap");
    if (bootstrap.code !== 0) throw new Error(`admin bootstrap failed: ${bootstrap.messages}`);
    adminKey = bootstrap.data.trim();
    const first = await start("one");
    await provide(first.url, adminKey, {
      name: "mixed",
      baseUrl: upstream.baseUrl,
      models: { m: "um" },
      pricing: { input_tokens: 2.5, output_tokens: 10 },
    });
    expect(await first.stop()).toBe(0);
  }, SETUP_MS_MAX);
  afterEach(async () => {
    for (const server of running) server.signal("SIGKILL");
    await Promise.all([...running].map((server) => server.exited));
    running.clear();
    await upstream.stop();
    await schema[Symbol.asyncDispose]();
    folder.remove();
  }, SETUP_MS_MAX);

  test(
    "tell the same of what either has served, under ids that no two of them give",
    async () => {
      const servers = await Promise.all(["one", "two"].map((name) => start(name)));
      const ids: string[] = [];
      for (const [index, server] of [...servers, ...servers].entries()) {
        const response = await send(server, `r${index}`);
        expect(response.status).toBe(200);
        ids.push(response.headers.get("x-proxy-request-id") ?? "");
      }
      expect(new Set(ids.map((id) => id.slice(-12))).size).toBe(2);
      await settled(servers, 4);
      const [one, other] = servers;
      const { requests } = JSON.parse(await read(one!, "requests"));
      expect(requests.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort());
      for (const report of REPORTS) expect(await read(one!, report)).toBe(await read(other!, report));
      await checkReports(one!.url, adminKey);
      await checkWhole({ eventCount: 4 });
      const checked = await command("two", "ledger", "check");
      expect([checked.code, checked.messages]).toEqual([0, ""]);
      expect(checked.data).toContain("nothing is missing or counted twice");
    },
    TEST_MS_MAX,
  );

  test(
    "answer each other's cursors with what either has recorded since, once, also after a restart",
    async () => {
      const [one, other] = [await start("one"), await start("two")];
      await send(one, "before");
      await settled([one, other], 1);
      const { cursor } = JSON.parse(await read(one, "requests?after="));
      await send(one, "r1");
      await send(other, "r2");
      await settled([one, other], 3);
      expect(await one.stop()).toBe(0);
      const again = await start("one");
      for (const server of [again, other]) {
        const since = JSON.parse(await read(server, `requests?after=${cursor}`));
        expect(since).toMatchObject({ total: 2, gap: false });
        expect(since.requests.flatMap(({ tags }: { tags: string[] }) => tags).sort()).toEqual([
          "id:r1",
          "id:r2",
        ]);
        const next = JSON.parse(await read(server, `requests?after=${since.cursor}`));
        expect(next).toMatchObject({ total: 0, requests: [], gap: false });
      }
    },
    TEST_MS_MAX,
  );

  test(
    "of which one runs from a copy of another's data folder: the second ends with 78 in seconds and changes nothing",
    async () => {
      const one = await start("one");
      await send(one, "r1");
      cpSync(dataDirOf("one"), dataDirOf("copy"), { recursive: true });
      const startedMs = performance.now();
      const refused = await command("copy", "serve", "--port", "0");
      expect(refused.code).toBe(78);
      expect(refused.messages).toContain("This spool is held by");
      expect(performance.now() - startedMs).toBeLessThan(10_000);
      expect((await send(one, "r2")).status).toBe(200);
      await settled([one], 2);
      await checkWhole({ eventCount: 2 });
      // The folder that it was copied from is its own: killed, it goes on at once.
      await kill(one);
      const again = await start("one");
      expect((await send(again, "r3")).status).toBe(200);
      await settled([again], 3);
    },
    TEST_MS_MAX,
  );

  test(
    "with PROXY_LEDGER_SYNC=database have an ended response although its replica's data folder is gone",
    async () => {
      const one = await start("one", { PROXY_LEDGER_SYNC: "database" });
      const other = await start("two");
      const ended: string[] = [];
      await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const response = await send(one, `r${index}`);
          await response.text();
          ended.push(`r${index}`);
        }),
      );
      await kill(one);
      rmSync(dataDirOf("one"), { recursive: true });
      const events = await checkWhole({ ended, sent: ended });
      expect(events).toHaveLength(20);
      expect(await countEvents(other)).toBe(20);
      // What is empty is another spool: no event of it gets the lane of the lost one.
      const empty = await start("one");
      const response = await send(empty, "later");
      expect(response.headers.get("x-proxy-request-id")?.slice(-12)).toBe("000000000003");
      expect(existsSync(dataDirOf("one"))).toBe(true);
    },
    TEST_MS_MAX,
  );

  test(
    "killed at random moments, beside a PostgreSQL that is, record each request once and every total to the pico",
    async () => {
      const chance = createChance(readNumber("LOCKPORT_SEED"));
      console.log(`kills of replicas: ${KILLS}, seed ${chance.seed}`);
      const ledger: Ledger = { sent: new Set(), ended: new Map(), keys: new Set() };
      const names = ["one", "two"];
      const servers = new Map(
        await Promise.all(names.map(async (name) => [name, await start(name)] as const)),
      );
      for (let round = 0; round < KILLS; round += 1) {
        const loads = [...servers.values()].map(({ url }) =>
          startLoad({
            url,
            key: adminKey,
            upstream,
            chance,
            ledger,
            callers: CALLERS,
            onEnded: () => undefined,
          }),
        );
        await Bun.sleep(chance.below(400));
        const name = names[round % names.length] ?? "one";
        // Every fifth time the database instead.
        if (round % 5 === 4) {
          await postgres.stop("immediate");
          await Bun.sleep(chance.below(400));
          await postgres.start();
        } else {
          await kill(servers.get(name)!);
          servers.set(name, await start(name));
        }
        await Promise.all(loads.map((load) => load.stop()));
      }
      expect(ledger.ended.size).toBeGreaterThan(KILLS);
      for (const name of names) expect(await servers.get(name)!.stop()).toBe(0);
      const attempts = { arrivals: upstream.arrivals, ended: ledger.ended.keys(), sent: ledger.sent };
      const events = await checkWhole(attempts);
      console.log(`kills of replicas: ${events.length} events of ${ledger.sent.size} requests`);
      const checked = await command("one", "ledger", "check");
      expect([checked.code, checked.messages]).toEqual([0, ""]);
    },
    TEST_MS_MAX + KILLS * 10_000,
  );
});

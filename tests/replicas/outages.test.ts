import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { callApi, provide } from "../support/installation.ts";
import { postgresMissing } from "../support/postgres.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { startSite, type Replica, type Site } from "./site.ts";

setDefaultTimeout(120_000);

const GRACE_MS = 3_000;
/** Within which everything serves again once PostgreSQL is back. */
const RECOVERY_MS_MAX = 5_000;
/** Within which a change ends that cannot be made. */
const CHANGE_MS_MAX = 5_000;
const ANSWER = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';

let site: Site;
let upstream: ScriptedUpstream;
/** Requests that were answered, each of which is an event. */
let completed = 0;

describe.skipIf(postgresMissing !== null)("while PostgreSQL is away", () => {
  beforeAll(async () => {
    upstream = await startUpstream({ script: (call) => call.reply({ body: ANSWER }) });
    site = await startSite({ replicas: 2, env: { PROXY_DATABASE_GRACE: `${GRACE_MS / 1000}s` } });
    const { url } = replicaAt(0);
    await provide(url, site.adminKey, { name: "p", baseUrl: upstream.baseUrl, models: { m: "um" } });
    for (const replica of site.replicas) expect((await complete(replica)).status).toBe(200);
  });
  afterAll(async () => {
    await site[Symbol.asyncDispose]();
    await upstream.stop();
  });

  for (const mode of ["immediate", "fast", "silent"] as const) {
    test(`(${mode}) for less than the grace no request with a key fails, and usage is there afterwards`, async () => {
      await leave(mode);
      const endMs = performance.now() + GRACE_MS / 2;
      while (performance.now() < endMs) {
        for (const replica of site.replicas) {
          expect((await complete(replica)).status).toBe(200);
        }
      }
      await comeBack(mode);
      const soonMs = performance.now() + RECOVERY_MS_MAX;
      for (const replica of site.replicas) expect((await complete(replica)).status).toBe(200);
      let recorded = 0;
      while (recorded < completed && performance.now() < soonMs) {
        recorded = await countRecorded().catch(() => 0);
      }
      expect(recorded).toBe(completed);
    });
  }

  test("for longer than the grace requests get 500 in our envelope and /healthz 503; all recovers within 5 s, without a restart", async () => {
    const saidBefore = new Map(site.replicas.map(({ url, process }) => [url, process.output().length]));
    await leave("immediate");
    await Bun.sleep(GRACE_MS + 500);
    for (const replica of site.replicas) {
      const refused = await complete(replica);
      expect(refused.status).toBe(500);
      expect(refused.headers.get("x-proxy-error-source")).toBe("proxy");
      expect(JSON.parse(await refused.text())).toMatchObject({
        error: { type: "proxy_error", code: "internal_error" },
        proxy: { source: "proxy" },
      });
      expect((await fetch(`${replica.url}/healthz`)).status).toBe(503);
    }
    await comeBack("immediate");
    const endMs = performance.now() + RECOVERY_MS_MAX;
    for (const replica of site.replicas) {
      let status = 0;
      while (status !== 200 && performance.now() < endMs) {
        await Bun.sleep(50);
        status = (await complete(replica)).status;
      }
      expect(status).toBe(200);
      expect((await fetch(`${replica.url}/healthz`)).status).toBe(200);
      expect((await makeKey(replica)).status).toBe(201);
      // Nothing but JSON lines, none of which tells where the database is or how it is entered.
      const said = replica.process.output().slice(saidBefore.get(replica.url));
      const lines = said.split("\n").filter(Boolean);
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.filter((line) => !isJson(line))).toEqual([]);
      expect(said).not.toContain("postgres");
    }
  });

  for (const mode of ["immediate", "silent"] as const) {
    test(`(${mode}) a change fails within 5 s, and none that was not committed was reported as made`, async () => {
      const [replica] = site.replicas;
      if (replica === undefined) throw new Error("there is no replica");
      await leave(mode);
      const startedMs = performance.now();
      const refused = await makeKey(replica);
      expect(performance.now() - startedMs).toBeLessThan(CHANGE_MS_MAX);
      expect(refused.status).toBe(500);
      await comeBack(mode);
      const endMs = performance.now() + RECOVERY_MS_MAX;
      let made = await makeKey(replica);
      while (made.status !== 201 && performance.now() < endMs) made = await makeKey(replica);
      expect(made.status).toBe(201);
    });
  }
});

function replicaAt(index: number): Replica {
  const replica = site.replicas[index];
  if (replica === undefined) throw new Error("there is no such replica");
  return replica;
}

async function leave(mode: "immediate" | "fast" | "silent"): Promise<void> {
  if (mode === "silent") for (const { network } of site.replicas) network.silence();
  else await site.database.stop(mode);
}

async function comeBack(mode: "immediate" | "fast" | "silent"): Promise<void> {
  if (mode === "silent") for (const { network } of site.replicas) network.resume();
  else await site.database.start();
}

async function complete({ url }: Replica): Promise<Response> {
  const body = { model: "m", messages: [] };
  const response = await callApi(url, site.adminKey, "POST", "/v1/chat/completions", body);
  if (response.status === 200) completed += 1;
  return response;
}

function makeKey(replica: Replica): Promise<Response> {
  return site.ask(replica, "POST", "/my/keys", { label: "made" });
}

async function countRecorded(): Promise<number> {
  const response = await site.ask(replicaAt(1), "GET", "/admin/v1/requests?limit=1");
  if (response.status !== 200) throw new Error(`the log answered ${response.status}`);
  const { total }: { readonly total: number } = JSON.parse(await response.text());
  return total;
}

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}

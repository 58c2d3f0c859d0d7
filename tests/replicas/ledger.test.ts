import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, rmSync } from "node:fs";
import { callApi, provide } from "../support/installation.ts";
import { checkReports } from "../support/invariants.ts";
import { checkPostgresLedger } from "../support/postgres-totals.ts";
import { postgresMissing } from "../support/postgres.ts";
import { startUpstream } from "../support/upstream.ts";
import { type Replica, type Site, startSite } from "./site.ts";

setDefaultTimeout(120_000);

const REPORTS = ["summary", "series?bucket=hour", "errors", "breakdown", "requests?limit=500"];
const ANSWER = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}';
/** A spool is committed every 150 ms. */
const COMMIT_WAIT_MS_MAX = 10_000;
/** A start that is refused looks twice a second whether the spool's holder is heard. */
const REFUSAL_MS_MAX = 10_000;
const CONFIGURATION_EXIT_CODE = 78;

test.skipIf(postgresMissing !== null)(
  "each replica tells the same of what any has served, under ids that no two of them give",
  () =>
    onTwoReplicas(async (site, one, two) => {
      const ids: string[] = [];
      for (const [index, replica] of [one, two, one, two].entries()) {
        const response = await send(site, replica, `r${index}`);
        ids.push(response.headers.get("x-proxy-request-id") ?? "");
      }
      expect(new Set(ids.map((id) => id.slice(-12))).size).toBe(2);
      await untilRecorded(site, 4);
      const { requests } = JSON.parse(await read(site, one, "requests"));
      expect(requests.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort());
      for (const report of REPORTS) expect(await read(site, one, report)).toBe(await read(site, two, report));
      await checkReports(one.url, site.adminKey);
      await checkPostgresLedger(site.schema, { eventCount: 4 });
    }),
);

test.skipIf(postgresMissing !== null)(
  "a replica answers another's cursor with what any has recorded since, once, also after a restart",
  () =>
    onTwoReplicas(async (site, one, two) => {
      await send(site, one, "before");
      await untilRecorded(site, 1);
      const { cursor } = JSON.parse(await read(site, one, "requests?after="));
      await send(site, one, "r1");
      await send(site, two, "r2");
      await untilRecorded(site, 3);
      expect(await one.process.stop()).toBe(0);
      await one.restart();
      for (const replica of [one, two]) {
        const since = JSON.parse(await read(site, replica, `requests?after=${cursor}`));
        expect(since).toMatchObject({ total: 2, gap: false });
        const tags = since.requests.flatMap((request: { tags: string[] }) => request.tags);
        expect(tags.sort()).toEqual(["id:r1", "id:r2"]);
        const next = JSON.parse(await read(site, replica, `requests?after=${since.cursor}`));
        expect(next).toMatchObject({ total: 0, requests: [], gap: false });
      }
    }),
);

test.skipIf(postgresMissing !== null)(
  "a server on a copy of a living replica's data folder ends with 78 in seconds and changes nothing",
  () =>
    onTwoReplicas(async (site, one) => {
      await send(site, one, "r1");
      const copy = `${one.dataDir}-copy`;
      cpSync(one.dataDir, copy, { recursive: true });
      const startedMs = performance.now();
      const refused = await site.run("serve", "--port", "0", "--data-dir", copy);
      expect(performance.now() - startedMs).toBeLessThan(REFUSAL_MS_MAX);
      expect(refused.code).toBe(CONFIGURATION_EXIT_CODE);
      expect(refused.messages).toContain("This spool is held by");
      await send(site, one, "r2");
      await untilRecorded(site, 2);
      await checkPostgresLedger(site.schema, { eventCount: 2 });
      rmSync(copy, { recursive: true });
      // The folder that it was copied from is its own: killed, it goes on at once.
      await one.kill();
      await one.restart();
      await send(site, one, "r3");
      await untilRecorded(site, 3);
    }),
);

async function onTwoReplicas(step: (site: Site, one: Replica, two: Replica) => Promise<void>): Promise<void> {
  const upstream = await startUpstream({ script: (call) => call.reply({ body: ANSWER }) });
  try {
    await using site = await startSite({ replicas: 2 });
    const [one, two] = site.replicas;
    if (one === undefined || two === undefined) throw new Error("two replicas were asked for");
    await provide(one.url, site.adminKey, {
      name: "p",
      baseUrl: upstream.baseUrl,
      models: { m: "um" },
      pricing: { input_tokens: 2.5, output_tokens: 10 },
    });
    await step(site, one, two);
  } finally {
    await upstream.stop();
  }
}

async function send(site: Site, replica: Replica, id: string): Promise<Response> {
  const body = { model: "m", messages: [] };
  const tags = { "x-proxy-tags": `id:${id}` };
  const response = await callApi(replica.url, site.adminKey, "POST", "/v1/chat/completions", body, tags);
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  return response;
}

async function read(site: Site, replica: Replica, path: string): Promise<string> {
  const response = await site.ask(replica, "GET", `/stats/${path}`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
  return text;
}

/** Until every spool is in the database. */
async function untilRecorded(site: Site, count: number): Promise<void> {
  const endMs = performance.now() + COMMIT_WAIT_MS_MAX;
  for (const replica of site.replicas) {
    while (JSON.parse(await read(site, replica, "requests?limit=1")).total < count) {
      if (performance.now() > endMs) throw new Error(`fewer than ${count} requests are recorded`);
      await Bun.sleep(20);
    }
  }
}

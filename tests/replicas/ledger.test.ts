import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, rmSync } from "node:fs";
import { checkReports } from "../support/invariants.ts";
import { checkPostgresLedger } from "../support/postgres-totals.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { busyLimit, timed } from "../support/waiting.ts";
import { type Completion, type ServedSite, startServedSite } from "./served-site.ts";
import type { Replica } from "./site.ts";

setDefaultTimeout(120_000);

const REPORTS = ["summary", "series?bucket=hour", "errors", "breakdown", "requests?limit=500"];
/** A start that is refused looks twice a second whether the spool's holder is heard. */
const REFUSAL_MS_MAX = 10_000;
const CONFIGURATION_EXIT_CODE = 78;

let site: ServedSite;
/** Requests that were answered, each of which is an event. */
let sent = 0;

describe.skipIf(postgresMissing !== null)("the usage of two replicas", () => {
  beforeAll(async () => {
    site = await startServedSite({
      replicas: 2,
      server: await sharedPostgres(),
      provider: { pricing: { input_tokens: 2.5, output_tokens: 10 } },
    });
  });
  afterAll(() => site[Symbol.asyncDispose]());

  test("is the same at each, whichever has served it, under ids that no two of them give", async () => {
    const [one, two] = [site.replicaAt(0), site.replicaAt(1)];
    const ids: string[] = [];
    for (const [index, replica] of [one, two, one, two].entries()) {
      const response = await send(replica, `r${index}`);
      ids.push(response.headers.get("x-proxy-request-id") ?? "");
    }
    expect(new Set(ids.map((id) => id.slice(-12))).size).toBe(2);
    await site.untilRecorded(sent);
    const { requests } = await read(one, "requests");
    expect(requests.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort());
    for (const report of REPORTS) expect(await read(one, report)).toEqual(await read(two, report));
    await checkReports(one.url, site.adminKey);
    await checkPostgresLedger(site.schema, { eventCount: sent });
  });

  test("follows another's cursor with what any has recorded since, once, also after a restart", async () => {
    const [one, two] = [site.replicaAt(0), site.replicaAt(1)];
    await send(one, "before");
    await site.untilRecorded(sent);
    const { cursor } = await read(one, "requests?after=");
    await send(one, "since-1");
    await send(two, "since-2");
    await site.untilRecorded(sent);
    expect(await one.process.stop()).toBe(0);
    await one.restart();
    for (const replica of [one, two]) {
      const since = await read(replica, `requests?after=${cursor}`);
      expect(since).toMatchObject({ total: 2, gap: false });
      const tags = since.requests.flatMap((request: { tags: string[] }) => request.tags);
      expect(tags.sort()).toEqual(["id:since-1", "id:since-2"]);
      const next = await read(replica, `requests?after=${since.cursor}`);
      expect(next).toMatchObject({ total: 0, requests: [], gap: false });
    }
  });

  test("is not touched by a server on a copy of a living one's data folder, which ends with 78 in seconds", async () => {
    const one = site.replicaAt(0);
    await send(one, "copied");
    const copy = `${one.dataDir}-copy`;
    cpSync(one.dataDir, copy, { recursive: true });
    const { result: refused, tookMs } = await timed(() =>
      site.run("serve", "--port", "0", "--data-dir", copy),
    );
    expect(tookMs).toBeLessThan(busyLimit(REFUSAL_MS_MAX));
    expect(refused.code).toBe(CONFIGURATION_EXIT_CODE);
    expect(refused.messages).toContain("This spool is held by");
    await send(one, "beside-the-copy");
    await site.untilRecorded(sent);
    await checkPostgresLedger(site.schema, { eventCount: sent });
    rmSync(copy, { recursive: true });
    // The folder that it was copied from is its own: killed, it goes on at once.
    await one.kill();
    await one.restart();
    await send(one, "killed");
    await site.untilRecorded(sent);
  });
});

const read = (replica: Replica, path: string) => site.read(replica, `/stats/${path}`);

async function send(replica: Replica, id: string): Promise<Completion> {
  const completion = await site.complete(replica, { "x-proxy-tags": `id:${id}` });
  expect(completion.status).toBe(200);
  sent += 1;
  return completion;
}

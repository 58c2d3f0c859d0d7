import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { checkInvariants } from "../invariants/invariants.ts";
import { executable } from "../support/executable.ts";
import { callApi } from "../support/installation.ts";
import { readNumber } from "../support/scale.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { ENDPOINTS, toWhole } from "./endpoints.ts";
import { MODEL, startSite, type Site } from "./site.ts";

/**
 * Faults of what stands around the executable. Each lasts for LOCKPORT_FAULT_SECONDS while requests go on, and within five
 * seconds of its end everything is as it was (`checkInvariants`): each request is recorded once, none is lost.
 */

const SECONDS = readNumber("LOCKPORT_FAULT_SECONDS") ?? 0.5;
const TEST_MS_MAX = 60_000 + SECONDS * 3_000;
const PAUSE_MS = 50;

let upstream: ScriptedUpstream;
let site: Site;
beforeEach(async () => {
  asked = 0;
  upstream = await startUpstream({ script: (call) => call.reply({ body: toWhole(ENDPOINTS[0]!.parts) }) });
  site = await startSite({ lockport: await executable(), baseUrl: upstream.baseUrl });
}, TEST_MS_MAX);
afterEach(async () => {
  await site.installation.remove();
  await upstream.stop();
});

/** What ends it. */
type End = () => unknown;

interface MachineFault {
  readonly name: string;
  readonly begin: () => Promise<End> | End;
  /** What a request is answered meanwhile. */
  readonly status: number;
}

/** Another process's transaction that lets nobody write. */
function lock(file: string): End {
  const database = new Database(join(site.installation.dataDir, file));
  // The server may be writing at this moment.
  database.run("PRAGMA busy_timeout = 5000");
  database.run("BEGIN IMMEDIATE");
  return () => {
    database.run("ROLLBACK");
    database.close();
  };
}

const FAULTS: readonly MachineFault[] = [
  { name: "usage.db is locked by another process", begin: () => lock("usage.db"), status: 200 },
  { name: "catalog.db is locked by another process", begin: () => lock("catalog.db"), status: 200 },
  {
    name: "the provider is gone, and comes back where it was",
    begin: async () => {
      const { port } = upstream;
      await upstream.stop();
      return () => {
        const answer = () =>
          new Response(toWhole(ENDPOINTS[0]!.parts), { headers: { "content-type": "application/json" } });
        const back = Bun.serve({ hostname: "127.0.0.1", port, fetch: answer });
        upstream = { ...upstream, stop: () => back.stop(true) };
      };
    },
    status: 502,
  },
];

let asked = 0;
const ask = () => {
  asked += 1;
  return callApi(site.server.url, site.asked.key, "POST", "/v1/chat/completions", {
    model: MODEL,
    messages: [],
  });
};

test.each(FAULTS)(
  "when $name, requests are answered, recorded once each, and all is well again within five seconds",
  async ({ begin, status }) => {
    expect((await ask()).status).toBe(200);
    const end = await begin();
    const endMs = performance.now() + SECONDS * 1_000;
    while (performance.now() < endMs) {
      const response = await ask();
      await response.text();
      expect(response.status).toBe(status);
      await Bun.sleep(PAUSE_MS);
    }
    await end();
    const { recoveredAfterMs, events } = await checkInvariants({ ...site, ask });
    expect(events).toHaveLength(asked);
    console.log(`${asked} requests in ${SECONDS} s, well again after ${Math.round(recoveredAfterMs)} ms`);
  },
  TEST_MS_MAX,
);

test(
  "a process that is stopped and goes on serves at once, and its limits have not run out for others",
  async () => {
    expect((await ask()).status).toBe(200);
    site.server.signal("SIGSTOP");
    const waiting = ask();
    await Bun.sleep(SECONDS * 1_000);
    site.server.signal("SIGCONT");
    expect((await waiting).status).toBe(200);
    const { recoveredAfterMs } = await checkInvariants({ ...site, ask, attempts: { eventCount: 3 } });
    console.log(`stopped for ${SECONDS} s, well again after ${Math.round(recoveredAfterMs)} ms`);
  },
  TEST_MS_MAX,
);

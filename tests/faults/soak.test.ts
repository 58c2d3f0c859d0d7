import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { openCaller } from "../forward/caller.ts";
import { checkInvariants } from "../invariants/invariants.ts";
import { createChance, type Chance } from "../support/chance.ts";
import { executable } from "../support/executable.ts";
import { callApi } from "../support/installation.ts";
import { readNumber } from "../support/scale.ts";
import { toRequestBytes } from "./ask.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { MODEL, startSite, type Site } from "./site.ts";

/** Callers that leave all the time: LOCKPORT_SOAK_SECONDS says for how long. */

const SECONDS = readNumber("LOCKPORT_SOAK_SECONDS") ?? 1;
const TEST_MS_MAX = 120_000 + SECONDS * 1_500;
const ASKED = ENDPOINTS.filter(({ isById }) => isById !== true);
const CALLERS = 16;
/** A caller leaves after at most so long; an answer takes a little more. */
const PATIENCE_MS = 60;
const PAUSE_MS = 10;
const SAMPLES = 60;
/** Memory means something once the garbage of some minutes has come and gone. */
const MEMORY_SECONDS_MIN = 300;
const GROWTH_MIB_MAX = 32;

let upstream: Bun.Server<undefined>;
let site: Site;
beforeEach(async () => {
  upstream = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: answer });
  site = await startSite({ lockport: await executable(), baseUrl: `http://127.0.0.1:${upstream.port}/v1` });
}, TEST_MS_MAX);
afterEach(async () => {
  await site.installation.remove();
  await upstream.stop(true);
});

/** A piece, and a pause, and a piece. */
function answer(request: Request): Response {
  const { parts } = ENDPOINTS.find(({ name }) => name === request.headers.get("x-cell")) ?? ENDPOINTS[0]!;
  const pieces = [parts.open, parts.content, parts.usage, parts.end];
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) return controller.close();
      controller.enqueue(new TextEncoder().encode(piece));
      await Bun.sleep(PAUSE_MS);
    },
  });
  return new Response(body, { headers: { "content-type": parts.type } });
}

test(
  "callers that leave at any moment for a long time cost no memory that stays",
  async () => {
    const chance = createChance(readNumber("LOCKPORT_SEED"));
    const endMs = performance.now() + SECONDS * 1_000;
    let left = 0;
    const leaveAgain = async () => {
      while (performance.now() < endMs) {
        await leave(chance);
        left += 1;
      }
    };
    const samples: number[] = [];
    const watch = async () => {
      while (performance.now() < endMs) {
        await Bun.sleep((SECONDS * 1_000) / SAMPLES);
        samples.push(readResidentMib(site.server.pid));
      }
    };
    await Promise.all([watch(), ...Array.from({ length: CALLERS }, leaveAgain)]);
    const quarter = (from: number) =>
      median(samples.slice(Math.floor(samples.length * from), Math.floor(samples.length * (from + 0.25))));
    const [second, last] = [quarter(0.25), quarter(0.75)];
    const { peakMib, events } = await checkInvariants({
      ...site,
      ask: () => callApi(site.server.url, site.asked.key, "POST", "/v1/chat/completions", { model: MODEL }),
    });
    expect(events.length).toBeGreaterThan(1);
    expect(events.length).toBeLessThanOrEqual(left + 1);
    console.log(
      `${left} callers left in ${SECONDS} s, ${events.length} events; ${second} MiB in the second quarter, ${last} in the last, at most ${peakMib}; seed ${chance.seed}`,
    );
    if (SECONDS >= MEMORY_SECONDS_MIN) expect(last).toBeLessThan(second + GROWTH_MIB_MAX);
  },
  TEST_MS_MAX,
);

async function leave(chance: Chance): Promise<void> {
  const endpoint = chance.pick(ASKED);
  const headers = { "x-cell": endpoint.name };
  const request = toRequestBytes(endpoint.ask(MODEL, { ...site.asked, headers }));
  const cut = chance.below(10) === 0 ? chance.below(request.length) : request.length;
  const caller = await openCaller({ port: site.port, raw: request.subarray(0, cut).toString("latin1") });
  await Bun.sleep(chance.below(PATIENCE_MS));
  if (chance.below(2) === 0) caller.hangUp();
  else caller.reset();
  await caller.ended;
}

function readResidentMib(pid: number): number {
  if (process.platform !== "linux") return 0;
  const [, kib = ""] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kib) / 1024);
}

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

import { afterEach, beforeEach, expect, test } from "bun:test";
import { openCaller } from "../forward/caller.ts";
import { checkInvariants, journalIsRead } from "../invariants/invariants.ts";
import { toTaggedId } from "../support/invariants.ts";
import { executable } from "../support/executable.ts";
import { callApi, makeInstallation, provide, type Installation } from "../support/installation.ts";
import type { RunningProcess } from "../support/process.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { ENDPOINTS, toWhole } from "./endpoints.ts";
import { createMovedClock, type MovedClock } from "./moved-clock.ts";
import { MODEL } from "./site.ts";

/** A wall clock that is set while a server runs: by an operator, by NTP, by a machine that wakes up. */

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 120_000;
const DAY_SECONDS = 86_400;
const DAY_US = DAY_SECONDS * 1e6;
/** Requests at each setting of the clock, besides the one that is under way when it is set. */
const REQUESTS = 25;
const PAGE = 40;
const CHAT = ENDPOINTS[0]!;
const HELLO = 'data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n';
const REST = 'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\ndata: [DONE]\n\n';

let lockport: string;
let installation: Installation;
let upstream: ScriptedUpstream;
let clock: MovedClock | null;
const streams: UpstreamCall[] = [];

beforeEach(async () => {
  lockport = await executable();
  installation = await makeInstallation(lockport);
  clock = createMovedClock(installation.folder);
  upstream = await startUpstream({
    script: (call) => {
      if (call.request.body.includes('"stream":true')) return streams.push(call);
      return call.reply({ body: toWhole(CHAT.parts) });
    },
  });
}, SETUP_MS_MAX);
afterEach(async () => {
  await installation.remove();
  await upstream.stop();
});

test(
  "a clock that jumps a day ahead, a day back and behind sealed days loses no event, doubles none, and every report counts them all",
  async () => {
    if (clock === null) return console.log("skipped: libfaketime is not here (Debian: faketime)");
    const moved = clock;
    const sent = new Map<string, number>();
    const ended = new Set<string>();
    let days = 0;
    let server = await start(moved);
    await provide(server.url, installation.adminKey, {
      name: "up",
      baseUrl: upstream.baseUrl,
      models: { [MODEL]: "um" },
      pricing: { input_tokens: 2.5, output_tokens: 10 },
    });

    const newId = () => {
      const id = `${sent.size + 1}`;
      sent.set(id, days);
      return id;
    };
    const ask = async () => {
      const id = newId();
      const answer = await callApi(
        server.url,
        installation.adminKey,
        "POST",
        CHAT.ask(MODEL, ASKED).path,
        { model: MODEL, messages: [] },
        { "x-proxy-tags": `id:${id}` },
      );
      const text = await answer.text();
      expect(text).toBe(toWhole(CHAT.parts));
      ended.add(id);
      return new Response(text, { status: answer.status });
    };
    /** A stream that has begun; ended by what comes back. */
    const begin = async () => {
      const id = newId();
      const caller = await openCaller({
        port: Number(new URL(server.url).port),
        path: "/v1/chat/completions",
        body: { model: MODEL, stream: true },
        headers: [`authorization: Bearer ${installation.adminKey}`, `x-proxy-tags: id:${id}`],
      });
      while (streams.length === 0) await turn();
      const call = streams.shift()!;
      await call.beginStream();
      await call.sendChunk(HELLO);
      await caller.waitFor("hello");
      return async () => {
        await call.sendChunk(REST);
        await call.endStream();
        expect(await caller.body()).toBe(HELLO + REST);
        ended.add(id);
      };
    };
    const jump = async (toDays: number) => {
      const end = await begin();
      moved.set(toDays * DAY_SECONDS);
      days = toDays;
      await end();
      for (let index = 0; index < REQUESTS; index += 1) await ask();
      await journalIsRead(server.url);
      expect(await readTotal(server)).toBe(sent.size);
    };

    for (const toDays of [0, 1, -1, 0]) await jump(toDays);
    // A start three days ahead seals the days that all of this was on.
    expect(await server.stop()).toBe(0);
    moved.set((days = 3) * DAY_SECONDS);
    server = await start(moved);
    for (const toDays of [3, -2, 0]) await jump(toDays);
    // What a kill cuts off on a day that is sealed.
    await begin();
    server.signal("SIGKILL");
    await server.exited;
    server = await start(moved);
    // Where nothing lies ahead of the clock: reports end with the present.
    await jump(5);

    const log = await readLog(server);
    expect(new Set(log.map(({ id }) => id)).size).toBe(sent.size);
    const { events } = await checkInvariants({
      installation,
      server,
      ask,
      attempts: { sent: sent.keys(), ended, arrivals: new Map([...sent.keys()].map((id) => [id, 1])) },
    });
    expect(events.length).toBe(sent.size);
    // Each stands on the day that the clock showed when it came, and took no longer than the test.
    const nowUs = Date.now() * 1000;
    for (const event of events) {
      const dayOf = (event.id - nowUs) / DAY_US;
      expect(Math.abs(dayOf - (sent.get(toTaggedId(event)) ?? 0))).toBeLessThan(0.5);
      expect(event.duration_us).toBeGreaterThanOrEqual(0);
      expect(event.duration_us).toBeLessThan(TEST_MS_MAX * 1000);
    }
    const shown = new Set(sent.values());
    console.log(`${events.length} events while the clock showed ${shown.size} days, 0 lost, 0 doubled`);
  },
  TEST_MS_MAX,
);

const ASKED = { key: "", relayToken: "", content: "", fileName: "", headers: {} };
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
const start = ({ env }: MovedClock): Promise<RunningProcess> => installation.start({ env });

async function readPage(server: RunningProcess, query: string) {
  const response = await callApi(
    server.url,
    installation.adminKey,
    "GET",
    `/admin/v1/requests?limit=${PAGE}${query}`,
  );
  expect(response.status).toBe(200);
  const page: { readonly total: number; readonly requests: readonly { readonly id: string }[] } = JSON.parse(
    await response.text(),
  );
  return page;
}

const readTotal = async (server: RunningProcess) => (await readPage(server, "")).total;

/** All of it, page by page. */
async function readLog(server: RunningProcess) {
  const { total } = await readPage(server, "");
  const log: { readonly id: string }[] = [];
  while (log.length < total) log.push(...(await readPage(server, `&offset=${log.length}`)).requests);
  expect(log.length).toBe(total);
  return log;
}

import { afterEach, describe, expect, test } from "bun:test";
import { makeFolder } from "../support/folder.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";
import { COMPLETION, type LimitJson, outcomeOf, startWorld, type World, type WorldOptions } from "./world.ts";

const REFUSED = "429 limit_exceeded";
const CHAT_EVENT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const MESSAGE_EVENT = 'event: ping\ndata: {"type":"ping"}\n\n';
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function openWorld(options: WorldOptions = {}): Promise<World> {
  const world = await startWorld(options);
  stops.push(() => world.stop());
  return world;
}

/** Upstream calls, and how many of them were open at once. */
class OpenCalls {
  readonly calls: UpstreamCall[] = [];
  most = 0;

  async add(call: UpstreamCall): Promise<void> {
    this.calls.push(call);
    // What was closed before it came is told in one of the next turns.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
    this.most = Math.max(this.most, this.calls.filter((one) => !one.isClosed()).length);
  }
}

/** Where a caller asks for a stream: the data plane and the relay. */
interface Lane {
  readonly name: string;
  readonly event: string;
  /** A world whose upstream does what `play` does, and how a stream is asked for. */
  open(play: (call: UpstreamCall) => unknown): Promise<Asking>;
}

interface Asking {
  readonly world: World;
  ask(signal?: AbortSignal): Promise<Response>;
}

const LANES: readonly Lane[] = [
  {
    name: "/v1",
    event: CHAT_EVENT,
    async open(play) {
      const world = await openWorld({ script: play });
      const { url, adminKey } = world.app;
      return {
        world,
        ask: (signal) =>
          fetch(`${url}/v1/chat/completions`, {
            method: "POST",
            headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
            body: JSON.stringify({ model: "m", stream: true, messages: [] }),
            ...(signal !== undefined && { signal }),
          }),
      };
    },
  },
  {
    name: "the relay",
    event: MESSAGE_EVENT,
    async open(play) {
      const { upstream } = await openWorld({ script: play });
      const world = await openWorld({ messagesBaseUrl: upstream.baseUrl.replace(/\/v1$/, "") });
      const made: any = await (await world.app.api("POST", "/my/relay-tokens", { label: "" })).json();
      return {
        world,
        ask: (signal) =>
          fetch(`${world.app.url}/transparent/messages/${made.token}/v1/messages`, {
            method: "POST",
            headers: { "x-api-key": "sk-of-the-caller", "content-type": "application/json" },
            body: JSON.stringify({ model: "claude-a", stream: true, max_tokens: 9, messages: [] }),
            ...(signal !== undefined && { signal }),
          }),
      };
    },
  },
];

/** When a caller leaves. */
interface Phase {
  readonly name: string;
  play(call: UpstreamCall, event: string): Promise<unknown>;
  /** Whether its caller gets something of the answer before it leaves. */
  readonly isBegun: boolean;
}

const BEFORE_HEAD: Phase = { name: "before the head", play: async () => undefined, isBegun: false };
const MID_STREAM: Phase = {
  name: "in the middle of the stream",
  isBegun: true,
  async play(call, event) {
    await call.beginStream();
    await call.sendChunk(event);
  },
};
const IGNORED: Phase = {
  name: "in the middle of a stream that goes on whoever has left",
  isBegun: true,
  async play(call, event) {
    await call.beginStream();
    while (await call.sendChunk(event)) await Bun.sleep(1);
  },
};
const CELLS = LANES.flatMap((lane) =>
  [BEFORE_HEAD, MID_STREAM, IGNORED].map((phase) => [lane.name, phase.name, lane, phase] as const),
);

async function openLane(lane: Lane, phase: Phase) {
  const open = new OpenCalls();
  const asking = await lane.open(async (call) => {
    await open.add(call);
    await phase.play(call, lane.event);
  });
  return { open, asking };
}

/** Asks, and leaves once the upstream has the request. False where it was refused. */
async function leave(asking: Asking, open: OpenCalls, phase: Phase): Promise<boolean> {
  const leaving = new AbortController();
  const before = open.calls.length;
  let status: number | null = null;
  const asked = asking.ask(leaving.signal);
  asked.then(
    (answer) => (status = answer.status),
    () => undefined,
  );
  await until(
    () => open.calls.length > before || status === 429,
    () => "it was neither passed on nor refused",
  );
  if (status === 429) return false;
  if (phase.isBegun) await (await asked).body?.getReader().read();
  leaving.abort();
  await asked.catch(() => undefined);
  return true;
}

async function untilUnknown(world: World, id: string, count: number): Promise<LimitJson> {
  let limit = await world.readLimit(id);
  await until(
    async () => (limit = await world.readLimit(id))["unknown_requests"] === count,
    () => `it has counted ${String(limit["unknown_requests"])} and not ${count}`,
  );
  return limit;
}

describe("a caller that leaves before its usage is told", () => {
  test.each(CELLS)(
    "on %s, %s, is counted, and under unknown: 1 refused the next time",
    async (_, __, lane, phase) => {
      const { open, asking } = await openLane(lane, phase);
      const { world } = asking;
      const day = { measure: "tokens", amount: 1, window: "day" };
      const budget = await world.limit({ name: "budget", subject: {}, ...day });
      // Without it, no budget is moved: what it used is in no answer.
      for (let time = 1; time <= 3; time += 1) {
        expect(await leave(asking, open, phase)).toBe(true);
        expect(await untilUnknown(world, budget.id, time)).toMatchObject({ used: 0, left: 1 });
      }
      const changed = await world.admin("PATCH", `/limits/${budget.id}`, { unknown: 3 });
      expect(await changed.json()).toMatchObject({ unknown: 3, unknown_requests: 3 });
      const refused = await asking.ask();
      expect([refused.status, refused.headers.get("x-proxy-limit")]).toEqual([429, "budget"]);
      expect(await refused.text()).toContain(
        'The limit \\"budget\\" lets no more requests through: 3 ended before their usage was told, and it allows 3, since ',
      );
      expect(open.calls).toHaveLength(3);
      const lifted: any = await (
        await world.admin("PATCH", `/limits/${budget.id}`, { unknown: null })
      ).json();
      expect("unknown" in lifted).toBe(false);
      expect(await leave(asking, open, phase)).toBe(true);
      await untilUnknown(world, budget.id, 4);
    },
  );

  test("counts after a restart, in its window alone, and for each by itself", async () => {
    const folder = makeFolder();
    stops.push(() => folder.remove());
    const options = {
      dataDir: folder.path,
      // Answered, and no usage told.
      script: (call: UpstreamCall) => call.reply({ body: '{"choices":[]}' }),
    };
    const first = await startWorld(options);
    const ada = await first.person("ada");
    const { id } = await first.limit({
      name: "each",
      subject: {},
      each: "principal",
      measure: "cost",
      amount: 1,
      window: "total",
      unknown: 1,
    });
    expect(await outcomeOf(first.chat({ key: ada.key }))).toBe("200");
    expect(await outcomeOf(first.chat({ key: ada.key }))).toBe(REFUSED);
    await first.stop();
    const second = await openWorld(options);
    expect(await second.readLimit(id)).toMatchObject({ used: 0, unknown_requests: 1, unknown: 1 });
    expect(await outcomeOf(second.chat({ key: ada.key }))).toBe(REFUSED);
    expect(await outcomeOf(second.chat())).toBe("200");
    const own: any = await (
      await second.app.api("GET", "/my/limits", undefined, { authorization: `Bearer ${ada.key}` })
    ).json();
    expect(own.limits).toMatchObject([{ name: "each", unknown: 1, unknown_requests: 1 }]);
  });

  test("is not counted where the upstream failed, refused or told its usage", async () => {
    const answers = [{ status: 500, body: "{}" }, { status: 429, body: "{}" }, { body: COMPLETION }];
    const world = await openWorld({ script: (call) => call.reply(answers.shift() ?? { body: COMPLETION }) });
    const { id } = await world.limit({
      name: "budget",
      subject: {},
      measure: "requests",
      amount: 100,
      window: "hour",
      unknown: 1,
    });
    for (const status of [500, 429, 200]) expect((await world.chat()).status).toBe(status);
    await world.admin("PATCH", "/providers/up", { base_url: "http://127.0.0.1:1/v1" });
    expect(await outcomeOf(world.chat())).toBe("502 provider_unreachable");
    expect(await world.readLimit(id)).toMatchObject({ used: 4, unknown_requests: 0 });
  });

  test("is told when a sliding window lets it through again", async () => {
    const world = await openWorld({ script: (call) => call.reply({ body: '{"choices":[]}' }) });
    await world.limit({
      name: "m",
      subject: {},
      measure: "requests",
      amount: 9,
      window: "minute",
      unknown: 1,
    });
    expect(await outcomeOf(world.chat())).toBe("200");
    const refused = await world.chat();
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(await refused.text()).toContain(`in the last minute. Try again in ${seconds} s.`);
  });
});

describe("a place of a limit of concurrent requests", () => {
  test.each(CELLS)(
    "on %s, whose caller leaves %s, is kept while the upstream is called, and then given back",
    async (_, __, lane, phase) => {
      const { open, asking } = await openLane(lane, phase);
      const { world } = asking;
      const { id } = await world.limit({ name: "one", subject: {}, measure: "concurrent", amount: 1 });
      // A refused one tries again: its place is given back once the one before has been left.
      for (let left = 0; left < 20;) if (await leave(asking, open, phase)) left += 1;
      expect([open.calls.length, open.most]).toEqual([20, 1]);
      await until(
        async () => (await world.readLimit(id)).used === 0,
        () => "the last place was not given back",
      );
    },
  );
});

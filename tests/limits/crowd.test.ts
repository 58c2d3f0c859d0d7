import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runLocal } from "../cli/terminal.ts";
import { makeFolder } from "../support/folder.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { COMPLETION, createSetClock, outcomeOf, startWorld, type World, type WorldOptions } from "./world.ts";

const REFUSED = "429 limit_exceeded";
const CALLERS = 50;
const MESSAGE = '{"type":"message","usage":{"input_tokens":10,"output_tokens":10}}';
const worlds: World[] = [];
const folders: { remove(): void }[] = [];

async function openWorld(options: WorldOptions = {}): Promise<World> {
  const world = await startWorld(options);
  worlds.push(world);
  return world;
}

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.stop();
  for (const folder of folders.splice(0)) folder.remove();
});

const count = (outcomes: readonly string[], outcome: string) =>
  outcomes.filter((one) => one === outcome).length;

describe("fifty callers at once", () => {
  test("exceed a budget by no more than what was under way", async () => {
    const world = await openWorld();
    const limit = await world.limit({ name: "b", subject: {}, measure: "cost", amount: 2, window: "month" });
    const outcomes: string[] = [];
    const caller = async () => {
      while (outcomes.length < 200) outcomes.push(await outcomeOf(world.chat()));
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const passed = count(outcomes, "200");
    expect(passed).toBeGreaterThanOrEqual(20);
    expect(passed).toBeLessThanOrEqual(20 + CALLERS - 1);
    expect(count(outcomes, REFUSED)).toBe(outcomes.length - passed);
    expect(Math.round((await world.readLimit(limit.id)).used * 10)).toBe(passed);
  });

  test("exceed it by one request at most, with one at once beside it", async () => {
    const world = await openWorld();
    await world.limit({ name: "one", subject: {}, measure: "concurrent", amount: 1 });
    const budget = await world.limit({
      name: "b",
      subject: {},
      measure: "tokens",
      amount: 90,
      window: "day",
    });
    const outcomes: string[] = [];
    const caller = async () => {
      while (count(outcomes, "200") < 5) outcomes.push(await outcomeOf(world.chat()));
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    for (let more = 0; more < 3; more += 1) expect(await outcomeOf(world.chat())).toBe(REFUSED);
    expect((await world.readLimit(budget.id)).used).toBe(100);
  });
});

describe("the relay obeys the same limits", () => {
  test("those of its token, of the model that its body names, and of everybody", async () => {
    const script = (call: UpstreamCall) => call.reply({ body: MESSAGE });
    const upstream = await openWorld({ script });
    const world = await openWorld({ messagesBaseUrl: upstream.upstream.baseUrl.replace(/\/v1$/, "") });
    const made = JSON.parse(await (await world.app.api("POST", "/my/relay-tokens", { label: "" })).text());
    const send = (model: string, method = "POST") =>
      world.app.api(
        method,
        `/transparent/messages/${made.token}/v1/messages`,
        method === "POST" ? { model } : undefined,
        {
          "x-api-key": "sk-of-the-caller",
        },
      );
    const draft = { measure: "requests", window: "day" };
    await world.limit({
      name: "token",
      subject: { relay_token: made.id, model: "claude-a" },
      amount: 1,
      ...draft,
    });
    await world.limit({ name: "warns", subject: {}, amount: 1, action: "warn", ...draft });
    const first = await send("claude-a");
    expect([first.status, first.headers.get("x-proxy-limit-warning")]).toEqual([200, null]);
    const refused = await send("claude-a");
    expect([refused.status, refused.headers.get("x-proxy-limit")]).toEqual([429, "token"]);
    expect(JSON.parse(await refused.text()).error.code).toBe("limit_exceeded");
    const other = await send("claude-b");
    expect([other.status, other.headers.get("x-proxy-limit-warning")]).toEqual([200, "warns"]);
    expect((await send("claude-a", "HEAD")).status).not.toBe(429);
    expect(upstream.upstream.requests.filter(({ method }) => method === "POST").length).toBe(2);
    const log = JSON.parse(await (await world.admin("GET", "/requests")).text());
    expect(log.total).toBe(2);
  });
});

describe("a relayed body that is passed on piece by piece", () => {
  const draft = { measure: "requests", amount: 1, window: "day" };
  const large = (model: string) => JSON.stringify({ pad: "x".repeat(2 * 1024 * 1024), model });

  async function openRelay() {
    const upstream = await openWorld({ script: (call) => call.reply({ body: MESSAGE }) });
    const world = await openWorld({ messagesBaseUrl: upstream.upstream.baseUrl.replace(/\/v1$/, "") });
    const made = JSON.parse(await (await world.app.api("POST", "/my/relay-tokens", { label: "" })).text());
    const send = (body: string) =>
      outcomeOf(world.app.api("POST", `/transparent/messages/${made.token}/v1/messages`, body));
    return { world, send, received: upstream.upstream.requests };
  }

  test("never reaches its upstream whole when its model's limit is used up, and leaves no event", async () => {
    const { world, send, received } = await openRelay();
    const limit = await world.limit({ name: "a", subject: { model: "claude-a" }, ...draft });
    expect([await send(large("claude-a")), await send(large("claude-a"))]).toEqual(["200", REFUSED]);
    expect([await send(large("claude-b")), await send(large("claude-a"))]).toEqual(["200", REFUSED]);
    expect(received.length).toBe(2);
    expect(await world.readLimit(limit.id)).toMatchObject({ used: 1, refused: 2 });
    expect(JSON.parse(await (await world.admin("GET", "/requests")).text()).total).toBe(2);
    const { counts } = JSON.parse(await (await world.admin("GET", "/refusals")).text());
    expect(counts).toEqual({ limit_exceeded: 2 });
  });

  test("is let through once, of many at once", async () => {
    const { world, send, received } = await openRelay();
    const limit = await world.limit({ name: "all", subject: {}, ...draft });
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => send(large("claude-a"))));
    expect(outcomes.toSorted()).toEqual(["200", ...Array(4).fill(REFUSED)]);
    expect(received.length).toBe(1);
    expect((await world.readLimit(limit.id)).used).toBe(1);
  });

  test("is not refused for a price that its model has, nor is what uses nothing", async () => {
    const { world, send } = await openRelay();
    const price = (unit: string) => ({ model: "claude-a", unit, price_per_million: 1 });
    const entries = [price("input_tokens"), price("output_tokens")];
    expect(await outcomeOf(world.admin("POST", "/pricing", { version: "1", entries }))).toMatch(/^20/);
    const cost = { measure: "cost", amount: 1, window: "day", unpriced: "refuse" };
    await world.limit({ name: "priced", subject: {}, ...cost });
    expect([await send(large("claude-a")), await send(large("claude-b"))]).toEqual(["200", REFUSED]);
    expect([await send('{"model":"claude-a"}'), await send('{"model":"claude-b"}')]).toEqual([
      "200",
      REFUSED,
    ]);
    // As another process does: what memory knows of the catalog is no longer current.
    expect((await runLocal(world.app.dataDir, ["principal", "create", "other"])).code).toBe(0);
    expect(await send('{"model":"claude-a"}')).toBe("200");
  });
});

describe("a budget survives", () => {
  test("a restart: the next refusal comes where it would have come", async () => {
    const folder = makeFolder();
    folders.push(folder);
    const dataDir = join(folder.path, "data");
    const first = await startWorld({ dataDir });
    await first.limit({ name: "b", subject: {}, measure: "cost", amount: 0.3, window: "month" });
    await first.limit({ name: "h", subject: {}, each: "key", measure: "tokens", amount: 50, window: "hour" });
    expect([await outcomeOf(first.chat()), await outcomeOf(first.chat())]).toEqual(["200", "200"]);
    const { adminKey } = first.app;
    await first.stop();
    expect(existsSync(dataDir)).toBe(true);
    const second = await openWorld({ dataDir });
    const ask = () => outcomeOf(second.chat({ key: adminKey }));
    expect([await ask(), await ask()]).toEqual(["200", REFUSED]);
    const list = JSON.parse(await (await second.admin("GET", "/limits")).text()).limits;
    expect(list.map(({ used }: { used: number }) => used)).toEqual([0.3, 60]);
  });

  test("a clock that is set back over the start of its window: what that window held counts again", async () => {
    const clock = createSetClock("2026-11-30T12:00:00Z");
    const world = await openWorld({ clock });
    const limit = await world.limit({
      name: "b",
      subject: {},
      measure: "requests",
      amount: 1,
      window: "month",
    });
    expect([await outcomeOf(world.chat()), await outcomeOf(world.chat())]).toEqual(["200", REFUSED]);
    clock.set("2026-12-01T00:00:01Z");
    expect([await outcomeOf(world.chat()), await outcomeOf(world.chat())]).toEqual(["200", REFUSED]);
    clock.set("2026-11-30T12:30:00Z");
    expect(await outcomeOf(world.chat())).toBe(REFUSED);
    expect(await world.readLimit(limit.id)).toMatchObject({
      used: 1,
      window_start: "2026-11-01T00:00:00.000000Z",
    });
  });

  test("its key's deletion: another key is another key", async () => {
    const world = await openWorld();
    const ann = await world.person("ann");
    await world.limit({
      name: "k",
      subject: {},
      each: "key",
      measure: "requests",
      amount: 1,
      window: "total",
    });
    expect([
      await outcomeOf(world.chat({ key: ann.key })),
      await outcomeOf(world.chat({ key: ann.key })),
    ]).toEqual(["200", REFUSED]);
    const made = JSON.parse(
      await (await world.admin("POST", "/keys", { principal: "ann", label: "" })).text(),
    );
    expect(await outcomeOf(world.chat({ key: made.key }))).toBe("200");
  });

  test("a request that goes on over the end of its window is counted in the one in which it ends", async () => {
    const clock = createSetClock("2026-11-30T23:59:59Z");
    const world = await openWorld({ clock, script: null });
    const limit = await world.limit({ name: "b", subject: {}, measure: "cost", amount: 1, window: "month" });
    const asked = world.chat();
    const call = await world.upstream.nextCall();
    clock.pass(2);
    await call.reply({ body: COMPLETION });
    expect(await outcomeOf(asked)).toBe("200");
    expect(await world.readLimit(limit.id)).toMatchObject({
      used: 0.1,
      window_start: "2026-12-01T00:00:00.000000Z",
    });
    const another = await world.limit({
      name: "c",
      subject: {},
      measure: "tokens",
      amount: 100,
      window: "week",
    });
    expect(another.used).toBe(20);
    clock.set("2026-11-30T23:59:59Z");
    expect(await world.readLimit(limit.id)).toMatchObject({ used: 0 });
  });
});

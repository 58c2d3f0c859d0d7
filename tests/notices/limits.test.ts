import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Limit } from "#limits/limit.ts";
import { LimitNotices } from "#notices/limit-notices.ts";
import type { NoticeDraft } from "#notices/notice.ts";
import type { Telling } from "#notices/store.ts";
import { makeFolder } from "../support/folder.ts";
import { createSetClock, outcomeOf, startWorld, type World, type WorldOptions } from "../limits/world.ts";
import { TEAMS } from "../limits/limit.ts";
import { startWebhook, type Webhook } from "./webhook.ts";

setDefaultTimeout(30_000);

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function openWebhook(...answer: Parameters<typeof startWebhook>): Promise<Webhook> {
  const webhook = await startWebhook(...answer);
  stops.push(() => webhook.stop());
  return webhook;
}

async function openWorld(options: WorldOptions): Promise<World> {
  const world = await startWorld(options);
  stops.push(() => world.stop());
  return world;
}

const chat = async (world: World, times: number, options = {}) => {
  for (let time = 0; time < times; time += 1) expect(await outcomeOf(world.chat(options))).toBe("200");
};
/** A notice that comes after whatever was told before, once for each webhook: nothing is still on its way then. */
const tellLast = async (world: World, webhook: Webhook) => {
  await chat(world, 1, { model: "free" });
  while (webhook.types().at(-1) !== "price.missing") await webhook.received(webhook.notices.length + 1);
};
/** The answer of a webhook may come a moment after it was received: a server that stops before sends the notice once more. */
const allTaken = async ({ app }: World) => {
  const waits = async () =>
    !/^proxy_notices_waiting 0$/m.test(await (await fetch(`${app.url}/metrics`)).text());
  while (await waits());
};

describe("a limit tells", () => {
  test("limit.warned at 80 % and limit.reached at its amount, each once, and nothing when requests are refused", async () => {
    const webhook = await openWebhook();
    const clock = createSetClock("2026-11-23T12:00:00Z");
    const world = await openWorld({ clock, webhookUrl: webhook.url });
    const { id } = await world.limit({
      name: "team: day",
      subject: {},
      measure: "cost",
      amount: 0.5,
      window: "day",
    });
    await chat(world, 3, { model: "m" });
    expect(webhook.notices).toEqual([]);
    await chat(world, 1);
    await webhook.received(1);
    await chat(world, 1);
    await webhook.received(2);
    expect(await outcomeOf(world.chat())).toBe("429 limit_exceeded");
    expect(webhook.types()).toEqual(["limit.warned", "limit.reached"]);
    const [warned, reached] = webhook.notices;
    expect(warned).toMatchObject({
      text: 'The limit "team: day" is 80 % used: 0.40 of 0.50 since 2026-11-23, until 2026-11-24T00:00:00Z.',
      limit: {
        id,
        name: "team: day",
        measure: "cost",
        amount: 0.5,
        used: 0.4,
        window: "day",
        action: "refuse",
        resets_at: "2026-11-24T00:00:00.000000Z",
      },
    });
    expect(warned!.id).not.toBe(reached!.id);
    expect(warned!.at).toStartWith("2026-11-23T12:00:00");
    expect(reached!.text).toBe(
      'The limit "team: day" is used up: 0.50 of 0.50 since 2026-11-23, and requests are refused until 2026-11-24T00:00:00Z.',
    );
    const headers = webhook.calls.map(({ request }) => request.headers.get("x-proxy-signature"));
    expect(headers.every((header) => /^sha256=[0-9a-f]{64}$/.test(header ?? ""))).toBe(true);
    expect(JSON.stringify(webhook.notices)).not.toContain(world.app.adminKey);
  });

  test("anew in the next window, and after its amount was changed", async () => {
    const webhook = await openWebhook();
    const clock = createSetClock("2026-11-23T23:00:00Z");
    const world = await openWorld({ clock, webhookUrl: webhook.url });
    const { id } = await world.limit({
      name: "day",
      subject: { model: "m" },
      measure: "requests",
      amount: 1,
      window: "day",
    });
    await chat(world, 1);
    await webhook.received(1);
    await world.admin("PATCH", `/limits/${id}`, { amount: 5 });
    await chat(world, 4);
    await webhook.received(3);
    clock.pass(3600);
    await chat(world, 5);
    await webhook.received(5);
    await tellLast(world, webhook);
    expect(webhook.types()).toEqual([
      "limit.reached",
      "limit.warned",
      "limit.reached",
      "limit.warned",
      "limit.reached",
      "price.missing",
    ]);
    // What went past both at once was told once.
    expect(webhook.notices[0]!["limit"]).toMatchObject({ amount: 1, used: 1 });
    expect(webhook.notices[1]!["limit"]).toMatchObject({ amount: 5, used: 4 });
  });

  test("for each value by itself", async () => {
    const webhook = await openWebhook();
    const world = await openWorld({ webhookUrl: webhook.url });
    const limit = { subject: { model: "m" }, measure: "requests", amount: 1, window: "total" };
    await world.limit({ ...limit, name: "team", each: "tag:team" });
    await world.limit({ ...limit, name: "person", each: "principal", action: "warn" });
    const ada = await world.person("ada");
    await chat(world, 1, { tags: "team:a" });
    await chat(world, 1, { tags: "team:b", key: ada.key });
    await webhook.received(4);
    await chat(world, 1, { key: ada.key });
    await tellLast(world, webhook);
    const told = webhook.notices
      .slice(0, 4)
      .map(({ limit: { name, tag, principal } }) => [name, tag ?? principal]);
    expect(told).toEqual([
      ["team", "team:a"],
      ["person", "admin"],
      ["team", "team:b"],
      ["person", "ada"],
    ]);
    expect(webhook.notices[3]!.text).toBe(
      'The limit "person" of "ada" is used up: 1 of 1 requests in all, and requests go on, with a warning.',
    );
    expect(webhook.types()).toHaveLength(5);
  });

  test("of many values ten one by one, and the others in one notice that tells how many they are", () => {
    const told: (NoticeDraft & Omit<Telling, "notice">)[] = [];
    const notices = new LimitNotices((draft, once) => void told.push({ ...draft, ...once }));
    const limit: Limit = { ...TEAMS, amount: 1n };
    const atUs = Date.UTC(2026, 10, 23, 12) * 1000;
    const move = (value: string, used = 1n, of = limit) =>
      notices.moved(of, { value, label: value }, { used, atUs });
    for (let index = 0; index < 10; index += 1) move(`team:${index}`);
    notices.tellMany(atUs);
    expect(told.map(({ type }) => type)).toEqual(Array(10).fill("limit.reached"));
    for (let index = 10; index < 1_500; index += 1) move(`team:${index}`);
    // Another limit has its own ten, and what is told again of the same values is not counted twice.
    move("team:a", 1n, { ...limit, id: "another" });
    for (let index = 0; index < 1_500; index += 1) move(`team:${index}`);
    notices.tellMany(atUs);
    notices.tellMany(atUs);
    expect(told).toHaveLength(12);
    expect(told.at(-1)).toMatchObject({
      type: "limit.reached",
      text: 'The limit "every team" is used to 80 % or more by 1500 of those that it holds for since 2026-11-23, and used up by 1500 of them, until 2026-11-24T00:00:00Z.',
      facts: { limit: { id: "teams", values: 1_500, values_reached: 1_500 } },
    });
    for (let index = 1_500; index < 10_000; index += 1) move(`team:${index}`);
    notices.tellMany(atUs);
    expect(told.at(-1)?.facts["limit"]).toMatchObject({ values: 10_000 });
    expect(new Set(told.map(({ mark }) => mark?.name)).size).toBe(13);
    // A limit that has no values tells each level by itself.
    for (const used of [1n, 2n]) move("", used, { ...limit, id: "all", each: null, amount: 2n });
    expect(told.slice(13).map(({ type }) => type)).toEqual(["limit.warned", "limit.reached"]);
  });

  test("of a window that slides once an hour, whatever goes on in it", async () => {
    const webhook = await openWebhook();
    const clock = createSetClock("2026-11-23T12:00:00Z");
    const world = await openWorld({ clock, webhookUrl: webhook.url });
    await world.limit({
      name: "minute",
      subject: { model: "m" },
      measure: "requests",
      amount: 1,
      window: "minute",
    });
    await chat(world, 1);
    for (let minute = 0; minute < 30; minute += 1) {
      clock.pass(61);
      await chat(world, 1);
    }
    await tellLast(world, webhook);
    expect(webhook.types()).toEqual(["limit.reached", "price.missing"]);
    clock.pass(3600);
    await chat(world, 1);
    await webhook.received(3);
    expect(webhook.types().at(-1)).toBe("limit.reached");
  });

  test("what a window already holds when the limit is made, and nothing of one that is disabled or of concurrent requests", async () => {
    const webhook = await openWebhook();
    const world = await openWorld({ webhookUrl: webhook.url });
    await chat(world, 2);
    const limit = { subject: { model: "m" }, measure: "requests", amount: 2, window: "total" };
    await world.limit({ ...limit, name: "off", enabled: false });
    await world.limit({ name: "one", subject: { model: "m" }, measure: "concurrent", amount: 1 });
    const { id } = await world.limit({ ...limit, name: "on" });
    await webhook.received(1);
    await world.admin("PATCH", `/limits/${id}`, { enabled: false });
    await chat(world, 1);
    await tellLast(world, webhook);
    expect(webhook.notices.map(({ limit: told }) => told?.name)).toEqual(["on", undefined]);
  });

  test("once a window also across restarts, and what had not arrived arrives then", async () => {
    const folder = makeFolder();
    stops.push(() => folder.remove());
    const clock = createSetClock("2026-11-23T12:00:00Z");
    const hanging = await openWebhook(() => undefined);
    const first = await startWorld({ clock, dataDir: folder.path, webhookUrl: hanging.url });
    await first.limit({
      name: "day",
      subject: {},
      measure: "requests",
      amount: 1,
      window: "day",
      action: "warn",
    });
    await chat(first, 1);
    await hanging.received(1);
    await chat(first, 1);
    await first.stop();

    const webhook = await openWebhook();
    const second = await startWorld({ clock, dataDir: folder.path, webhookUrl: webhook.url });
    await webhook.received(1);
    expect(webhook.notices[0]).toEqual(hanging.notices[0]);
    await chat(second, 2);
    await tellLast(second, webhook);
    await allTaken(second);
    await second.stop();

    const third = await openWorld({ clock, dataDir: folder.path, webhookUrl: webhook.url });
    await chat(third, 2);
    clock.set("2026-11-24T01:00:00Z");
    await chat(third, 1);
    await webhook.received(3);
    expect(webhook.types()).toEqual(["limit.reached", "price.missing", "limit.reached"]);
    expect(hanging.notices).toHaveLength(1);
  });

  test("what was used before the server had a webhook, or was killed on the way to it", async () => {
    const folder = makeFolder();
    stops.push(() => folder.remove());
    const clock = createSetClock("2026-11-23T12:00:00Z");
    const first = await startWorld({ clock, dataDir: folder.path });
    const limit = { subject: { model: "m" }, measure: "requests", window: "day" };
    await first.limit({ ...limit, name: "nearly", amount: 5 });
    await first.limit({ ...limit, name: "hardly", amount: 6 });
    await chat(first, 4);
    await first.stop();
    const webhook = await openWebhook();
    const second = await openWorld({ clock, dataDir: folder.path, webhookUrl: webhook.url });
    await webhook.received(1);
    await tellLast(second, webhook);
    expect(webhook.notices.map(({ type, limit: told }) => [type, told?.name])).toEqual([
      ["limit.warned", "nearly"],
      ["price.missing", undefined],
    ]);
  });
});

describe("a webhook that hangs", () => {
  test("is in the way of no request, of no limit and not of the end of the server", async () => {
    const webhook = await openWebhook(() => undefined);
    const world = await startWorld({ webhookUrl: webhook.url });
    await world.limit({ name: "two", subject: {}, measure: "requests", amount: 2, window: "total" });
    await chat(world, 2);
    await webhook.received(1);
    expect(await outcomeOf(world.chat())).toBe("429 limit_exceeded");
    const metrics = await (await fetch(`${world.app.url}/metrics`)).text();
    expect(metrics).toMatch(/^proxy_notices_waiting 1$/m);
    expect(metrics).not.toContain("SECRET-PATH");
    await world.stop();
    await webhook.calls[0]!.closed;
  });
});

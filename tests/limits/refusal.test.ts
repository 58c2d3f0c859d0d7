import { afterEach, describe, expect, test } from "bun:test";
import {
  COST,
  TOKENS,
  createSetClock,
  outcomeOf,
  startWorld,
  type World,
  type WorldOptions,
} from "./world.ts";

const REFUSED = "429 limit_exceeded";
/** Without the request's id, which ends it. */
const messageOf = async (response: Response) =>
  JSON.parse(await response.text()).error.message.replace(/ \(request [0-9a-f-]{36}\)$/, "");
const worlds: World[] = [];

async function openWorld(options: WorldOptions = {}): Promise<World> {
  const world = await startWorld(options);
  worlds.push(world);
  return world;
}

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.stop();
});

describe("a limit that is used up refuses the next request", () => {
  test("with 429 limit_exceeded, its name, its sentence and the seconds until it starts anew, and nothing goes upstream or into the ledger", async () => {
    const clock = createSetClock("2026-11-30T23:59:00Z");
    const world = await openWorld({ clock });
    await world.limit({ name: "grace: month", subject: {}, measure: "cost", amount: 0.2, window: "month" });
    expect([await outcomeOf(world.chat()), await outcomeOf(world.chat())]).toEqual(["200", "200"]);
    const refused = await world.chat();
    const { error, proxy }: any = await refused.json();
    expect(refused.status).toBe(429);
    const requestId = refused.headers.get("x-proxy-request-id");
    expect(error).toEqual({
      message: `The limit "grace: month" is used up: 0.20 of 0.20 since 2026-11-01. It starts anew at 2026-12-01T00:00:00Z. (request ${requestId})`,
      type: "proxy_error",
      code: "limit_exceeded",
      param: null,
    });
    expect(proxy).toEqual({ source: "proxy", request_id: requestId });
    expect(refused.headers.get("x-proxy-limit")).toBe("grace: month");
    expect(refused.headers.get("retry-after")).toBe("60");
    expect(refused.headers.get("x-should-retry")).toBe(null);
    expect(refused.headers.get("x-proxy-error-source")).toBe("proxy");
    expect(world.upstream.requests.length).toBe(2);
    const log: any = await (await world.admin("GET", "/requests")).json();
    expect(log.total).toBe(2);
    clock.pass(60);
    expect(await outcomeOf(world.chat())).toBe("200");
  });

  test("and tells official SDKs not to try again where waiting a minute does not help", async () => {
    const clock = createSetClock("2026-11-10T12:00:00Z");
    const world = await openWorld({ clock });
    await world.limit({ name: "day", subject: {}, measure: "tokens", amount: TOKENS, window: "day" });
    await world.limit({
      name: "all",
      subject: { model: "free" },
      measure: "requests",
      amount: 1,
      window: "total",
    });
    expect(await outcomeOf(world.chat())).toBe("200");
    const day = await world.chat();
    expect([day.headers.get("retry-after"), day.headers.get("x-should-retry")]).toEqual(["43200", "false"]);
    clock.set("2026-11-11T00:00:00Z");
    expect(await outcomeOf(world.chat({ model: "free" }))).toBe("200");
    clock.set("2026-11-12T00:00:00Z");
    const total = await world.chat({ model: "free" });
    expect([total.headers.get("retry-after"), total.headers.get("x-should-retry")]).toEqual([null, "false"]);
    expect(await messageOf(total)).toBe(
      'The limit "all" is used up: 1 of 1 requests in all. It does not start anew.',
    );
  });

  test("and counts the refusal of the limit that lasts longest, once", async () => {
    const clock = createSetClock("2026-11-10T12:00:00Z");
    const world = await openWorld({ clock });
    const minute = await world.limit({
      name: "a minute",
      subject: {},
      measure: "requests",
      amount: 1,
      window: "minute",
    });
    const day = await world.limit({
      name: "a day",
      subject: {},
      measure: "requests",
      amount: 1,
      window: "day",
    });
    await world.chat();
    expect((await world.chat()).headers.get("x-proxy-limit")).toBe("a day");
    expect((await world.readLimit(day.id))["refused"]).toBe(1);
    expect((await world.readLimit(day.id))["last_refused_at"]).toMatch(/^2026-11-10T12:00:/);
    expect((await world.readLimit(minute.id))["refused"]).toBe(0);
    const metrics = await (await world.app.api("GET", "/metrics")).text();
    expect(metrics).toContain('proxy_limit_refusals_total{measure="requests",window="day"} 1');
    expect(metrics).not.toContain('window="minute"');
  });

  test("counts cache reads as tokens and not as uncached ones; cache writes and output are both", async () => {
    const clock = createSetClock("2026-11-10T12:00:00Z");
    const usage = {
      prompt_tokens: 1000,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 900, cache_write_tokens: 60 },
    };
    const world = await openWorld({
      clock,
      script: (call) => call.reply({ body: JSON.stringify({ choices: [], usage }) }),
    });
    const draft = { subject: {}, each: "principal", amount: 120, window: "month" };
    const all = await world.limit({ ...draft, name: "all", amount: 5000, measure: "tokens" });
    const uncached = await world.limit({ ...draft, name: "uncached", measure: "uncached_tokens" });
    expect(await outcomeOf(world.chat())).toBe("200");
    const refused = await world.chat();
    expect([refused.status, refused.headers.get("x-proxy-limit")]).toEqual([429, "uncached"]);
    expect(await messageOf(refused)).toBe(
      'The limit "uncached" is used up: 120 of 120 uncached tokens since 2026-11-01. It starts anew at 2026-12-01T00:00:00Z.',
    );
    expect((await world.readLimit(all.id)).used).toBe(1020);
    expect(await world.readLimit(uncached.id)).toMatchObject({ used: 120, left: 0 });
    const late = await world.limit({ ...draft, name: "late", measure: "uncached_tokens", window: "hour" });
    expect(late.used).toBe(120);
    const metrics = await (await world.app.api("GET", "/metrics")).text();
    expect(metrics).toContain('proxy_limit_refusals_total{measure="uncached_tokens",window="month"} 1');
  });

  test("and lets it through again when what a sliding minute holds has left it, exactly after retry-after", async () => {
    const clock = createSetClock("2026-11-10T12:00:00Z");
    const world = await openWorld({ clock });
    await world.limit({ name: "rate", subject: {}, measure: "requests", amount: 2, window: "minute" });
    await world.chat();
    clock.pass(30);
    await world.chat();
    clock.pass(10);
    const refused = await world.chat();
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBe(20);
    expect(refused.headers.get("x-should-retry")).toBe(null);
    expect(await messageOf(refused)).toBe(
      'The limit "rate" is used up: 2 of 2 requests in the last minute. Try again in 20 s.',
    );
    clock.pass(19);
    expect(await outcomeOf(world.chat())).toBe(REFUSED);
    clock.pass(2);
    expect([await outcomeOf(world.chat()), await outcomeOf(world.chat())]).toEqual(["200", REFUSED]);
  });

  test("and asks for a minute at most in a sliding minute, which official SDKs wait", async () => {
    const world = await openWorld({ clock: createSetClock("2026-11-10T12:00:00Z") });
    await world.limit({ name: "rate", subject: {}, measure: "requests", amount: 1, window: "minute" });
    await world.chat();
    const refused = await world.chat();
    expect([refused.headers.get("retry-after"), refused.headers.get("x-should-retry")]).toEqual(["60", null]);
  });

  test("as long as so many are under way, for a limit of concurrent requests", async () => {
    const world = await openWorld({ script: null });
    const limit = await world.limit({
      name: "two",
      subject: { model: "m" },
      measure: "concurrent",
      amount: 2,
    });
    const under = [world.chat(), world.chat()];
    const calls = [await world.upstream.nextCall(), await world.upstream.nextCall()];
    expect((await world.readLimit(limit.id)).used).toBe(2);
    const refused = await world.chat();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    await calls[0]?.reply({ body: "{}" });
    await Promise.race(under);
    expect((await world.readLimit(limit.id)).left).toBe(1);
    const third = world.chat();
    const call = await world.upstream.nextCall();
    for (const open of [calls[1], call]) await open?.reply({ body: "{}" });
    expect([await outcomeOf(under[0]!), await outcomeOf(under[1]!), await outcomeOf(third)]).toEqual([
      "200",
      "200",
      "200",
    ]);
    expect((await world.readLimit(limit.id)).used).toBe(0);
  });

  test("also before those under way have ended, for a limit of requests, so that it is never exceeded", async () => {
    const world = await openWorld({ script: null });
    const limit = await world.limit({
      name: "three",
      subject: {},
      measure: "requests",
      amount: 3,
      window: "day",
    });
    const asked = Array.from({ length: 10 }, () => world.chat());
    const calls = [];
    while (calls.length < 3) calls.push(await world.upstream.nextCall());
    expect(await messageOf(await world.chat())).toStartWith(
      'The limit "three" is used up: 3 of 3 requests since',
    );
    for (const call of calls) await call.reply({ body: "{}" });
    const outcomes = await Promise.all(asked.map(outcomeOf));
    expect(outcomes.toSorted()).toEqual([...Array(3).fill("200"), ...Array(7).fill(REFUSED)]);
    expect((await world.readLimit(limit.id)).used).toBe(3);
  });
});

describe("a limit holds for its subject and for nothing else", () => {
  test("a principal, a key, a tag and a model, each by itself and with a model beside it", async () => {
    const world = await openWorld();
    const [ann, bob] = [await world.person("ann"), await world.person("bob")];
    const once = { measure: "requests", amount: 1, window: "total" };
    await world.limit({ name: "p", subject: { principal: "ann" }, ...once });
    await world.limit({ name: "k", subject: { key: bob.keyId, model: "m" }, ...once });
    await world.limit({ name: "t", subject: { tag: "Team:Search" }, ...once });
    const outcomes = [];
    for (const options of [
      { key: ann.key },
      { key: ann.key, model: "free" },
      { key: bob.key },
      { key: bob.key },
      { key: bob.key, model: "free" },
      { tags: "team:search,app:x" },
      { tags: "app:y,team:search" },
      { tags: "team:sear" },
    ]) {
      outcomes.push(await outcomeOf(world.chat(options)));
    }
    expect(outcomes).toEqual(["200", REFUSED, "200", REFUSED, "200", "200", REFUSED, "200"]);
  });

  test("each principal, each key and each value of a tag by itself", async () => {
    const world = await openWorld();
    const [ann, bob] = [await world.person("ann"), await world.person("bob")];
    const once = { measure: "requests", amount: 1, window: "total" };
    const people = await world.limit({ name: "each", subject: {}, each: "principal", ...once });
    expect(await outcomeOf(world.chat({ key: ann.key }))).toBe("200");
    expect(await outcomeOf(world.chat({ key: ann.key }))).toBe(REFUSED);
    expect(await outcomeOf(world.chat({ key: bob.key }))).toBe("200");
    expect(await world.readLimit(people.id)).toMatchObject({
      used: 1,
      top: [
        { principal: "ann", used: 1, left: 0, unpriced_requests: 0 },
        { principal: "bob", used: 1, left: 0, unpriced_requests: 0 },
      ],
    });
    await world.admin("DELETE", `/limits/${people.id}`);
    await world.limit({ name: "teams", subject: {}, each: "tag:team", ...once });
    expect(await outcomeOf(world.chat({ tags: "team:a" }))).toBe("200");
    expect(await outcomeOf(world.chat({ tags: "team:a,x:y" }))).toBe(REFUSED);
    expect(await outcomeOf(world.chat({ tags: "team:b" }))).toBe("200");
    expect([await outcomeOf(world.chat()), await outcomeOf(world.chat())]).toEqual(["200", "200"]);
    await world.limit({ name: "keys", subject: { principal: "bob" }, each: "key", ...once });
    expect(await outcomeOf(world.chat({ key: bob.key }))).toBe(REFUSED);
  });

  test("a renamed model keeps its limits and what was used under its former name, also when another model takes that", async () => {
    const world = await openWorld();
    const limit = await world.limit({
      name: "m",
      subject: { model: "m" },
      measure: "requests",
      amount: 1,
      window: "total",
    });
    await world.chat();
    expect(await outcomeOf(world.admin("PATCH", "/models/m", { alias: "n" }))).toBe("200");
    expect(await outcomeOf(world.chat({ model: "n" }))).toBe(REFUSED);
    expect(await world.readLimit(limit.id)).toMatchObject({ subject: { model: "n" }, used: 1 });
    const again = { alias: "m", provider: "up", upstream_name: "x", capabilities: ["chat"] };
    expect(await outcomeOf(world.admin("POST", "/models", again))).toBe("201");
    // The other goes elsewhere: it is not bound, and what it uses does not count.
    expect(await outcomeOf(world.chat({ model: "m" }))).toBe("200");
    expect(await world.readLimit(limit.id)).toMatchObject({ subject: { model: "n" }, used: 1 });
    expect(await outcomeOf(world.chat({ model: "n" }))).toBe(REFUSED);
  });

  test("a renamed model's former name that leads to it again, or to where it goes, is bound by its limits", async () => {
    const world = await openWorld();
    const draft = { subject: { model: "m" }, measure: "requests", amount: 2, window: "total" };
    const limit = await world.limit({ name: "m", ...draft });
    await world.chat();
    await world.admin("PATCH", "/models/m", { alias: "n" });
    expect(await outcomeOf(world.admin("POST", "/models", { alias: "m", target: "n" }))).toBe("201");
    expect((await world.readLimit(limit.id)).used).toBe(1);
    expect(await outcomeOf(world.chat({ model: "m" }))).toBe("200");
    expect([
      await outcomeOf(world.chat({ model: "m" })),
      await outcomeOf(world.chat({ model: "n" })),
    ]).toEqual([REFUSED, REFUSED]);
    // Where the name is given to another target, that is another model, and what was used before still counts.
    await world.admin("DELETE", "/models/m");
    const binding = { alias: "m", provider: "up", capabilities: ["chat"] };
    await world.admin("POST", "/models", { ...binding, upstream_name: "um" });
    expect(await outcomeOf(world.chat({ model: "m" }))).toBe(REFUSED);
    await world.admin("PATCH", "/models/m", { upstream_name: "x" });
    expect(await outcomeOf(world.chat({ model: "m" }))).toBe("200");
    expect(await world.readLimit(limit.id)).toMatchObject({ used: 2 });
  });
});

describe("a limit with action warn", () => {
  test("answers as always, and names itself in x-proxy-limit-warning", async () => {
    const world = await openWorld();
    const limit = await world.limit({
      name: "größe, eins",
      subject: {},
      measure: "cost",
      amount: COST,
      window: "day",
      action: "warn",
    });
    const first = await world.chat();
    expect([first.status, first.headers.get("x-proxy-limit-warning")]).toEqual([200, null]);
    const second = await world.chat();
    expect([second.status, second.headers.get("x-proxy-limit-warning")]).toEqual([
      200,
      "gr%C3%B6%C3%9Fe, eins",
    ]);
    expect(await world.readLimit(limit.id)).toMatchObject({ used: 2 * COST, left: 0, refused: 0 });
  });
});

describe("usage without a price", () => {
  test("is counted as unpriced requests and not as zero in silence, and refused only where a limit says so", async () => {
    const world = await openWorld();
    const limit = await world.limit({ name: "c", subject: {}, measure: "cost", amount: 10, window: "day" });
    expect(await outcomeOf(world.chat({ model: "free" }))).toBe("200");
    expect(await world.readLimit(limit.id)).toMatchObject({
      used: 0,
      unpriced_requests: 1,
      unpriced: "allow",
    });
    await world.admin("PATCH", `/limits/${limit.id}`, { unpriced: "refuse" });
    const refused = await world.chat({ model: "free" });
    expect([
      refused.status,
      refused.headers.get("retry-after"),
      refused.headers.get("x-should-retry"),
    ]).toEqual([429, null, "false"]);
    expect(await outcomeOf(world.chat())).toBe("200");
  });
});

describe("what was used of a limit is what the ledger holds", () => {
  test("from before it was made, before it was changed, and before a restart", async () => {
    const world = await openWorld();
    await world.chat();
    await world.chat();
    const limit = await world.limit({
      name: "late",
      subject: {},
      measure: "cost",
      amount: 1,
      window: "month",
    });
    expect(limit.used).toBe(0.2);
    await world.chat();
    const rate = await world.limit({
      name: "rate",
      subject: {},
      measure: "tokens",
      amount: 100,
      window: "hour",
    });
    expect(rate.used).toBe(3 * TOKENS);
    for (const window of ["week", "total", "minute", "day"]) {
      const changed = await (await world.admin("PATCH", `/limits/${limit.id}`, { window })).json();
      expect(changed).toMatchObject({ used: 0.3, window });
    }
  });
});

describe("a limit of cost that refuses what has no price", () => {
  test("lets a model pass that has prices under conditions alone, and refuses one whose every set lacks a unit, or that has none", async () => {
    const world = await openWorld();
    const flex = (pricing: object) => ({ price_variants: [{ when: { tier: "flex" }, pricing }] });
    const both = { input_tokens: 1, output_tokens: 1 };
    await world.limit({
      name: "priced",
      subject: {},
      measure: "cost",
      amount: 1,
      window: "day",
      unpriced: "refuse",
    });
    const answers: string[] = [];
    for (const prices of [{}, flex({ input_tokens: 1 }), flex(both)]) {
      expect(await outcomeOf(world.admin("PATCH", "/models/free", prices))).toBe("200");
      answers.push(await outcomeOf(world.chat({ model: "free" })));
    }
    // The standard set lacks a unit that the variant has: its answer may be the one that is priced.
    await world.admin("PATCH", "/models/free", { pricing: { input_tokens: 1 } });
    answers.push(await outcomeOf(world.chat({ model: "free" })));
    await world.admin("PATCH", "/models/free", { price_variants: [] });
    answers.push(await outcomeOf(world.chat({ model: "free" })));
    expect(answers).toEqual([REFUSED, REFUSED, "200", "200", REFUSED]);
    expect(world.upstream.requests.length).toBe(2);
  });
});

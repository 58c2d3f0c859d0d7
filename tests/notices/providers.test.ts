import { afterEach, describe, expect, test } from "bun:test";
import type { NoticeDraft } from "#notices/notice.ts";
import { PriceNotices, UNPRICED_MODELS_MAX, UNPRICED_MODELS_OF_PRINCIPAL_MAX } from "#notices/notices.ts";
import { ProviderNotices } from "#notices/provider-notices.ts";
import type { Telling } from "#notices/store.ts";
import { RELAY_PROVIDER, type UsageBeginning, type UsageEnding } from "#usage/event.ts";
import { COMPLETION, startWorld, type World } from "../limits/world.ts";
import { startWebhook, type Webhook } from "./webhook.ts";

const DAY_US = 86_400_000_000;
const SUBJECT: UsageBeginning = {
  principalId: "p",
  principalName: "ada",
  keyId: null,
  relayTokenId: null,
  providerId: "up-id",
  model: "m",
  upstreamName: "um",
  endpoint: "chat",
  client: null,
  tags: [],
  fixedTags: [],
  arrivedAtUs: 20_000 * DAY_US,
  streamed: false,
};
const OK: UsageEnding = {
  statusCode: 200,
  outcome: "ok",
  errorKind: null,
  durationUs: 1,
  timeToFirstByteUs: null,
  usage: null,
  prices: {},
  costPico: null,
  unpriced: false,
};
const FAILED: UsageEnding = { ...OK, statusCode: 500, outcome: "upstream_error", errorKind: "http_500" };
const CANCELLED: UsageEnding = { ...OK, statusCode: 499, outcome: "cancelled" };
const BAD_REQUEST: UsageEnding = { ...FAILED, statusCode: 400, errorKind: "http_400" };
const INTERRUPTED: UsageEnding = { ...OK, statusCode: 502, outcome: "unreachable", errorKind: "interrupted" };
const UNREACHABLE: UsageEnding = { ...INTERRUPTED, errorKind: "timeout" };

function createTold() {
  const told: (NoticeDraft & Omit<Telling, "notice">)[] = [];
  return {
    told,
    tell: (draft: NoticeDraft, once: Omit<Telling, "notice">) => void told.push({ ...draft, ...once }),
    types: () => told.map(({ type }) => type),
  };
}

async function watchProviders(marks: readonly string[] = []) {
  let nowMs = 1_000_000;
  const { tell, ...told } = createTold();
  const clock = { nowUs: () => 0, monotonicMs: () => nowMs };
  const notices = new ProviderNotices({ store: { listMarks: async () => marks }, clock, tell });
  await notices.load();
  return {
    ...told,
    pass: (seconds: number) => void (nowMs += seconds * 1000),
    end(times: number, ending: UsageEnding, subject: Partial<UsageBeginning> = {}) {
      for (let time = 0; time < times; time += 1) notices.ended({ ...SUBJECT, ...subject }, "up", ending);
    },
  };
}

describe("a provider is told to be failing", () => {
  test("when more than half of at least 20 requests in five minutes have failed, once, and never at half", async () => {
    const world = await watchProviders();
    world.end(20, OK);
    world.end(20, FAILED);
    expect(world.told).toEqual([]);
    world.end(1, UNREACHABLE);
    expect(world.types()).toEqual(["provider.failing"]);
    expect(world.told[0]).toMatchObject({
      text: 'The provider "up" is failing: 21 of its 41 requests in the last 5 minutes failed.',
      facts: { provider: "up", requests: 41, failed: 21, minutes: 5 },
      mark: { name: "provider.failing up-id" },
    });
    world.end(500, FAILED);
    expect(world.types()).toEqual(["provider.failing"]);
  });

  test("not before 20 requests, not for what is older than five minutes, and not for another provider's", async () => {
    const world = await watchProviders();
    world.end(19, FAILED);
    world.pass(311);
    world.end(19, FAILED);
    world.end(19, FAILED, { providerId: "other" });
    expect(world.told).toEqual([]);
    world.pass(200);
    world.end(1, FAILED);
    expect(world.types()).toEqual(["provider.failing"]);
  });

  test("not for callers that left, requests that are wrong, and what a stop of this server cut off", async () => {
    const world = await watchProviders();
    world.end(100, CANCELLED);
    world.end(100, INTERRUPTED);
    world.end(100, BAD_REQUEST);
    expect(world.told).toEqual([]);
    world.end(101, { ...FAILED, statusCode: 429 });
    expect(world.types()).toEqual(["provider.failing"]);
  });
});

describe("one principal does not speak for a provider", () => {
  const of = (name: string) => ({ principalId: name });

  test("that others ask with success, however often its own requests fail", async () => {
    const world = await watchProviders();
    world.end(5, OK, of("ada"));
    world.end(500, FAILED, of("mallory"));
    expect(world.told).toEqual([]);
    // It speaks for itself where nobody else asks, and what fails for others is told.
    world.pass(311);
    world.end(20, FAILED, of("mallory"));
    expect(world.types()).toEqual(["provider.failing"]);
    const other = await watchProviders();
    other.end(19, FAILED, of("mallory"));
    other.end(1, OK, of("ada"));
    expect(other.told).toEqual([]);
    other.end(2, UNREACHABLE, of("ada"));
    expect(other.types()).toEqual(["provider.failing"]);
  });

  test("nor keeps it from being told to have recovered", async () => {
    const world = await watchProviders();
    world.end(10, FAILED, of("mallory"));
    world.end(10, FAILED, of("ada"));
    expect(world.types()).toEqual(["provider.failing"]);
    for (let turn = 0; turn < 9; turn += 1) {
      world.end(1, OK, of("ada"));
      world.end(5, FAILED, of("mallory"));
    }
    expect(world.types()).toEqual(["provider.failing"]);
    world.end(1, OK, of("ada"));
    expect(world.types()).toEqual(["provider.failing", "provider.recovered"]);
  });

  test.each([401, 403, 429])("of the relay: %i is about its caller's own credential", async (statusCode) => {
    const world = await watchProviders();
    const refused = { ...FAILED, statusCode, errorKind: `http_${statusCode}` };
    world.end(50, refused, { providerId: RELAY_PROVIDER });
    expect(world.told).toEqual([]);
    // On /v1 the credential is the installation's.
    world.end(50, refused);
    expect(world.types()).toEqual(["provider.failing"]);
  });
});

describe("a provider is told to have recovered", () => {
  test("when no more than half have failed and none of the last ten, once; one that fails by turns is not", async () => {
    const world = await watchProviders();
    world.end(20, FAILED);
    world.end(19, OK);
    expect(world.types()).toEqual(["provider.failing"]);
    world.end(1, OK);
    expect(world.types()).toEqual(["provider.failing", "provider.recovered"]);
    expect(world.told[1]).toMatchObject({ mark: null, clears: "provider.failing up-id" });
    world.end(100, OK);
    world.pass(311);
    world.end(20, FAILED);
    for (let turn = 0; turn < 200; turn += 1) world.end(1, turn % 2 === 0 ? OK : FAILED);
    world.end(9, OK);
    world.pass(311);
    world.end(9, FAILED);
    world.end(9, OK);
    expect(world.types()).toEqual(["provider.failing", "provider.recovered", "provider.failing"]);
  });

  test("also when it failed before a restart, and is not told to be failing twice", async () => {
    const world = await watchProviders(["provider.failing up-id"]);
    world.end(30, FAILED);
    expect(world.told).toEqual([]);
    world.pass(600);
    world.end(9, OK);
    expect(world.told).toEqual([]);
    world.end(1, OK);
    expect(world.types()).toEqual(["provider.recovered"]);
  });
});

describe("a missing price is told", () => {
  const usage = { shape: "inclusive", quantities: { input_tokens: 3, output_tokens: 0 } } as const;
  const unpriced: UsageEnding = { ...OK, usage, unpriced: true };

  test("once a day for each model, with the units that were used and lack one", () => {
    const { tell, told } = createTold();
    const notices = new PriceNotices(tell);
    const end = (model: string | null, days = 0) =>
      notices.ended({ ...SUBJECT, model, arrivedAtUs: SUBJECT.arrivedAtUs + days * DAY_US }, "up", unpriced);
    end("m");
    end("m");
    end("other");
    end(null);
    notices.ended(SUBJECT, "up", { ...OK, usage });
    end("m", 1);
    end("m", 1);
    expect(told.map(({ facts, mark }) => [facts["model"], mark?.name])).toEqual([
      ["m", "price.missing 20000 m"],
      ["other", "price.missing 20000 other"],
      ["m", "price.missing 20001 m"],
    ]);
    expect(told[0]).toMatchObject({
      text: 'The model "m" was used and has no price for input_tokens: what that costs is counted nowhere.',
      facts: { model: "m", provider: "up", units: ["input_tokens"] },
    });
  });

  test(`for ${UNPRICED_MODELS_MAX} models a day at most, and names of any length take no more room than an alias`, () => {
    const { tell, told } = createTold();
    const notices = new PriceNotices(tell);
    for (let at = 0; at < UNPRICED_MODELS_MAX + 5; at += 1)
      notices.ended(
        { ...SUBJECT, principalId: `p${at % 50}`, model: `${at}-${"x".repeat(9_000)}` },
        "up",
        unpriced,
      );
    expect(told).toHaveLength(UNPRICED_MODELS_MAX);
    expect(Math.max(...told.map((one) => JSON.stringify(one).length))).toBeLessThan(1_000);
  });
});

test("of one principal's made-up models a hundred are told a day, and those of others all the same", () => {
  const { tell, told } = createTold();
  const notices = new PriceNotices(tell);
  const unpriced: UsageEnding = {
    ...OK,
    usage: { shape: "inclusive", quantities: { input_tokens: 3 } },
    unpriced: true,
  };
  for (let at = 0; at < 1_500; at += 1)
    notices.ended({ ...SUBJECT, principalId: "mallory", model: `made-up-${at}` }, "up", unpriced);
  expect(told).toHaveLength(UNPRICED_MODELS_OF_PRINCIPAL_MAX);
  notices.ended({ ...SUBJECT, principalId: "ada", model: "gpt" }, "up", unpriced);
  expect(told.at(-1)?.facts["model"]).toBe("gpt");
});

describe("through a server", () => {
  let world: World;
  let webhook: Webhook;
  afterEach(async () => {
    await world.stop();
    await webhook.stop();
  });

  test("a provider that fails and recovers, and a model without a price, reach the webhook in their order", async () => {
    let isFailing = true;
    webhook = await startWebhook();
    world = await startWorld({
      webhookUrl: webhook.url,
      script: (call) => call.reply(isFailing ? { status: 503, body: "{}" } : { body: COMPLETION }),
    });
    for (let time = 0; time < 20; time += 1) await (await world.chat()).text();
    isFailing = false;
    for (let time = 0; time < 20; time += 1) await (await world.chat()).text();
    for (let time = 0; time < 3; time += 1) await (await world.chat({ model: "free" })).text();
    const notices = await webhook.received(3);
    expect(webhook.types()).toEqual(["provider.failing", "provider.recovered", "price.missing"]);
    expect(notices[0]).toMatchObject({ provider: "up", requests: 20, failed: 20 });
    expect(notices[2]).toMatchObject({ model: "free", units: ["input_tokens", "output_tokens"] });
  }, 30_000);
});

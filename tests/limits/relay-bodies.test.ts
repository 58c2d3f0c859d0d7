import { afterEach, describe, expect, test } from "bun:test";
import { SCANNED_BYTES_MAX } from "#forward/relay-body.ts";
import { openCaller } from "../forward/caller.ts";
import { outcomeOf, startWorld, type World } from "./world.ts";

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.stop();
});

const MESSAGE = '{"model":"dear","usage":{"input_tokens":10,"output_tokens":10}}';
const REFUSED = "400 invalid_request";
const JSON_TYPE = { "content-type": "application/json" };
const TEST_MS_MAX = 60_000;

/** A server that relays, and its token. */
async function openRelay() {
  const upstream = await startWorld({ script: (call) => call.reply({ body: MESSAGE }) });
  worlds.push(upstream);
  const world = await startWorld({ messagesBaseUrl: upstream.upstream.baseUrl.replace(/\/v1$/, "") });
  worlds.push(world);
  const made = JSON.parse(await (await world.app.api("POST", "/my/relay-tokens", { label: "" })).text());
  const path = `/transparent/messages/${made.token}/v1/messages`;
  const send = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_TYPE) =>
    await outcomeOf(fetch(world.app.url + path, { method: "POST", body, headers }));
  const counts = async () => JSON.parse(await (await world.admin("GET", "/refusals")).text()).counts;
  const events = async () => JSON.parse(await (await world.admin("GET", "/requests")).text()).requests;
  return { world, path, send, counts, events, received: upstream.upstream.requests };
}

const DAY = { window: "day", subject: {}, amount: 1000 };
/** Limits that have to know the model, or what it costs. */
const DEPENDING: readonly (readonly [string, object])[] = [
  ["of a model", { ...DAY, subject: { model: "dear" }, measure: "requests" }],
  ["of a model, of requests at once", { subject: { model: "dear" }, amount: 9, measure: "concurrent" }],
  ["of cost", { ...DAY, measure: "cost" }],
  ["of tokens", { ...DAY, measure: "tokens" }],
  ["of tokens for each principal", { ...DAY, measure: "tokens", each: "principal" }],
];
/** Limits that do not. */
const OTHERS: readonly (readonly [string, object])[] = [
  ["of requests", { ...DAY, measure: "requests" }],
  ["of requests at once", { subject: {}, amount: 9, measure: "concurrent" }],
  ["of cost that only warns", { ...DAY, measure: "cost", action: "warn" }],
  ["of cost that is disabled", { ...DAY, measure: "cost", enabled: false }],
  ["of another's tag", { ...DAY, subject: { tag: "team:x" }, measure: "cost" }],
  ["for each value of a tag that the request has not", { ...DAY, each: "tag:team", measure: "cost" }],
];

const DEAR = '{"model":"dear","messages":[]}';
/** [what, the body, its head]: each was answered by an upstream as the model "dear", whatever was read here. */
const PASSING_BY: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, Record<string, string>?])[] =
  [
    ["a byte-order mark", `\ufeff${DEAR}`],
    ["UTF-16", new Uint8Array(Buffer.from(`\ufeff${DEAR}`, "utf16le"))],
    ["UTF-32", new Uint8Array(Buffer.from(Array.from(DEAR).flatMap((one) => [one.charCodeAt(0), 0, 0, 0])))],
    ["gzip", Bun.gzipSync(Buffer.from(DEAR)), { ...JSON_TYPE, "content-encoding": "gzip" }],
    ["an encoding that it does not have", DEAR, { ...JSON_TYPE, "content-encoding": "gzip" }],
    ["another charset", '{"model":"cheap","+ACI-":1}', { "content-type": "application/json; charset=utf-7" }],
    ["a form", "model=dear", { "content-type": "application/x-www-form-urlencoded" }],
    ["NaN", '{"model":"dear","top_p":NaN}'],
    ["two models", '{"model":"cheap","model":"dear"}'],
    ["an escaped name", String.raw`{"\u006dodel":"dear"}`],
    ["70 times stream", `{"model":"dear"${',"stream":true'.repeat(70)}}`],
    ["a batch", '{"requests":[{"custom_id":"a","params":{"model":"dear"}}]}'],
    ["no model", '{"messages":[]}'],
    ["case", '{"model":"cheap","MODEL":"dear"}'],
  ];

describe("a relayed body whose model an upstream could read otherwise", () => {
  test.each(DEPENDING)(
    "is refused under a limit %s, reaches no upstream and leaves no event",
    async (_, limit) => {
      const { world, send, counts, events, received } = await openRelay();
      await world.limit({ name: "l", ...limit });
      for (const [what, body, headers] of PASSING_BY)
        expect([what, await send(body, headers)]).toEqual([what, REFUSED]);
      expect(received).toEqual([]);
      expect(await events()).toEqual([]);
      expect(await counts()).toEqual({ invalid_request: PASSING_BY.length });
      // A plain one passes, and so does what has no body.
      expect(await send(`\r\n\t ${DEAR} `)).toBe("200");
      expect(received.length).toBe(1);
    },
  );

  test.each(OTHERS)("passes as it came under a limit %s", async (_, limit) => {
    const { world, send, received } = await openRelay();
    await world.limit({ name: "l", ...limit });
    const passing = PASSING_BY.filter(([what]) => what !== "case");
    for (const [what, body, headers] of passing)
      expect([what, await send(body, headers)]).toEqual([what, "200"]);
    expect(received.length).toBe(passing.length);
  });

  test("is not asked of requests without one", async () => {
    const { world, path, received } = await openRelay();
    await world.limit({ name: "l", ...DAY, measure: "cost" });
    for (const [method, body] of [
      ["GET", undefined],
      ["DELETE", undefined],
      ["POST", ""],
    ] as const)
      expect(await outcomeOf(world.app.api(method, path, body))).toBe("200");
    expect(received.length).toBe(3);
  });
});

describe("a relayed request whose model could not be read", () => {
  test("is recorded, priced and counted under the model that its answer names, and so are limits of that model", async () => {
    const { world, send, events } = await openRelay();
    const price = (unit: string) => ({ model: "dear", unit, price_per_million: 1_000 });
    const entries = [price("input_tokens"), price("output_tokens")];
    expect(await outcomeOf(world.admin("POST", "/pricing", { version: "1", entries }))).toMatch(/^20/);
    const warns = { action: "warn", window: "day", amount: 1000 };
    const ofModel = await world.limit({
      name: "model",
      subject: { model: "dear" },
      measure: "requests",
      ...warns,
    });
    const sliding = await world.limit({
      name: "sliding",
      subject: { model: "dear" },
      measure: "requests",
      ...warns,
      window: "hour",
    });
    const ofCost = await world.limit({ name: "cost", subject: {}, measure: "cost", ...warns });
    expect(await send(`\ufeff${DEAR}`)).toBe("200");
    expect(await send(DEAR)).toBe("200");
    const recorded = await events();
    expect(recorded.map(({ model, cost }: any) => `${model} ${cost}`)).toEqual(["dear 0.02", "dear 0.02"]);
    expect((await world.readLimit(ofModel.id)).used).toBe(2);
    expect((await world.readLimit(sliding.id)).used).toBe(2);
    expect((await world.readLimit(ofCost.id)).used).toBe(0.04);
    // Made now, it adds up what the ledger holds.
    const later = await world.limit({
      name: "later",
      subject: { model: "dear" },
      measure: "tokens",
      ...warns,
    });
    expect((await world.readLimit(later.id)).used).toBe(40);
    const metrics = await (await world.app.api("GET", "/metrics")).text();
    expect(metrics).toContain('model="dear",outcome="ok"} 2');
  });
});

describe("a large relayed body under a limit of cost", () => {
  const padded = (bytes: number) => `{"pad":"${"x".repeat(bytes)}","model":"dear"}`;
  const LARGE = 2 * 1024 * 1024;

  test(
    "is read before any of it goes up, arrives as it came, and is refused where its model is not known",
    async () => {
      const { world, send, received } = await openRelay();
      await world.limit({ name: "l", ...DAY, measure: "cost" });
      const body = padded(LARGE);
      expect(await send(body)).toBe("200");
      expect(received[0]!.body.equals(Buffer.from(body))).toBe(true);
      expect(await send(`{"requests":[],"pad":"${"x".repeat(LARGE)}"}`)).toBe(REFUSED);
      expect(await send(`\ufeff${body}`)).toBe(REFUSED);
      expect(await send(padded(SCANNED_BYTES_MAX))).toBe(REFUSED);
      expect(received.length).toBe(1);
      // What they kept is given back.
      expect(await send(padded(SCANNED_BYTES_MAX - 100))).toBe("200");
    },
    TEST_MS_MAX,
  );

  test("whose blanks come as a chunk of their own is read, and nothing goes up before its end", async () => {
    const { world, path, received } = await openRelay();
    await world.limit({ name: "l", ...DAY, subject: { model: "dear" }, measure: "requests", amount: 1 });
    const toChunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
    const { port } = new URL(world.app.url);
    const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const open = () => openCaller({ port: Number(port), raw: head + toChunk(" ") + toChunk(DEAR) });
    const first = await open();
    // A decoder that reads as it comes would begin now. Another request goes all the way meanwhile.
    expect(await outcomeOf(world.app.api("POST", path, { model: "cheap" }))).toBe("200");
    expect(received.map(({ body }) => body.toString())).toEqual(['{"model":"cheap"}']);
    first.send("0\r\n\r\n");
    await first.waitFor("HTTP/1.1 200");
    expect(received.map(({ body }) => body.toString().trim())).toEqual(['{"model":"cheap"}', DEAR]);
    const second = await open();
    second.send("0\r\n\r\n");
    await second.waitFor("limit_exceeded");
    expect(received.length).toBe(2);
    first.hangUp();
    second.hangUp();
  });
});

import { afterEach, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { PriceRow } from "#catalog/pricing.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { ALIAS, CHAT, COMPLETION, SSE_DONE, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";
import {
  ANSWER,
  MESSAGE,
  MODEL,
  STREAMED_MESSAGE,
  startRelay,
  stopRelays,
  toEvent,
} from "./relay-harness.ts";
import { START, STOP, USAGE } from "./relay-harness.ts";

afterEach(stopPairs);
afterEach(stopRelays);

const HEADER = "x-proxy-cost";

const toPrices = (name: string, prices: Partial<Record<PriceRow["unit"], number>>): readonly PriceRow[] =>
  Object.entries(prices).map(([unit, pricePico]) => ({
    name,
    unit: unit as PriceRow["unit"],
    pricePico,
    feedVersion: null,
  }));

const PRICES = toPrices(ALIAS, { input_tokens: 2_000_001, output_tokens: 5_000_000 });
/** Seven tokens in and three out. */
const COST = "0.000029000007";

const withTier = (tier: string) => COMPLETION.replace(/\}$/, `,"service_tier":"${tier}"}`);

describe("a unary answer of /v1 tells its exact cost in x-proxy-cost", () => {
  test("which is that of its event, and its body comes byte for byte", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: COMPLETION }), { prices: PRICES });
    const response = await proxy.post(CHAT);
    expect(response.headers.get(HEADER)).toBe(COST);
    expect(await response.text()).toBe(COMPLETION);
    expect((await proxy.onlyEvent()).costPico).toBe(7n * 2_000_001n + 3n * 5_000_000n);
  });

  test.each([
    ["a price of zero is a cost", { input_tokens: 0, output_tokens: 0 }, "0"],
    ["a whole amount", { input_tokens: 1e12, output_tokens: 1e12 }, "10"],
    ["the least amount, without an exponent", { input_tokens: 0, output_tokens: 1 }, "0.000000000003"],
  ] as const)("%s", async (_, prices, cost) => {
    const { proxy } = await startPair((call) => call.reply({ body: COMPLETION }), {
      prices: toPrices(ALIAS, prices),
    });
    expect((await proxy.post(CHAT)).headers.get(HEADER)).toBe(cost);
  });

  test("also a compressed one, one in chunks and one that is buffered in pieces", async () => {
    const long = COMPLETION.replace(/\}$/, `,"padding":"${"x".repeat(300_000)}"}`);
    const answers: readonly ((call: UpstreamCall) => unknown)[] = [
      (call) => call.reply({ body: gzipSync(COMPLETION), headers: ["content-encoding: gzip"] }),
      (call) => sendInChunks(call, COMPLETION),
      (call) => sendInChunks(call, long),
      (call) => call.reply({ body: long }),
    ];
    for (const answer of answers) {
      const { proxy } = await startPair(answer, { prices: PRICES });
      const response = await proxy.post(CHAT);
      expect(response.headers.get(HEADER)).toBe(COST);
      await response.arrayBuffer();
    }
  });

  test.each([
    ["no unit has a price", COMPLETION, []],
    ["one unit has none", COMPLETION, toPrices(ALIAS, { input_tokens: 1 })],
    ["no price holds for its tier", withTier("flex"), PRICES],
    ["it tells no usage", '{"choices":[]}', PRICES],
  ])("and has none where %s", async (_, body, prices) => {
    const { proxy } = await startPair(
      (call) => call.reply({ body, headers: ["x-proxy-cost: 1", "content-type: application/json"] }),
      { prices },
    );
    const response = await proxy.post(CHAT);
    expect(response.status).toBe(200);
    expect(response.headers.has(HEADER)).toBe(false);
    expect(await response.text()).toBe(body);
  });

  test("and a stream has none: its head is sent before its usage is known", async () => {
    const { proxy } = await startPair(
      async (call) => {
        await call.beginStream();
        await call.sendChunk(SSE_USAGE + SSE_DONE);
        await call.endStream();
      },
      { prices: PRICES },
    );
    const response = await proxy.post(STREAMED_CHAT);
    expect(response.headers.has(HEADER)).toBe(false);
    await response.text();
    expect((await proxy.onlyEvent()).costPico).not.toBeNull();
  });

  test("and an error of the provider has none", async () => {
    const { proxy } = await startPair((call) => call.reply({ status: 400, body: "{}" }), { prices: PRICES });
    const response = await proxy.post(CHAT);
    expect([response.status, response.headers.get(HEADER)]).toEqual([400, null]);
  });
});

describe("a relayed answer", () => {
  const prices = toPrices(MODEL, {
    input_tokens: 3_000_000,
    output_tokens: 15_000_000,
    cached_input_tokens: 300_000,
  });
  const post = { body: JSON.stringify(MESSAGE) };

  test("that is short and came in one piece with its length tells its cost, and passes byte for byte", async () => {
    const { send, onlyEvent, upstream } = await startRelay((call) => call.reply({ body: ANSWER }), {
      prices,
    });
    const response = await send("POST", "/v1/messages", post);
    const told = response.headers.get(HEADER) ?? "";
    expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(ANSWER)));
    expect(await response.text()).toBe(ANSWER);
    const { costPico, outcome, statusCode } = await onlyEvent();
    expect({ outcome, statusCode }).toEqual({ outcome: "ok", statusCode: 200 });
    expect(BigInt(told.replace("0.", "").padEnd(12, "0"))).toBe(costPico ?? -1n);
    expect(upstream.connectionCount()).toBe(1);
  });

  test("has none where its model has no price, and where its head leaves before its usage is known", async () => {
    const stream = async (call: UpstreamCall) => {
      await call.beginStream();
      for (const event of [START, USAGE, STOP]) await call.sendChunk(toEvent(event));
      await call.endStream();
    };
    for (const [script, setup, body] of [
      [(call: UpstreamCall) => call.reply({ body: ANSWER }), {}, MESSAGE],
      [(call: UpstreamCall) => sendInChunks(call, ANSWER), { prices }, MESSAGE],
      [stream, { prices }, STREAMED_MESSAGE],
    ] as const) {
      const { send, onlyEvent } = await startRelay(script, setup);
      const response = await send("POST", "/v1/messages", { body: JSON.stringify(body) });
      expect(response.headers.has(HEADER)).toBe(false);
      await response.text();
      expect((await onlyEvent()).outcome).toBe("ok");
    }
  });
});

async function sendInChunks(call: UpstreamCall, body: string): Promise<void> {
  await call.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
  const half = Math.floor(body.length / 2);
  for (const piece of [body.slice(0, half), body.slice(half)]) await call.sendChunk(piece);
  await call.endStream();
}

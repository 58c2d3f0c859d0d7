import { afterEach, describe, expect, test } from "bun:test";
import { CAPABILITIES } from "#catalog/capability.ts";
import { usesNothing } from "#catalog/endpoint.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import { ENDPOINTS, toWhole } from "../faults/endpoints.ts";
import type { UpstreamCall, UpstreamScript } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";
import { openCaller } from "./caller.ts";
import { ALIAS, CHAT, SSE_HELLO, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";
import {
  DELTA,
  MESSAGE,
  PATH,
  START,
  startRelay,
  stopRelays,
  STREAMED_MESSAGE,
  USAGE,
} from "./relay-harness.ts";

afterEach(async () => {
  await stopPairs();
  await stopRelays();
});

function countUnmetered({ metrics }: { readonly metrics: UsageMetrics }): number {
  return metrics.requests().reduce((sum, { unmeteredCount }) => sum + unmeteredCount, 0);
}

const EVENT =
  'event: response.completed\ndata: {"type":"response.completed","response":{"usage":{"total_tokens":9}}}\n\n';
const streamOf =
  (...chunks: readonly string[]): UpstreamScript =>
  async (call) => {
    await call.beginStream();
    for (const chunk of chunks) await call.sendChunk(chunk);
    await call.endStream();
  };
const replyOf =
  (status: number, body = "{}"): UpstreamScript =>
  (call) =>
    call.reply({ status, body });

describe("a request of /v1 that ended without its usage moves proxy_unmetered_total", () => {
  test.each([
    ["an answer that tells none", replyOf(200), CHAT, 1],
    ["a stream that tells none", streamOf(SSE_HELLO, "data: [DONE]\n\n"), STREAMED_CHAT, 1],
    ["an answer that tells a usage of zero", replyOf(200, '{"usage":{"prompt_tokens":0}}'), CHAT, 0],
    ["an error of the upstream", replyOf(500), CHAT, 0],
    ["a stream that is an error", streamOf('data: {"error":{"type":"overloaded"}}\n\n'), STREAMED_CHAT, 0],
    ["an answer that leads elsewhere", replyOf(302), CHAT, 0],
  ])("%s", async (_, script, body, count) => {
    const { proxy } = await startPair(script);
    await (await proxy.post(body)).text();
    await proxy.drained();
    expect(countUnmetered(proxy)).toBe(count);
  });

  const rows = ENDPOINTS.filter(({ row, isById }) => row !== "relay" && isById !== true).map(
    (endpoint) => [endpoint.name, endpoint] as const,
  );
  test.each(rows)(
    "an answer of %s that tells none, and not one that tells its usage or uses nothing",
    async (_, endpoint) => {
      const { row, parts } = endpoint;
      if (row === "relay") return;
      const { type, units } = parts;
      const tells = toWhole(parts);
      const silent = type === "text/event-stream" ? ": none\n\n" : "{}";
      const bodies = [tells, silent];
      const { proxy } = await startPair(
        (call) => call.reply({ headers: [`content-type: ${type}`], body: bodies.shift() ?? "" }),
        { capabilities: CAPABILITIES },
      );
      const more = { key: "", relayToken: "", content: "x", fileName: "a", headers: {} };
      const { body, headers } = endpoint.ask(ALIAS, more);
      const counts: number[] = [];
      for (let asked = 0; asked < 2; asked += 1) {
        const answer = await proxy.post(body, { endpoint: row, headers: { ...headers } });
        expect(answer.status).toBe(200);
        await answer.text();
        await proxy.drained();
        counts.push(countUnmetered(proxy));
      }
      const untold = units.input_tokens === null ? 1 : 0;
      expect(counts).toEqual(usesNothing(row) ? [0, 0] : [untold, untold + 1]);
    },
  );

  test("its caller left before the head, or in the middle of a stream", async () => {
    const { upstream, proxy } = await startPair();
    const early = await openCaller({ port: proxy.port, body: CHAT });
    await upstream.nextCall();
    early.hangUp();
    await proxy.drained();
    expect(countUnmetered(proxy)).toBe(1);
    const late = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_HELLO);
    await late.waitFor("hello");
    late.hangUp();
    await proxy.drained();
    expect(countUnmetered(proxy)).toBe(2);
  });

  test("not where its upstream could not be reached, or broke off", async () => {
    const { proxy } = await startPair((call) => call.reset());
    await (await proxy.post(CHAT)).text();
    await proxy.drained();
    expect((await proxy.onlyEvent()).outcome).toBe("unreachable");
    expect(countUnmetered(proxy)).toBe(0);
  });

  test("not where it never went upstream, since it waited for a slot", async () => {
    const { upstream, proxy } = await startPair(undefined, { provider: { maxConcurrency: 1 } });
    const running = proxy.post({ model: ALIAS, user: "first" });
    const call = await upstream.nextCall();
    const waiting = await openCaller({ port: proxy.port, body: CHAT });
    await until(
      () => proxy.subjects.length === 2,
      () => "the second has not begun",
    );
    waiting.hangUp();
    await until(
      () => proxy.events.length === 1,
      () => "the waiting one has not ended",
    );
    expect(proxy.events[0]).toMatchObject({ outcome: "cancelled", statusCode: 499, costPico: null });
    await call.reply({ body: '{"usage":{"prompt_tokens":1}}' });
    await (await running).text();
    await proxy.drained();
    expect(upstream.requests).toHaveLength(1);
    expect(countUnmetered(proxy)).toBe(0);
  });
});

describe("a relayed request that ended without its usage moves proxy_unmetered_total, on whatever endpoint", () => {
  test.each([
    ["POST", "/v1/responses", streamOf(EVENT), 1],
    ["POST", "/v1/responses", replyOf(200), 1],
    ["POST", "/v1/messages/batches", replyOf(200), 1],
    ["PUT", "/elsewhere", replyOf(201), 1],
    ["POST", "/v1/messages", replyOf(200), 1],
    ["POST", "/v1/messages", streamOf(START, DELTA, USAGE), 0],
    ["POST", "/v1/responses", replyOf(404), 0],
    ["POST", "/v1/messages/count_tokens", replyOf(200, '{"input_tokens":14}'), 0],
    ["POST", "/v1/responses/input_tokens", replyOf(200, '{"input_tokens":14}'), 0],
    ["POST", "/api/event_logging/v2/batch", replyOf(200), 0],
    ["GET", "/v1/models", replyOf(200), 0],
    ["DELETE", "/v1/files/file_1", replyOf(200), 0],
    [
      "HEAD",
      "/v1/models",
      (call: UpstreamCall) => call.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"),
      0,
    ],
    ["OPTIONS", "/v1/messages", replyOf(200), 0],
  ] as const)("%s %s", async (method, path, script, count) => {
    const relay = await startRelay(script);
    const body = method === "POST" || method === "PUT" ? { body: JSON.stringify(MESSAGE) } : {};
    await (await relay.send(method, path, body)).text();
    await relay.drained();
    expect(countUnmetered(relay)).toBe(count);
  });

  test("its caller left behind the input, which counts with what was told of it, and not behind all of the usage", async () => {
    const relay = await startRelay();
    for (const [told, count] of [
      [START + DELTA, 1],
      [START + DELTA + USAGE, 1],
    ] as const) {
      const caller = await openCaller({ port: relay.port, path: PATH, body: STREAMED_MESSAGE });
      const call = await relay.upstream.nextCall();
      await call.beginStream();
      await call.sendChunk(told);
      await caller.waitFor(told === START + DELTA ? "hello" : "end_turn");
      caller.hangUp();
      await relay.drained();
      expect(countUnmetered(relay)).toBe(count);
    }
    expect(relay.events.map(({ outcome, usage }) => [outcome, usage])).toEqual([
      [
        "cancelled",
        { shape: "begun", quantities: { input_tokens: 7, output_tokens: 1, cached_input_tokens: 5 } },
      ],
      [
        "ok",
        { shape: "exclusive", quantities: { input_tokens: 7, output_tokens: 3, cached_input_tokens: 5 } },
      ],
    ]);
  });

  test("its caller left before the head", async () => {
    const relay = await startRelay();
    const caller = await openCaller({ port: relay.port, path: PATH, body: STREAMED_MESSAGE });
    await relay.upstream.nextCall();
    caller.hangUp();
    await relay.drained();
    expect(countUnmetered(relay)).toBe(1);
  });

  test("not where its body never came to its end", async () => {
    const relay = await startRelay();
    const caller = await openCaller({
      port: relay.port,
      raw: `POST ${PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n6000\r\n${"x".repeat(0x6000)}\r\n`,
    });
    await until(
      () => relay.upstream.connectionCount() === 1,
      () => "nothing came upstream",
    );
    caller.hangUp();
    expect((await relay.onlyEvent()).outcome).toBe("cancelled");
    expect(countUnmetered(relay)).toBe(0);
  });
});

import { afterEach, describe, expect, test } from "bun:test";
import { RESPONSE_HEAD_BYTES_MAX } from "#forward/upstream.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { openBlackHole } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import { startTurns, withinASecond } from "../support/turns.ts";
import { CHAT, COMPLETION, SSE_DONE, SSE_HELLO, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const EVENTS = "content-type: text/event-stream";
const LENGTH = "content-type: application/json\r\ncontent-length";

describe("an upstream that gives no answer to relay is a clean 502, unary and streamed", () => {
  const faults: readonly [string, (call: UpstreamCall) => unknown][] = [
    ["closes without a word", (call) => call.finish()],
    ["resets without a word", (call) => call.reset()],
    [
      "resets inside the head",
      async (call) => (await call.send("HTTP/1.1 200 OK\r\ncontent-ty"), call.reset()),
    ],
    ["sends garbage", async (call) => (await call.send("\u0000\u0001garbage\r\n\r\n"), call.finish())],
    ["speaks HTTP/0.9", async (call) => (await call.send("<html>hello</html>"), call.finish())],
    [
      "switches protocols",
      (call) => call.send("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    ],
    ["answers 999", (call) => call.reply({ status: 999, body: "x" })],
    ["answers 600", (call) => call.reply({ status: 600, body: "x" })],
    [
      "contradicts its own length",
      (call) => call.send("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"),
    ],
    ["has a negative length", (call) => call.send("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nxx")],
    [
      "has one huge header",
      (call) => call.reply({ headers: [`x-huge: ${"x".repeat(RESPONSE_HEAD_BYTES_MAX)}`], body: "x" }),
    ],
    [
      "has a megabyte of headers",
      (call) => call.reply({ headers: Array(100).fill(`x-huge: ${"x".repeat(10_000)}`), body: "x" }),
    ],
    [
      "has a thousand headers",
      (call) => call.reply({ headers: Array.from({ length: 1_000 }, (_, n) => `x-${n}: 1`), body: "x" }),
    ],
    [
      "ends its length early",
      async (call) => (await call.send(`HTTP/1.1 200 OK\r\n${LENGTH}: 9\r\n\r\nxx`), call.finish()),
    ],
    [
      "resets inside a unary body",
      async (call) => (await call.send(`HTTP/1.1 200 OK\r\n${LENGTH}: 9\r\n\r\nxx`), call.reset()),
    ],
    [
      "ends inside a chunk",
      async (call) => (
        await call.beginStream(["content-type: application/json"]),
        await call.send("9\r\nxx"),
        call.finish()
      ),
    ],
    [
      "ends without a last chunk",
      async (call) => (
        await call.beginStream(["content-type: application/json"]),
        await call.sendChunk("xx"),
        call.finish()
      ),
    ],
    [
      "sends bad chunks",
      async (call) => (
        await call.beginStream(["content-type: application/json"]),
        await call.send("zz\r\nxx\r\n")
      ),
    ],
    ["breaks a stream before its first byte", async (call) => (await call.beginStream(), call.reset())],
    ["sends bad chunks at once", async (call) => (await call.beginStream(), await call.send("zz\r\nxx\r\n"))],
  ];
  test.each(faults)("%s", async (_, fault) => {
    const { upstream, proxy } = await startPair(fault);
    for (const body of [CHAT, STREAMED_CHAT]) {
      const response = await proxy.post(body);
      expect(response.status).toBe(502);
      expect(response.headers.get("x-proxy-provider")).toBe("acme");
      expect(await response.json()).toEqual({ unreachable: "connection_error" });
    }
    await proxy.drained();
    // Nothing is retried.
    expect(upstream.requests).toHaveLength(2);
    expect(proxy.events).toHaveLength(2);
    for (const event of proxy.events) {
      expect(event).toMatchObject({
        outcome: "unreachable",
        errorKind: "connection_error",
        statusCode: 502,
        usage: null,
      });
    }
    // Why it gave no answer, once, and no word of what it said.
    for (const { message, fields } of proxy.logLines) {
      expect(message).toBe("a provider gave no answer");
      expect(Object.keys(fields ?? {})).toEqual(["provider", "failure"]);
    }
    expect(proxy.logLines.length).toBeLessThanOrEqual(1);
  });

  test("a refused connection and an unknown host", async () => {
    const { upstream, proxy } = await startPair(() => undefined);
    const refused = upstream.baseUrl;
    await upstream.stop();
    for (const baseUrl of [refused, "http://no-such-host.invalid/v1"]) {
      proxy.replaceCatalog({ baseUrl });
      expect(await (await proxy.post(CHAT)).json()).toEqual({ unreachable: "connection_error" });
    }
    await proxy.drained();
    expect(proxy.events.map(({ outcome, errorKind }) => [outcome, errorKind])).toEqual([
      ["unreachable", "connection_error"],
      ["unreachable", "connection_error"],
    ]);
  });

  test("after every fault the next request is answered", async () => {
    let broken = true;
    const { proxy } = await startPair((call) => (broken ? call.reset() : call.reply({ body: COMPLETION })));
    expect((await proxy.post(CHAT)).status).toBe(502);
    broken = false;
    expect((await proxy.post(CHAT)).status).toBe(200);
  });

  test("a kept connection that breaks under the next request is not tried again on another one", async () => {
    const { upstream, proxy } = await startPair((call) =>
      upstream.requests.length === 1 ? call.reply({ body: COMPLETION }) : call.reset(),
    );
    expect(await (await proxy.post(CHAT)).text()).toBe(COMPLETION);
    // Kept from then on: what is asked sooner opens another one.
    await proxy.drained();
    expect(await (await proxy.post(CHAT)).json()).toEqual({ unreachable: "connection_error" });
    await Bun.sleep(50);
    expect(upstream.connectionCount()).toBe(1);
    expect(upstream.requests).toHaveLength(2);
  });

  test("a connection that the upstream closed while it was idle does not fail the next request", async () => {
    const { upstream, proxy } = await startPair();
    const first = proxy.post(CHAT);
    const call = await upstream.nextCall();
    await call.reply({ body: COMPLETION });
    await (await first).text();
    call.finish();
    await call.closed;
    const second = proxy.post(CHAT);
    await (await upstream.nextCall()).reply({ body: COMPLETION });
    expect((await second).status).toBe(200);
    expect(upstream.connectionCount()).toBe(2);
  });
});

describe("an upstream that breaks off inside a stream breaks the caller's connection, never ends it cleanly", () => {
  const breaks: readonly [string, (call: UpstreamCall) => unknown][] = [
    ["by a reset", (call) => call.reset()],
    ["by closing without a last chunk", (call) => call.finish()],
    ["inside a chunk", async (call) => (await call.send("ff\r\nxx"), call.finish())],
    ["by a bad chunk", (call) => call.send("zz\r\nxx\r\n")],
  ];
  test.each(breaks)("%s", async (_, fault) => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_HELLO + SSE_USAGE);
    await caller.waitFor("completion_tokens");
    await fault(call);
    expect(await withinASecond(caller.ended, "breaking off")).toBe("broken");
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "unreachable",
      errorKind: "connection_error",
      statusCode: 502,
      usage: { quantities: { input_tokens: 7, output_tokens: 3 } },
    });
  });

  test("a caller that uses fetch sees its read fail", async () => {
    const { upstream, proxy } = await startPair();
    const response = proxy.post(STREAMED_CHAT);
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_HELLO);
    const reader = (await response).body!.getReader();
    await reader.read();
    call.reset();
    expect(
      await reader.read().then(
        () => "ended",
        () => "failed",
      ),
    ).toBe("failed");
  });
});

describe("time limits", () => {
  test("timeout_connect is exact against a host that does not answer at all", async () => {
    const hole = await openBlackHole();
    if (hole === null) return;
    const { proxy } = await startPair(undefined, {
      baseUrl: hole.baseUrl,
      provider: { timeoutConnectSeconds: 0.4 },
    });
    for (const body of [CHAT, STREAMED_CHAT]) {
      const startMs = performance.now();
      const turns = startTurns();
      expect(await (await proxy.post(body)).json()).toEqual({ unreachable: "timeout" });
      expect(performance.now() - startMs).toBeGreaterThanOrEqual(395);
      expect(turns.elapsedMs()).toBeLessThan(900);
      turns.end();
    }
    await proxy.drained();
    expect(proxy.events.map(({ outcome, errorKind }) => [outcome, errorKind])).toEqual([
      ["unreachable", "timeout"],
      ["unreachable", "timeout"],
    ]);
    hole.stop();
  });

  test("timeout_connect covers the TLS handshake", async () => {
    const { upstream, proxy } = await startPair();
    proxy.replaceCatalog({
      baseUrl: `https://127.0.0.1:${upstream.port}/v1`,
      provider: { timeoutConnectSeconds: 0.3, verifyTls: false },
    });
    expect(await (await proxy.post(CHAT)).json()).toEqual({ unreachable: "timeout" });
  });

  test("timeout_connect ends with connecting: a slow answer may take longer", async () => {
    const { upstream, proxy } = await startPair(undefined, { provider: { timeoutConnectSeconds: 0.2 } });
    const response = proxy.post(CHAT);
    const call = await upstream.nextCall();
    await Bun.sleep(500);
    await call.reply({ body: COMPLETION });
    expect((await response).status).toBe(200);
  });

  test("timeout_read is the whole deadline of a unary call, however busily it trickles", async () => {
    const { proxy } = await startPair(
      async (call) => {
        await call.send(`HTTP/1.1 200 OK\r\n${LENGTH}: 1000\r\n\r\n`);
        while (await call.send("x")) await Bun.sleep(30);
      },
      { provider: { timeoutReadSeconds: 0.4 } },
    );
    const startMs = performance.now();
    const turns = startTurns();
    expect(await (await proxy.post(CHAT)).json()).toEqual({ unreachable: "timeout" });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(395);
    expect(turns.elapsedMs()).toBeLessThan(900);
    turns.end();
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "unreachable",
      errorKind: "timeout",
      statusCode: 502,
    });
  });

  test.each([
    ["before the head", () => undefined],
    ["after the head", (call: UpstreamCall) => call.send(`HTTP/1.1 200 OK\r\n${LENGTH}: 9\r\n\r\n`)],
    ["after the head of a stream", (call: UpstreamCall) => call.send(`HTTP/1.1 200 OK\r\n${EVENTS}\r\n\r\n`)],
  ])("an upstream silent %s is a timeout, and its connection is closed", async (_, fault) => {
    const { upstream, proxy } = await startPair(undefined, { provider: { timeoutReadSeconds: 0.3 } });
    for (const body of [CHAT, STREAMED_CHAT]) {
      const response = proxy.post(body);
      const call = await upstream.nextCall();
      await fault(call);
      expect(await (await response).json()).toEqual({ unreachable: "timeout" });
      await withinASecond(call.closed, "closing");
    }
  });

  test("timeout_read is the longest silence of a stream: a slow one lives on, a silent one is broken off", async () => {
    const turns = startTurns();
    const { upstream, proxy } = await startPair(undefined, {
      provider: { timeoutReadSeconds: 0.4 },
      exchange: { clock: turns.clock },
    });
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    const startMs = turns.elapsedMs();
    let last = 0;
    for (; turns.elapsedMs() - startMs < 700; last += 1) {
      await call.sendChunk(`data: {"n":${last}}\n\n`);
      await Bun.sleep(100);
    }
    await caller.waitFor(`{"n":${last - 1}}`);
    expect(await caller.ended).toBe("broken");
    await withinASecond(call.closed, "closing");
    turns.end();
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "unreachable",
      errorKind: "timeout",
      statusCode: 502,
    });
  });

  test("a head may take timeout_read from the moment of connecting", async () => {
    const { upstream, proxy } = await startPair(undefined, { provider: { timeoutReadSeconds: 2 } });
    const response = proxy.post(STREAMED_CHAT);
    const call = await upstream.nextCall();
    await Bun.sleep(1_200);
    await call.beginStream();
    await Bun.sleep(1_200);
    await call.sendChunk(SSE_DONE);
    await call.endStream();
    expect(await (await response).text()).toBe(SSE_DONE);
  });
});

import { afterEach, describe, expect, test } from "bun:test";
import { Cancellation, createDeadlines } from "#kernel/cancellation.ts";
import type { Clock } from "#kernel/clock.ts";
import { createTee, type TeeEnding } from "#forward/tee.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { headTaken, openCaller } from "./caller.ts";
import { withinASecond } from "../support/turns.ts";
import { CHAT, COMPLETION, SSE_DONE, SSE_HELLO, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const deadlines = createDeadlines(() => performance.now());

describe("a caller that hangs up closes the upstream within a second and leaves exactly one event", () => {
  const phases: readonly [string, object, (call: UpstreamCall) => unknown, string, object][] = [
    [
      "while the upstream is silent, unary",
      CHAT,
      () => undefined,
      "",
      { outcome: "cancelled", statusCode: 499, usage: null },
    ],
    [
      "after the head, unary",
      CHAT,
      async (call) => (
        await call.send("HTTP/1.1 201 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\nxx"),
        await headTaken()
      ),
      "",
      { outcome: "cancelled", statusCode: 201 },
    ],
    [
      "after the usage",
      STREAMED_CHAT,
      async (call) => (await call.beginStream(), await call.sendChunk(SSE_HELLO + SSE_USAGE)),
      "completion_tokens",
      { outcome: "cancelled", statusCode: 200, usage: { quantities: { input_tokens: 7, output_tokens: 3 } } },
    ],
    [
      "after an error event",
      STREAMED_CHAT,
      async (call) => (
        await call.beginStream(),
        await call.sendChunk('data: {"error":{"type":"overloaded_error"}}\n\n')
      ),
      "overloaded_error",
      { outcome: "upstream_error", statusCode: 200, errorKind: "overloaded_error" },
    ],
  ];
  test.each(phases)("%s", async (_, body, script, seen, expected) => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body });
    const call = await upstream.nextCall();
    await script(call);
    await caller.waitFor(seen);
    expect(call.isClosed()).toBe(false);
    caller.hangUp();
    await withinASecond(call.closed, "closing the upstream");
    expect(await proxy.onlyEvent()).toMatchObject(expected);
    expect(upstream.requests).toHaveLength(1);
  });

  test("many at once, at any moment: as many events as requests, and nothing left open", async () => {
    const { proxy } = await startPair(async (call) => {
      await call.beginStream();
      for (let index = 0; index < 20; index += 1) {
        if (!(await call.sendChunk(SSE_HELLO))) return;
        await Bun.sleep(2);
      }
      await call.sendChunk(SSE_USAGE + SSE_DONE);
      await call.endStream();
    });
    const requests = Array.from({ length: 60 }, async (_, index) => {
      const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
      await Bun.sleep(index);
      caller.hangUp();
    });
    await Promise.all(requests);
    while (proxy.exchange.activeCount() > 0) await proxy.drained();
    expect(proxy.events).toHaveLength(proxy.subjects.length);
    expect(proxy.logLines).toEqual([]);
  });
});

describe("a caller that has left before a request lasts is noticed when the request ends", () => {
  /** No limit is ever due by it, so that no request lasts. */
  const clock: Clock = { nowUs: () => 1, monotonicMs: () => 0 };
  const long = JSON.stringify({ ...JSON.parse(COMPLETION), pad: "x".repeat(1_000_000) });
  const reported = { quantities: { input_tokens: 7, output_tokens: 3 } };
  const answers: readonly [string, (call: UpstreamCall) => unknown, object][] = [
    ["a short answer", (call) => call.reply({ body: COMPLETION }), { statusCode: 200, usage: reported }],
    [
      "an answer of no known length",
      async (call) => (
        await call.send(
          "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        ),
        await call.sendChunk(COMPLETION),
        await call.endStream()
      ),
      { statusCode: 200, usage: reported },
    ],
    ["a long answer", (call) => call.reply({ body: long }), { statusCode: 200, usage: reported }],
    [
      "an empty stream",
      async (call) => (await call.beginStream(), await call.endStream()),
      { statusCode: 200, usage: null },
    ],
    ["no answer", (call) => call.reset(), { statusCode: 499, usage: null }],
  ];
  test.each(answers)("%s is cancelled, with the usage seen", async (_, answer, expected) => {
    const { upstream, proxy } = await startPair(undefined, { exchange: { clock } });
    const caller = await openCaller({ port: proxy.port, body: CHAT });
    const call = await upstream.nextCall();
    caller.hangUp();
    await caller.ended;
    await answer(call);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "cancelled", errorKind: null, ...expected });
  });
});

describe("a tap", () => {
  test("gives up a caller that takes nothing for the time allowed, as cancelled", async () => {
    const endings: TeeEnding[] = [];
    let cancelled = false;
    const ended = Promise.withResolvers<void>();
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      development: false,
      fetch(request) {
        const tap = createTee({
          reader: {
            read: () => Promise.resolve({ done: false, value: new Uint8Array(1 << 20) }),
            cancel() {
              cancelled = true;
              return Promise.resolve();
            },
          },
          first: new Uint8Array(1 << 20),
          cancellation: new Cancellation(request, { limits: deadlines }),
          idleMs: 60_000,
          stallMs: 200,
          watch: () => null,
          finish(ending) {
            endings.push(ending);
            ended.resolve();
            return Promise.resolve();
          },
        });
        return new Response(tap);
      },
    });
    const caller = await openCaller({ port: server.port ?? 0, body: {} });
    caller.stopReading();
    await ended.promise;
    expect(endings).toEqual(["cancelled"]);
    expect(cancelled).toBe(true);
    caller.readOn();
    expect(await withinASecond(caller.ended, "closing")).toBe("broken");
    await server.stop(true);
  });

  test("that nobody ever reads ends when its caller leaves", async () => {
    const leaving = new AbortController();
    const endings: TeeEnding[] = [];
    const tapOf = (signal: AbortSignal) =>
      createTee({
        reader: {
          read: () => Promise.resolve({ done: true }),
          cancel: () => Promise.reject(new Error("gone")),
        },
        first: Uint8Array.of(1),
        cancellation: new Cancellation({ signal }, { limits: deadlines }),
        idleMs: 60_000,
        stallMs: 60_000,
        watch: () => null,
        finish: (ending) => Promise.resolve(void endings.push(ending)),
      });
    tapOf(leaving.signal);
    leaving.abort();
    tapOf(leaving.signal);
    expect(endings).toEqual(["cancelled", "cancelled"]);
  });
});

import { afterEach, describe, expect, test } from "bun:test";
import { openCaller } from "./caller.ts";
import { CHAT, SSE_DONE, SSE_HELLO, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

describe("a server that cuts its callers off", () => {
  test("records a stream as unreachable with the usage seen so far, since its caller did not leave", async () => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_HELLO + SSE_USAGE);
    await caller.waitFor("completion_tokens");
    proxy.exchange.halt();
    await proxy.stop();
    expect(await caller.ended).toBe("broken");
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "unreachable",
      errorKind: "interrupted",
      statusCode: 502,
      usage: { quantities: { input_tokens: 7, output_tokens: 3 } },
    });
  });

  test("records what waits for its upstream's head, or for a slot, as unreachable too", async () => {
    const { upstream, proxy } = await startPair(undefined, { provider: { maxConcurrency: 1 } });
    await openCaller({ port: proxy.port, body: CHAT });
    await upstream.nextCall();
    await openCaller({ port: proxy.port, body: CHAT });
    while (proxy.exchange.waitingCount() === 0) await Bun.sleep(1);
    proxy.exchange.halt();
    await proxy.stop();
    expect(proxy.events.map(({ outcome, errorKind }) => [outcome, errorKind])).toEqual([
      ["unreachable", "interrupted"],
      ["unreachable", "interrupted"],
    ]);
  });

  test("leaves a caller's own hang-up before that cancelled, and what was answered ok", async () => {
    const { upstream, proxy } = await startPair();
    const leaver = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_HELLO);
    await leaver.waitFor("hello");
    leaver.hangUp();
    await proxy.drained();
    const reader = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const next = await upstream.nextCall();
    await next.beginStream();
    await next.sendChunk(SSE_USAGE + SSE_DONE);
    await next.endStream();
    await reader.waitFor("[DONE]");
    await proxy.drained();
    proxy.exchange.halt();
    await proxy.stop();
    expect(proxy.events.map(({ outcome }) => outcome)).toEqual(["cancelled", "ok"]);
  });
});

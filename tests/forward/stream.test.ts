import { afterEach, describe, expect, test } from "bun:test";
import { createGzip, gzipSync } from "node:zlib";
import { UnconfirmedUsage } from "#usage/store.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import { ALIAS, CHAT, COMPLETION, SSE_DONE, SSE_HELLO, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const TRANSCRIPT = `${SSE_HELLO}: a comment\r\n\r\n${SSE_USAGE}${SSE_DONE}`;

describe("a streamed request", () => {
  test("each chunk reaches the caller before the next one is sent", async () => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    for (let index = 0; index < 20; index += 1) {
      await call.sendChunk(`data: {"n":${index}}\n\n`);
      await caller.waitFor(`{"n":${index}}`);
    }
    await call.sendChunk(SSE_USAGE + SSE_DONE);
    await call.endStream();
    await caller.waitFor("\r\n0\r\n\r\n");
    caller.hangUp();
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "ok",
      streamed: true,
      statusCode: 200,
      usage: { quantities: { input_tokens: 7, output_tokens: 3 } },
    });
  });

  test("breaks off at its end when the ledger did not confirm it where answers wait for that", async () => {
    const { upstream, proxy } = await startPair(undefined, {
      onEnd() {
        throw new UnconfirmedUsage();
      },
    });
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk(SSE_USAGE + SSE_DONE);
    await caller.waitFor("[DONE]");
    await call.endStream();
    expect(await caller.ended).toBe("broken");
    expect(proxy.exchange.activeCount()).toBe(0);
  });

  test("goes on to its end when the garbage of its beginning is collected meanwhile", async () => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    for (let index = 0; index < 5; index += 1) {
      await call.sendChunk(`data: {"n":${index}}\n\n`);
      await caller.waitFor(`{"n":${index}}`);
      // The upstream's response is held by nothing but its body by now.
      Bun.gc(true);
    }
    await call.sendChunk(SSE_USAGE + SSE_DONE);
    await call.endStream();
    await caller.waitFor("\r\n0\r\n\r\n");
    caller.hangUp();
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "ok",
      usage: { quantities: { input_tokens: 7, output_tokens: 3 } },
    });
  });

  test("bytes arrive equal however they are cut, and are metered alike", async () => {
    const { upstream, proxy } = await startPair();
    for (const size of [1, 2, 3, 7, 64, 1000]) {
      const response = proxy.post(STREAMED_CHAT);
      const call = await upstream.nextCall();
      await call.beginStream();
      for (let at = 0; at < TRANSCRIPT.length; at += size)
        await call.sendChunk(TRANSCRIPT.slice(at, at + size));
      await call.endStream();
      expect(await (await response).text()).toBe(TRANSCRIPT);
    }
    await proxy.drained();
    expect(proxy.events).toHaveLength(6);
    for (const event of proxy.events)
      expect(event.usage?.quantities).toEqual({ input_tokens: 7, output_tokens: 3 });
  });

  test("the event is written down before the last byte of the response", async () => {
    const written = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { proxy } = await startPair(stream(TRANSCRIPT), {
      onEnd() {
        asked.resolve();
        return written.promise;
      },
    });
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    await asked.promise;
    await caller.waitFor("[DONE]");
    expect(caller.received()).not.toContain("\r\n0\r\n\r\n");
    written.resolve();
    await caller.waitFor("\r\n0\r\n\r\n");
    caller.hangUp();
  });

  test("an error event after a 200 is an upstream_error with the usage seen so far", async () => {
    const transcript = `${SSE_HELLO}${SSE_USAGE}data: {"error":{"type":"overloaded_error","message":"secret"}}\n\n`;
    const { proxy } = await startPair(stream(transcript));
    expect(await (await proxy.post(STREAMED_CHAT)).text()).toBe(transcript);
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "upstream_error",
      errorKind: "overloaded_error",
      statusCode: 200,
      usage: { quantities: { input_tokens: 7 } },
    });
  });

  test("an error status on a streamed request passes through as the unary body that it is", async () => {
    const body = '{"error":{"type":"rate_limit_error"}}';
    const { proxy } = await startPair((call) => call.reply({ status: 429, body }));
    const response = await proxy.post(STREAMED_CHAT);
    expect(response.status).toBe(429);
    expect(response.headers.get("x-proxy-error-source")).toBe("upstream");
    expect(await response.text()).toBe(body);
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "upstream_error",
      errorKind: "rate_limit_error",
      streamed: true,
    });
  });

  test("the response's content type decides: JSON for a streamed request, events for a unary one", async () => {
    const { proxy } = await startPair((call) =>
      call.request.body.includes('"stream"') ? call.reply({ body: COMPLETION }) : stream(TRANSCRIPT)(call),
    );
    expect(await (await proxy.post(STREAMED_CHAT)).text()).toBe(COMPLETION);
    expect(await (await proxy.post(CHAT)).text()).toBe(TRANSCRIPT);
    await proxy.drained();
    expect(proxy.events.map(({ streamed, usage }) => [streamed, usage?.quantities.input_tokens])).toEqual([
      [true, 7],
      [false, 7],
    ]);
  });

  test("a stream of another type is not held back", async () => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream(["content-type: application/x-lines"]);
    await call.sendChunk("first\n");
    await caller.waitFor("first\n");
    await call.sendChunk("second\n");
    await call.endStream();
    await caller.waitFor("\r\n0\r\n\r\n");
    caller.hangUp();
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok", usage: null });
  });

  test("a stream without [DONE], without any event, or with a length ends as it should", async () => {
    const bodies = [SSE_HELLO + SSE_USAGE, ""];
    for (const body of bodies) {
      const { proxy } = await startPair(stream(body));
      expect(await (await proxy.post(STREAMED_CHAT)).text()).toBe(body);
      expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok", statusCode: 200 });
    }
    const { proxy } = await startPair((call) =>
      call.reply({ headers: ["content-type: text/event-stream"], body: TRANSCRIPT }),
    );
    expect(await (await proxy.post(STREAMED_CHAT)).text()).toBe(TRANSCRIPT);
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "ok",
      usage: { quantities: { output_tokens: 3 } },
    });
  });

  test("a compressed stream passes unchanged, without waiting, and is metered from a decoded copy", async () => {
    const { upstream, proxy } = await startPair();
    const response = proxy.post(STREAMED_CHAT);
    const call = await upstream.nextCall();
    await call.beginStream(["content-type: text/event-stream; charset=utf-8", "content-encoding: gzip"]);
    const gzip = createGzip();
    const packed: Buffer[] = [];
    gzip.on("data", (bytes: Buffer) => packed.push(bytes));
    let sent = 0;
    const sendPacked = async () => {
      const bytes = Buffer.concat(packed.slice(sent));
      sent = packed.length;
      if (bytes.length > 0) await call.sendChunk(bytes);
    };
    for (const piece of [SSE_HELLO, SSE_USAGE, SSE_DONE]) {
      gzip.write(piece);
      await new Promise<void>((resolve) => gzip.flush(() => resolve()));
      await sendPacked();
    }
    gzip.end();
    await new Promise((resolve) => gzip.once("end", resolve));
    await sendPacked();
    await call.endStream();
    expect(Buffer.from(await (await response).arrayBuffer())).toEqual(Buffer.concat(packed));
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "ok",
      usage: { quantities: { input_tokens: 7, output_tokens: 3 } },
    });
  });

  test("a line of ten megabytes passes through", async () => {
    const line = `data: {"x":"${"y".repeat(10_000_000)}"}\n\n`;
    const { proxy } = await startPair(async (call) => {
      await call.beginStream();
      await call.sendChunk(line);
      await call.sendChunk(SSE_USAGE + SSE_DONE);
      await call.endStream();
    });
    const text = await (await proxy.post(STREAMED_CHAT)).text();
    expect(text.length).toBe(line.length + SSE_USAGE.length + SSE_DONE.length);
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "ok",
      usage: { quantities: { input_tokens: 7 } },
    });
  });

  test("a small compressed stream that stands for gigabytes harms nobody", async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024));
    const { proxy } = await startPair(async (call) => {
      await call.beginStream(["content-type: text/event-stream", "content-encoding: gzip"]);
      await call.sendChunk(bomb);
      await call.endStream();
    });
    expect(Buffer.from(await (await proxy.post(STREAMED_CHAT)).arrayBuffer())).toEqual(bomb);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok", usage: null });
  });

  test("a streamed completion is forced to report usage, a caller's other options stay", async () => {
    const { upstream, proxy } = await startPair(stream(TRANSCRIPT));
    await (
      await proxy.post(`{"model":"${ALIAS}","stream":true,"stream_options":{"x":1.0}}`, {
        endpoint: "completions",
      })
    ).text();
    expect(upstream.lastRequest().target).toBe("/v1/completions");
    expect(upstream.lastRequest().body.toString()).toContain(
      '"stream_options":{"x":1.0,"include_usage":true}',
    );
  });
});

describe("back pressure", () => {
  test("a caller that does not read holds the upstream back; when it reads on, nothing is missing", async () => {
    const { upstream, proxy } = await startPair();
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk("data: begin\n\n");
    await caller.waitFor("begin");
    caller.stopReading();
    const piece = `data: ${"x".repeat(65_528)}\n\n`;
    const pieces = 1_000;
    let taken = 0;
    const sending = (async () => {
      for (let index = 0; index < pieces; index += 1) {
        await call.sendChunk(piece);
        taken += 1;
      }
      await call.sendChunk(SSE_DONE);
      await call.endStream();
    })();
    // What is under way fits into socket buffers and a few chunks; without back pressure all 64 MB would leave at once.
    let before = -1;
    while (before !== taken) {
      before = taken;
      await Bun.sleep(250);
    }
    expect(taken * piece.length).toBeLessThan(40 * 1024 * 1024);
    caller.readOn();
    await sending;
    expect((await caller.body()) === `data: begin\n\n${piece.repeat(pieces)}${SSE_DONE}`).toBe(true);
    caller.hangUp();
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok" });
  }, 30_000);
});

function stream(body: string) {
  return async (call: UpstreamCall) => {
    await call.beginStream();
    if (body !== "") await call.sendChunk(body);
    await call.endStream();
  };
}

import { afterEach, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import { openCaller } from "./caller.ts";
import { CHAT, COMPLETION } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const MIB = 1024 * 1024;
/** More than the buffers of two connections take up. */
const LARGE_BYTES = 24 * MIB;
const WORDS = "of many words no two of which are in the same place ";
const roomForOne = { exchange: { maxResponseBytes: 32 * MIB, bufferedBytesTotalMax: 32 * MIB } };
const used = { input_tokens: 7, output_tokens: 3 };

describe("a large unary answer", () => {
  test.each(["with a length", "in chunks"])("%s comes back byte for byte with its usage", async (way) => {
    const body = toLarge();
    const { proxy } = await startPair(async (call) => {
      if (way === "with a length") return call.reply({ body });
      await call.beginStream(["content-type: application/json"]);
      for (let at = 0; at < body.length; at += 999_983) await call.sendChunk(body.subarray(at, at + 999_983));
      return call.endStream();
    }, roomForOne);
    const response = await proxy.post(CHAT);
    expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true);
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "ok",
      statusCode: 200,
      usage: { quantities: used },
    });
  });

  test("that is compressed in spite of identity passes unchanged, and is metered", async () => {
    const packed = gzipSync(toLarge(), { level: 0 });
    const { proxy } = await startPair(
      (call) => call.reply({ headers: ["content-encoding: gzip"], body: packed }),
      roomForOne,
    );
    const response = await proxy.post(CHAT);
    expect(Buffer.from(await response.arrayBuffer()).equals(packed)).toBe(true);
    expect((await proxy.onlyEvent()).usage?.quantities).toEqual(used);
  });

  test("that breaks off near its end is a clean 502, with nothing of it sent, and its room is free again", async () => {
    const body = toLarge();
    let count = 0;
    const { proxy } = await startPair(async (call) => {
      count += 1;
      if (count === 3) return call.reply({ body });
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
      await call.send(head);
      await call.send(body.subarray(0, body.length - 1));
      return call.reset();
    }, roomForOne);
    for (let round = 0; round < 2; round += 1) {
      const response = await proxy.post(CHAT);
      expect(response.status).toBe(502);
      expect(await response.json()).toEqual({ unreachable: "connection_error" });
    }
    expect((await (await proxy.post(CHAT)).arrayBuffer()).byteLength).toBe(body.length);
    await proxy.drained();
    expect(proxy.events.map(({ outcome }) => outcome)).toEqual(["unreachable", "unreachable", "ok"]);
  }, 30_000);
});

test.each(["with a length", "in chunks"])(
  "a unary answer of 512 KiB %s leaves in one piece, with its content-length, and keeps no room",
  async (way) => {
    const body = toLarge(UNCOUNTED_BYTES_MAX);
    const { proxy } = await startPair(
      async (call) => {
        if (way === "with a length") return call.reply({ body });
        await call.beginStream(["content-type: application/json"]);
        await call.sendChunk(body);
        return call.endStream();
      },
      { exchange: { maxResponseBytes: MIB, bufferedBytesTotalMax: MIB } },
    );
    for (let round = 0; round < 4; round += 1) {
      const response = await proxy.post(CHAT);
      expect(response.headers.get("content-length")).toBe(String(UNCOUNTED_BYTES_MAX));
      expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true);
    }
    await proxy.drained();
    expect(proxy.events.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok", "ok"]);
  },
);

describe("a large unary answer whose length is known", () => {
  test.each(["plain", "compressed"])("keeps its content-length where it is %s", async (way) => {
    const body = way === "plain" ? toLarge() : gzipSync(toLarge(), { level: 0 });
    const headers = [
      "content-type: application/json",
      ...(way === "plain" ? [] : ["content-encoding: gzip"]),
    ];
    const { proxy } = await startPair((call) => call.reply({ headers, body }), roomForOne);
    const caller = await openCaller({ port: proxy.port, body: CHAT });
    const received = await caller.body();
    const head = caller.received().split("\r\n\r\n", 1)[0]?.toLowerCase() ?? "";
    expect(head).toContain(`content-length: ${body.length}`);
    expect(head).not.toContain("transfer-encoding");
    expect(received === body.toString("latin1")).toBe(true);
    caller.hangUp();
  });

  test("gives its room back once it has left, also on a connection that goes on", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: toLarge() }), roomForOne);
    for (let round = 0; round < 3; round += 1) {
      const response = await proxy.post(CHAT);
      expect(response.headers.get("content-length")).toBe(String(LARGE_BYTES));
      expect((await response.arrayBuffer()).byteLength).toBe(LARGE_BYTES);
    }
    await proxy.drained();
    expect(proxy.events.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok"]);
  });
});

describe("a length that does not count", () => {
  const body = toLarge(200_000);
  const doubled = [`content-length: ${body.length}`, `content-length: ${body.length}`];

  test("because it is said twice keeps neither its answer nor the one behind it waiting", async () => {
    const { proxy } = await startPair(async (call) => {
      const head = call.request.body.includes("twice") ? doubled : doubled.slice(1);
      await call.send(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head.join("\r\n")}\r\n\r\n`);
      return call.send(body);
    }, roomForOne);
    for (const user of ["twice", "once", "twice"]) {
      const response = await proxy.post({ ...CHAT, user });
      expect(response.status).toBe(200);
      expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true);
    }
    await proxy.drained();
    expect(proxy.events.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok"]);
  });

  test("because the body comes in chunks lets no more through than any other", async () => {
    const { proxy } = await startPair(async (call) => {
      await call.beginStream(["content-type: application/json", "content-length: 2"]);
      for (let count = 0; count < 40; count += 1) await call.sendChunk(Buffer.alloc(MIB, " "));
      return call.endStream();
    }, roomForOne);
    const response = await proxy.post(CHAT);
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({ unreachable: "response_too_large" });
    expect(await proxy.onlyEvent()).toMatchObject({
      outcome: "unreachable",
      errorKind: "response_too_large",
    });
  });
});

describe("held answers share a budget", () => {
  test("one that finds no room waits until another caller has taken its own; a short one does not", async () => {
    const { proxy } = await startPair(
      (call) => call.reply({ body: call.request.body.includes("short") ? COMPLETION : toLarge() }),
      roomForOne,
    );
    const sleeper = await openCaller({ port: proxy.port, body: CHAT });
    sleeper.stopReading();
    while (proxy.events.length === 0) await Bun.sleep(1);
    const waiting = proxy.post(CHAT).then((response) => response.arrayBuffer());
    while (proxy.subjects.length < 2) await Bun.sleep(1);
    expect(await (await proxy.post({ ...CHAT, user: "short" })).text()).toBe(COMPLETION);
    await Bun.sleep(50);
    expect(proxy.events).toHaveLength(2);
    expect(proxy.exchange.activeCount()).toBe(1);
    sleeper.readOn();
    expect((await waiting).byteLength).toBe(LARGE_BYTES);
    await proxy.drained();
    expect(proxy.events.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "ok"]);
    expect((await sleeper.body()) === toLarge().toString("latin1")).toBe(true);
    sleeper.hangUp();
  }, 30_000);

  test("a caller that hangs up without having read its answer gives the room back", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: toLarge() }), roomForOne);
    const sleeper = await openCaller({ port: proxy.port, body: CHAT });
    sleeper.stopReading();
    while (proxy.events.length === 0) await Bun.sleep(1);
    const waiting = proxy.post(CHAT).then((response) => response.arrayBuffer());
    while (proxy.subjects.length < 2) await Bun.sleep(1);
    sleeper.hangUp();
    expect((await waiting).byteLength).toBe(LARGE_BYTES);
  });

  test("the wait counts into the call's deadline: past it the answer is a 502 naming timeout, and its upstream is let go", async () => {
    const { proxy, upstream } = await startPair((call) => call.reply({ body: toLarge() }), roomForOne);
    const sleeper = await openCaller({ port: proxy.port, body: CHAT });
    sleeper.stopReading();
    while (proxy.events.length === 0) await Bun.sleep(1);
    // Only now: the first answer may take longer to come here.
    const { baseUrl } = upstream;
    proxy.replaceCatalog({ baseUrl, provider: { timeoutReadSeconds: 1 } });
    const response = await proxy.post(CHAT);
    expect(await response.json()).toEqual({ unreachable: "timeout" });
    await proxy.drained();
    expect(proxy.events.at(-1)).toMatchObject({ outcome: "unreachable", errorKind: "timeout" });
    expect(upstream.requests).toHaveLength(2);
    sleeper.hangUp();
    proxy.replaceCatalog({ baseUrl });
    await proxy.post({ ...CHAT, user: "again" }).then((again) => again.arrayBuffer());
    expect(proxy.events.at(-1)).toMatchObject({ outcome: "ok" });
  }, 30_000);
});

/** JSON whose bytes differ from place to place, so that pieces in the wrong order or overwritten ones show. */
function toLarge(sizeBytes = LARGE_BYTES): Buffer {
  const body = Buffer.alloc(sizeBytes, WORDS);
  for (let at = 0; at < sizeBytes - 100; at += 1_000) body.write(String(at), at);
  const head = '{"choices":[{"message":{"content":"';
  const tail = '"}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}';
  body.write(head, 0);
  body.write(tail, sizeBytes - tail.length);
  return body;
}

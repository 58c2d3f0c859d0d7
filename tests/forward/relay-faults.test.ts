import net from "node:net";
import { afterEach, describe, expect, test } from "bun:test";
import { openBlackHole, type UpstreamCall } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import { startTurns, withinASecond } from "../support/turns.ts";
import {
  ANSWER,
  DELTA,
  MESSAGE,
  MODEL,
  PATH,
  START,
  STOP,
  STREAMED_MESSAGE,
  TOKEN,
  USAGE,
  startRelay,
  stopRelays,
  toEvent,
} from "./relay-harness.ts";

afterEach(stopRelays);

const LENGTH = "content-type: application/json\r\ncontent-length";

async function expectUnreachable(response: Response, error: string): Promise<void> {
  expect(response.status).toBe(502);
  expect(response.headers.get("x-proxy-error-source")).toBe("proxy");
  expect(response.headers.get("x-proxy-provider")).toBe("transparent:messages");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  const text = await response.text();
  expect(text).not.toContain(TOKEN);
  expect(text).not.toContain("127.0.0.1");
  const { error: envelope } = JSON.parse(text);
  expect(envelope.code).toBe("provider_unreachable");
  expect(envelope.message).toContain(error);
}

describe("an upstream that gives no answer to relay is a clean 502, unary and streamed", () => {
  const faults: readonly [string, (call: UpstreamCall) => unknown][] = [
    ["closes without a word", (call) => call.finish()],
    ["resets without a word", (call) => call.reset()],
    ["resets inside the head", async (call) => (await call.send("HTTP/1.1 200 OK\r\ncon"), call.reset())],
    [
      "breaks after its head and before its body",
      async (call) => (await call.send(`HTTP/1.1 200 OK\r\n${LENGTH}: 9\r\n\r\n`), call.reset()),
    ],
  ];
  test.each(faults)("%s", async (_, fault) => {
    const { upstream, send, drained, events, logLines } = await startRelay(fault);
    for (const body of [MESSAGE, STREAMED_MESSAGE]) {
      const response = await send("POST", "/v1/messages", { body: JSON.stringify(body) });
      expect(response.headers.get("x-proxy-model")).toBe(MODEL);
      await expectUnreachable(response, "connection_error");
    }
    await drained();
    // Nothing is retried.
    expect(upstream.requests).toHaveLength(2);
    expect(events).toHaveLength(2);
    for (const event of events) {
      expect(event).toMatchObject({
        outcome: "unreachable",
        errorKind: "connection_error",
        statusCode: 502,
        usage: null,
      });
    }
    // Why it gave no answer, once, and no word of what it said.
    for (const { message, fields } of logLines) {
      expect(message).toBe("a provider gave no answer");
      expect(Object.keys(fields ?? {})).toEqual(["provider", "failure"]);
    }
    expect(logLines.length).toBeLessThanOrEqual(1);
  });

  test("while a body is still being sent", async () => {
    const { port, upstream, onlyEvent } = await startRelay();
    await upstream.stop();
    const caller = await openCaller({
      port,
      raw: `POST ${PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n`,
    });
    await caller.waitFor("provider_unreachable");
    expect(caller.received().toLowerCase()).toContain("connection: close");
    expect(await onlyEvent()).toMatchObject({ outcome: "unreachable", errorKind: "connection_error" });
    // Nobody swallows the rest of a body that has no end.
    await withinASecond(caller.ended, "closing");
  });

  test("by an unknown host and a refused connection, for a GET as well", async () => {
    const { upstream } = await startRelay();
    await upstream.stop();
    for (const baseUrl of [`http://127.0.0.1:${upstream.port}`, "http://no-such-host.invalid"]) {
      const { send, onlyEvent } = await startRelay(undefined, { baseUrl });
      await expectUnreachable(await send("GET", "/v1/models"), "connection_error");
      expect(await onlyEvent()).toMatchObject({ outcome: "unreachable", model: null });
    }
  });
});

test.each(["GET", "HEAD", "OPTIONS", "DELETE", "PUT", "PATCH", "POST"])(
  "nothing is sent again when a connection that was kept open breaks before its answer: %s",
  async (method) => {
    let requestCount = 0;
    const fickle = net.createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        if (!bytes.toString("latin1").startsWith(method)) return;
        requestCount += 1;
        if (requestCount === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        else socket.destroy();
      });
    });
    await new Promise<void>((resolve) => fickle.listen(0, "127.0.0.1", resolve));
    const address = fickle.address();
    const fickleUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    const { send, drained, events } = await startRelay(undefined, { baseUrl: fickleUrl });
    expect((await send(method, "/v1/files/1")).status).toBe(200);
    expect((await send(method, "/v1/files/1")).status).toBe(502);
    await drained();
    expect(requestCount).toBe(2);
    const isRecorded = method !== "HEAD" && method !== "OPTIONS";
    expect(events.map(({ outcome }) => outcome)).toEqual(isRecorded ? ["ok", "unreachable"] : []);
    fickle.close();
  },
);

describe("an upstream that breaks off inside a body breaks the caller's connection, never ends it cleanly", () => {
  const breaks: readonly [string, (call: UpstreamCall) => unknown][] = [
    ["by a reset", (call) => call.reset()],
    ["by closing without a last chunk", (call) => call.finish()],
    ["inside a chunk", async (call) => (await call.send("ff\r\nxx"), call.finish())],
    ["by a bad chunk", (call) => call.send("zz\r\nxx\r\n")],
  ];
  test.each(breaks)("%s", async (_, fault) => {
    for (const [type, first, usage] of [
      ["text/event-stream", START + USAGE, { quantities: { input_tokens: 7, output_tokens: 3 } }],
      ["application/json", ANSWER.slice(0, 60), null],
    ] as const) {
      const { upstream, port, onlyEvent } = await startRelay();
      const caller = await openCaller({ port, path: PATH, body: STREAMED_MESSAGE });
      const call = await upstream.nextCall();
      await call.beginStream([`content-type: ${type}`]);
      await call.sendChunk(first);
      await caller.waitFor(first.slice(0, 20));
      await fault(call);
      expect(await withinASecond(caller.ended, "breaking off")).toBe("broken");
      const event = await onlyEvent();
      expect(event).toMatchObject({ outcome: "unreachable", errorKind: "connection_error", statusCode: 502 });
      if (usage === null) expect(event.usage).toBeNull();
      else expect(event.usage).toMatchObject(usage);
    }
  });
});

describe("time limits", () => {
  test("connecting may take its own limit, exactly, whatever the body is", async () => {
    const hole = await openBlackHole();
    if (hole === null) return;
    const { send, onlyEvent } = await startRelay(undefined, {
      baseUrl: hole.baseUrl,
      connectSeconds: 0.4,
    });
    const startMs = performance.now();
    const turns = startTurns();
    await expectUnreachable(await send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE) }), "timeout");
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(395);
    expect(turns.elapsedMs()).toBeLessThan(900);
    turns.end();
    expect(await onlyEvent()).toMatchObject({ outcome: "unreachable", errorKind: "timeout" });

    const streamed = await startRelay(undefined, { baseUrl: hole.baseUrl, connectSeconds: 0.4 });
    const caller = await openCaller({
      port: streamed.port,
      raw: `POST ${PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    });
    await withinASecond(caller.waitFor("timeout"), "giving up");
    caller.hangUp();
    hole.stop();
  });

  test("a request without a body has both limits for its answer's head together", async () => {
    const { send } = await startRelay(undefined, { connectSeconds: 0.2, silenceSeconds: 0.2 });
    const startMs = performance.now();
    await expectUnreachable(await send("GET", "/v1/models"), "timeout");
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(395);
  });

  test.each([
    ["before the head", () => undefined],
    ["after the head", (call: UpstreamCall) => call.send(`HTTP/1.1 200 OK\r\n${LENGTH}: 9\r\n\r\n`)],
  ])("an upstream silent %s is a timeout, and its connection is closed", async (_, fault) => {
    const { upstream, send } = await startRelay(undefined, { silenceSeconds: 0.3 });
    const response = send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE) });
    const call = await upstream.nextCall();
    await fault(call);
    await expectUnreachable(await response, "timeout");
    await withinASecond(call.closed, "closing");
  });

  test("silence inside a body breaks the caller's connection; slowness does not, unary or streamed", async () => {
    const turns = startTurns();
    const { upstream, port, onlyEvent } = await startRelay(undefined, {
      silenceSeconds: 0.4,
      clock: turns.clock,
    });
    const caller = await openCaller({ port, path: PATH, body: MESSAGE });
    const call = await upstream.nextCall();
    await call.beginStream(["content-type: application/json"]);
    const startMs = turns.elapsedMs();
    let last = 0;
    for (; turns.elapsedMs() - startMs < 600; last += 1) {
      await call.sendChunk(`piece-${last} `);
      await Bun.sleep(100);
    }
    await caller.waitFor(`piece-${last - 1} `);
    expect(await caller.ended).toBe("broken");
    await withinASecond(call.closed, "closing");
    turns.end();
    expect(await onlyEvent()).toMatchObject({
      outcome: "unreachable",
      errorKind: "timeout",
      statusCode: 502,
    });
  });

  test("a caller that sends its body slowly is not what an upstream is timed by", async () => {
    const { upstream, port, onlyEvent } = await startRelay(undefined, { silenceSeconds: 0.4 });
    const caller = await openCaller({
      port,
      raw: `POST ${PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`,
    });
    for (let index = 0; index < 6; index += 1) {
      caller.send("1\r\n{\r\n");
      await Bun.sleep(100);
    }
    caller.send("0\r\n\r\n");
    const call = await upstream.nextCall();
    await call.reply({ body: ANSWER });
    await caller.waitFor("output_tokens");
    expect(await onlyEvent()).toMatchObject({ outcome: "ok" });
    caller.hangUp();
  });
});

describe("a caller that hangs up closes the upstream within a second and leaves exactly one event", () => {
  const phases: readonly [string, (call: UpstreamCall) => unknown, string, object][] = [
    ["before the head", () => undefined, "", { outcome: "cancelled", statusCode: 499, usage: null }],
    [
      "after the reason of the stop: it has had its answer",
      async (call) => (await call.beginStream(), await call.sendChunk(START + DELTA + USAGE)),
      "message_delta",
      { outcome: "ok", usage: { quantities: { input_tokens: 7, output_tokens: 3 } } },
    ],
    [
      "after an error event",
      async (call) => (
        await call.beginStream(),
        await call.sendChunk(toEvent("error", { error: { type: "api_error" } }))
      ),
      "api_error",
      { outcome: "upstream_error", errorKind: "api_error" },
    ],
    [
      "after a whole document whose body has not ended",
      async (call) => (
        await call.beginStream(["content-type: application/json"]),
        await call.sendChunk(ANSWER)
      ),
      "output_tokens",
      { outcome: "cancelled", statusCode: 200, usage: { quantities: { input_tokens: 7, output_tokens: 3 } } },
    ],
  ];
  test.each(phases)("%s", async (_, script, seen, expected) => {
    const { upstream, port, onlyEvent } = await startRelay();
    const caller = await openCaller({ port, path: PATH, body: STREAMED_MESSAGE });
    const call = await upstream.nextCall();
    await script(call);
    await caller.waitFor(seen);
    expect(call.isClosed()).toBe(false);
    caller.hangUp();
    await withinASecond(call.closed, "closing the upstream");
    expect(await onlyEvent()).toMatchObject(expected);
    expect(upstream.requests).toHaveLength(1);
  });

  test("while its body is being sent, streamed", async () => {
    const { upstream, port, onlyEvent, logLines } = await startRelay();
    const caller = await openCaller({
      port,
      raw: `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n{"model":"${MODEL}"`,
    });
    while (upstream.connectionCount() === 0) await Bun.sleep(1);
    await Bun.sleep(30);
    caller.hangUp();
    await withinASecond(upstream.allClosed(), "closing the upstream");
    expect(await onlyEvent()).toMatchObject({ outcome: "cancelled", statusCode: 499, model: null });
    expect(upstream.requests).toEqual([]);
    expect(logLines).toEqual([]);
  });

  test("many at once, at any moment, streaming their bodies or not: as many events as requests", async () => {
    const { port, drained, activeCount, events, subjects, logLines } = await startRelay(async (call) => {
      await call.beginStream();
      for (let index = 0; index < 20; index += 1) {
        if (!(await call.sendChunk(DELTA))) return;
        await Bun.sleep(2);
      }
      await call.sendChunk(USAGE + STOP);
      await call.endStream();
    });
    const chunked = `POST ${PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n`;
    const requests = Array.from({ length: 60 }, async (_, index) => {
      const caller = await openCaller(
        index % 2 === 0 ? { port, path: PATH, body: STREAMED_MESSAGE } : { port, raw: chunked },
      );
      await Bun.sleep(index / 2);
      if (index % 4 === 1) caller.send("1\r\n}\r\n0\r\n\r\n");
      await Bun.sleep(index / 2);
      caller.hangUp();
    });
    await Promise.all(requests);
    while (activeCount() > 0) await drained();
    expect(events).toHaveLength(subjects.length);
    expect(events.length).toBeGreaterThan(30);
    expect(logLines).toEqual([]);
  });
});

describe("secrecy", () => {
  test("neither the token nor what was said is in an event, a log line or a metric, whatever happens", async () => {
    const scripts: readonly ((call: UpstreamCall) => unknown)[] = [
      (call) => call.reply({ body: ANSWER.replace("hi", "planted") }),
      (call) =>
        call.reply({ status: 400, body: '{"type":"error","error":{"type":"x","message":"planted"}}' }),
      (call) => call.reset(),
    ];
    for (const script of scripts) {
      const relay = await startRelay(script, {
        onEnd: () => Promise.reject(new Error(`planted ${TOKEN}`)),
      });
      const body = JSON.stringify({ ...MESSAGE, model: "m" });
      await (await relay.send("POST", "/v1/messages?planted=1", { body })).text();
      await relay.drained();
      expect(relay.logLines.length).toBeGreaterThan(0);
      const kept = JSON.stringify([relay.subjects, relay.events, relay.logLines, relay.metrics.requests()]);
      expect(kept).not.toContain("planted");
      expect(kept).not.toContain(TOKEN);
    }
  });
});

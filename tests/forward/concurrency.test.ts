import { afterEach, describe, expect, test } from "bun:test";
import type { SlotHolder, SlotSource } from "#catalog/slots.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import { startTurns, withinASecond } from "../support/turns.ts";
import { CHAT, COMPLETION, SSE_DONE, SSE_HELLO, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

describe("max_concurrency", () => {
  test("a request over the cap waits until a response body has ended, in order of arrival", async () => {
    const { upstream, proxy } = await startPair(undefined, { provider: { maxConcurrency: 1 } });
    const first = proxy.post(STREAMED_CHAT);
    const running = await upstream.nextCall();
    await running.beginStream();
    await running.sendChunk(SSE_HELLO);
    const rest: Promise<string>[] = [];
    for (const name of ["b", "c"]) {
      rest.push(proxy.post({ ...CHAT, user: name }).then((response) => response.text()));
      while (proxy.subjects.length < rest.length + 1) await Bun.sleep(1);
    }
    await Bun.sleep(30);
    expect(upstream.requests).toHaveLength(1);
    await running.sendChunk(SSE_DONE);
    await running.endStream();
    await (await first).text();
    for (const name of ["b", "c"]) {
      const call = await upstream.nextCall();
      expect(call.request.body.toString()).toContain(`"user":"${name}"`);
      expect(upstream.requests).toHaveLength(name === "b" ? 2 : 3);
      await call.reply({ body: COMPLETION });
    }
    expect(await Promise.all(rest)).toEqual([COMPLETION, COMPLETION]);
  });

  test("a slot that goes to another replica cuts its request off, which is unreachable and holds the slot no longer", async () => {
    const holders: SlotHolder[] = [];
    const slots: SlotSource = {
      open(_, holder) {
        holders.push(holder);
        return { allow: (limit) => limit };
      },
    };
    const { upstream, proxy } = await startPair(undefined, {
      provider: { maxConcurrency: 2 },
      exchange: { slots },
    });
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    const streaming = await upstream.nextCall();
    await streaming.beginStream();
    await streaming.sendChunk(SSE_HELLO);
    await caller.waitFor("hello");
    const waiting = proxy.post(CHAT);
    const silent = await upstream.nextCall();
    holders[0]?.cut();
    await withinASecond(Promise.all([streaming.closed, silent.closed]), "both connections close");
    expect(await caller.ended).toBe("broken");
    expect(await (await waiting).json()).toEqual({ unreachable: "interrupted" });
    await proxy.drained();
    expect(proxy.events.map(({ outcome, errorKind }) => [outcome, errorKind])).toEqual([
      ["unreachable", "interrupted"],
      ["unreachable", "interrupted"],
    ]);
    expect(holders[0]?.inUse).toBe(0);
  });

  test("waiting counts: at timeout_read it is a timeout, and the upstream never hears of it", async () => {
    const { upstream, proxy } = await startPair(undefined, {
      provider: { maxConcurrency: 1, timeoutReadSeconds: 0.4 },
    });
    const keepAlive = setInterval(() => void running?.sendChunk(SSE_HELLO), 100);
    let running: UpstreamCall | null = null;
    const caller = await openCaller({ port: proxy.port, body: STREAMED_CHAT });
    running = await upstream.nextCall();
    await running.beginStream();
    const startMs = performance.now();
    expect(await (await proxy.post(CHAT)).json()).toEqual({ unreachable: "timeout" });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(395);
    expect(upstream.requests).toHaveLength(1);
    clearInterval(keepAlive);
    caller.hangUp();
    await proxy.drained();
    expect(proxy.events[0]).toMatchObject({ outcome: "unreachable", errorKind: "timeout", statusCode: 502 });
  });

  test("the time spent waiting is not given again to a unary call", async () => {
    const { upstream, proxy } = await startPair(undefined, {
      provider: { maxConcurrency: 1, timeoutReadSeconds: 2 },
    });
    const first = proxy.post(CHAT);
    const running = await upstream.nextCall();
    const turns = startTurns();
    const second = proxy.post(CHAT);
    await Bun.sleep(1_200);
    await running.reply({ body: COMPLETION });
    await first;
    await upstream.nextCall();
    expect(await (await second).json()).toEqual({ unreachable: "timeout" });
    // Given again, it would have ended after 3.2 s.
    expect(turns.elapsedMs()).toBeLessThan(3_100);
    turns.end();
  });

  test("a caller that hangs up while waiting leaves the line and is recorded as cancelled", async () => {
    const { upstream, proxy } = await startPair(undefined, { provider: { maxConcurrency: 1 } });
    const first = proxy.post(CHAT);
    const running = await upstream.nextCall();
    const waiting = await openCaller({ port: proxy.port, body: { ...CHAT, user: "gone" } });
    while (proxy.subjects.length < 2) await Bun.sleep(1);
    const third = proxy.post({ ...CHAT, user: "third" });
    while (proxy.subjects.length < 3) await Bun.sleep(1);
    waiting.hangUp();
    while (proxy.events.length < 1) await withinASecond(Bun.sleep(5), "leaving the line");
    expect(proxy.events[0]).toMatchObject({ outcome: "cancelled", statusCode: 499, errorKind: null });
    await running.reply({ body: COMPLETION });
    const next = await upstream.nextCall();
    expect(next.request.body.toString()).toContain("third");
    await next.reply({ body: COMPLETION });
    expect((await first).status).toBe(200);
    expect((await third).status).toBe(200);
  });

  test("every ending gives its slot back", async () => {
    const { upstream, proxy } = await startPair(undefined, {
      provider: { maxConcurrency: 1, timeoutReadSeconds: 0.2 },
    });
    const endings: ((call: UpstreamCall) => unknown)[] = [
      (call) => call.reset(),
      (call) => call.reply({ status: 500, body: "x" }),
      (call) => call.reply({ status: 204 }),
      () => undefined,
      (call) => call.reply({ status: 999 }),
      async (call) => (await call.beginStream(), await call.endStream()),
      (call) => call.reply({ body: "x".repeat(5_000_000) }),
    ];
    for (const ending of endings) {
      const response = proxy.post(CHAT);
      await ending(await upstream.nextCall());
      await (await response).arrayBuffer();
    }
    const caller = await openCaller({ port: proxy.port, body: CHAT });
    const call = await upstream.nextCall();
    caller.hangUp();
    await call.closed;
    const last = proxy.post(CHAT);
    await (await upstream.nextCall()).reply({ body: COMPLETION });
    expect((await last).status).toBe(200);
    expect(proxy.events).toHaveLength(endings.length + 2);
  });
});

describe("more than 256 requests at once", () => {
  test("reach the upstream together when the process was started for it", async () => {
    const script = `
      import { startUpstream } from "${import.meta.dir}/../support/upstream.ts";
      import { CHAT, COMPLETION, startProxy } from "${import.meta.dir}/harness.ts";
      const upstream = await startUpstream();
      const proxy = startProxy({ baseUrl: upstream.baseUrl });
      const callers = [];
      for (let index = 0; index < 320; index += 1) callers.push(proxy.post(CHAT));
      const calls = [];
      while (calls.length < 320) calls.push(await upstream.nextCall());
      for (const call of calls) void call.reply({ body: COMPLETION });
      let answered = 0;
      for (const caller of callers) if ((await (await caller).text()) === COMPLETION) answered += 1;
      await proxy.drained();
      console.log(JSON.stringify({ answered, events: proxy.events.length }));
      process.exit(0);
    `;
    const child = Bun.spawn({
      cmd: [process.execPath, "-e", script],
      cwd: `${import.meta.dir}/../..`,
      env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: "65336" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const timer = setTimeout(() => child.kill(), 20_000);
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    clearTimeout(timer);
    expect(err).toBe("");
    expect(JSON.parse(out)).toEqual({ answered: 320, events: 320 });
  }, 25_000);
});

import { afterEach, describe, expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { Cancellation, createDeadlines } from "#kernel/cancellation.ts";
import { type TeeEnding, createSlowConsumers } from "#forward/tee.ts";
import { createTee } from "#forward/tee.ts";
import { openCaller } from "./caller.ts";
import { SSE_DONE, SSE_USAGE, STREAMED_CHAT } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

const deadlines = createDeadlines(() => performance.now());
const openCutoff = () => new Cancellation(new AbortController(), { limits: deadlines });

const running: { stop(force: true): Promise<void> }[] = [];
afterEach(async () => {
  await stopPairs();
  for (const server of running.splice(0)) await server.stop(true);
});

const MINUTE_MS = 60_000;
const CROWDED_MS = 20;

function openStalls(crowd: number, streamsMax = 100) {
  let nowMs = 0;
  const stalls = createSlowConsumers({
    monotonicMs: () => nowMs,
    crowd,
    streamsMax,
    crowdedMsMax: CROWDED_MS,
  });
  let principals = 0;
  /** Each of another principal, unless it is named. */
  const begin = (principalId = `principal-${(principals += 1)}`) => {
    const cancellation = openCutoff();
    cancellation.arm(MINUTE_MS, "cancelled");
    stalls.begin(cancellation, principalId);
    return cancellation;
  };
  return { stalls, begin, pass: (ms: number) => void (nowMs += ms) };
}

const cut = (cancellation: Cancellation) =>
  new Promise<void>((resolve) =>
    cancellation.signal.addEventListener("abort", () => resolve(), { once: true }),
  );

describe("streams whose callers take nothing", () => {
  test("in a crowd the one that has waited longest is cut off as cancelled once its shorter time is up, and only that one", async () => {
    const crowd = openStalls(2);
    const [first, second, third] = [crowd.begin(), crowd.begin(), crowd.begin()];
    expect([first.cause, second.cause, third.cause]).toEqual([null, null, null]);
    await cut(first);
    expect([first.cause, second.cause, third.cause]).toEqual(["cancelled", null, null]);
    crowd.stalls.end(first);
    const fourth = crowd.begin();
    await cut(second);
    expect([second.cause, third.cause, fourth.cause]).toEqual(["cancelled", null, null]);
  });

  test("whoever has had that time already is cut off by the next sweep", async () => {
    const crowd = openStalls(1);
    const first = crowd.begin();
    crowd.pass(MINUTE_MS);
    const second = crowd.begin();
    await cut(first);
    expect([first.cause, second.cause]).toEqual(["cancelled", null]);
  });

  test("in a larger crowd the one that has waited longest is cut off at once, also one whose shorter time runs", () => {
    const crowd = openStalls(1, 2);
    const [first, second, third] = [crowd.begin(), crowd.begin(), crowd.begin()];
    expect([first.cause, second.cause, third.cause]).toEqual(["cancelled", null, null]);
    crowd.stalls.end(second);
    crowd.begin();
    expect(third.cause).toBeNull();
  });

  test("of one principal are a quarter: its own oldest is cut off, and of others' none", async () => {
    const crowd = openStalls(100, 8);
    const others = [crowd.begin("bob"), crowd.begin("eve")];
    const own = [crowd.begin("ada"), crowd.begin("ada"), crowd.begin("ada")];
    expect(own.map(({ cause }) => cause)).toEqual(["cancelled", null, null]);
    expect(others.map(({ cause }) => cause)).toEqual([null, null]);
    // One that reads again is none of them.
    for (const cancellation of own) crowd.stalls.end(cancellation);
    const again = [crowd.begin("ada"), crowd.begin("ada")];
    expect(again.map(({ cause }) => cause)).toEqual([null, null]);
    // With a quarter of the crowd that gets less time.
    const hurried = openStalls(8);
    const first = hurried.begin("ada");
    const second = hurried.begin("ada");
    const third = hurried.begin("ada");
    hurried.begin("bob");
    await cut(first);
    expect([second.cause, third.cause]).toEqual([null, null]);
  });

  test("a caller that takes something again waits anew", async () => {
    const crowd = openStalls(2);
    const [slow, still] = [crowd.begin(), crowd.begin()];
    crowd.stalls.end(slow);
    crowd.stalls.begin(slow, "ada");
    const late = crowd.begin();
    await cut(still);
    expect([slow.cause, still.cause, late.cause]).toEqual([null, "cancelled", null]);
  });

  test("a caller that never reads makes room for the next one, and one that reads is left alone", async () => {
    const stalls = createSlowConsumers({ monotonicMs: () => performance.now(), crowd: 1, crowdedMsMax: 100 });
    const endings = new Map<string, TeeEnding>();
    const cutOff = Promise.withResolvers<string>();
    const stalledOnce = new Map<string, () => void>();
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      development: false,
      fetch(request) {
        const name = new URL(request.url).pathname;
        let leftBytes = name === "/reads" ? 20 * 1024 * 1024 : Number.POSITIVE_INFINITY;
        const next = () => {
          leftBytes -= 1 << 20;
          return Promise.resolve(
            leftBytes < 0 ? { done: true } : { done: false, value: new Uint8Array(1 << 20) },
          );
        };
        const tap = createTee({
          reader: { read: next, cancel: () => Promise.resolve() },
          first: Uint8Array.of(1),
          cancellation: new Cancellation(request, { limits: deadlines }),
          idleMs: 60_000,
          stallMs: 60_000,
          stalls: {
            begin(cancellation) {
              stalls.begin(cancellation, name);
              stalledOnce.get(name)?.();
            },
            end: (cancellation) => stalls.end(cancellation),
          },
          watch: () => null,
          finish(ending) {
            endings.set(name, ending);
            if (name !== "/reads") cutOff.resolve(name);
            return Promise.resolve();
          },
        });
        return new Response(tap);
      },
    });
    running.push(server);
    const port = server.port ?? 0;
    const stall = async (path: string) => {
      const stalled = Promise.withResolvers<void>();
      stalledOnce.set(path, stalled.resolve);
      const caller = await openCaller({ port, path });
      caller.stopReading();
      await stalled.promise;
      return caller;
    };
    const first = await stall("/first");
    expect(endings.size).toBe(0);
    const second = await stall("/second");
    expect(await cutOff.promise).toBe("/first");
    expect(endings.get("/first")).toBe("cancelled");
    expect(endings.has("/second")).toBe(false);
    second.hangUp();
    const whole = await (await fetch(`http://127.0.0.1:${port}/reads`)).bytes();
    expect(whole).toHaveLength(20 * 1024 * 1024 + 1);
    first.hangUp();
  });
});

describe("a long stream", () => {
  test.each(["plain", "gzip"] as const)(
    "of large chunks reaches a slow caller byte for byte, and is metered (%s)",
    async (coding) => {
      const event = `data: {"x":"${randomBytes(12 * 1024 * 1024).toString("hex")}"}\n\n${SSE_USAGE}${SSE_DONE}`;
      const bytes = coding === "gzip" ? gzipSync(event, { level: 1 }) : Buffer.from(event);
      const headers = [
        "content-type: text/event-stream",
        ...(coding === "gzip" ? ["content-encoding: gzip"] : []),
      ];
      const { proxy } = await startPair((call) => call.reply({ headers, body: bytes }));
      const response = await proxy.post(STREAMED_CHAT);
      const hash = createHash("sha256");
      let count = 0;
      for await (const chunk of response.body ?? []) {
        hash.update(chunk);
        count += 1;
        if (count % 8 === 1) await Bun.sleep(20);
      }
      expect(hash.digest("hex")).toBe(createHash("sha256").update(bytes).digest("hex"));
      expect(await proxy.onlyEvent()).toMatchObject({
        outcome: "ok",
        usage: { quantities: { input_tokens: 7, output_tokens: 3 } },
      });
    },
    60_000,
  );
});

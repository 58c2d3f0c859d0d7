import { describe, expect, test } from "bun:test";
import { type Caller, Cancellation, LASTING_MS_MIN, createDeadlines } from "#kernel/cancellation.ts";

const limits = createDeadlines(() => performance.now());
const lasting = createDeadlines(() => performance.now());

/** A caller that tells what it is asked. */
function watchCaller() {
  const controller = new AbortController();
  const asked: string[] = [];
  const lasts = Promise.withResolvers<void>();
  const caller: Caller = {
    get signal() {
      asked.push("signal");
      return controller.signal;
    },
    keepOpen() {
      asked.push("keepOpen");
      lasts.resolve();
    },
    letIdle: () => void asked.push("letIdle"),
  };
  return { caller, asked, lasts: lasts.promise, hangUp: () => controller.abort() };
}

describe("the caller of a request", () => {
  test("is asked for nothing while the request is young, nor when that is all it ever is", async () => {
    const { caller, asked } = watchCaller();
    const cancellation = new Cancellation(caller, { limits, lasting });
    cancellation.arm(60_000);
    cancellation.release();
    const other = watchCaller();
    const lastingOne = new Cancellation(other.caller, { limits, lasting });
    await other.lasts;
    expect(asked).toEqual([]);
    lastingOne.release();
  });

  test("is watched once the request lasts, and its connection is kept open until it is released", async () => {
    const { caller, asked, lasts, hangUp } = watchCaller();
    const startedMs = performance.now();
    const cancellation = new Cancellation(caller, { limits, lasting });
    await lasts;
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(LASTING_MS_MIN);
    expect(asked).toEqual(["signal", "keepOpen"]);
    hangUp();
    expect(cancellation.cause).toBe("cancelled");
    expect(cancellation.signal.aborted).toBe(true);
    cancellation.release();
    expect(asked.filter((name) => name === "letIdle")).toHaveLength(1);
  });

  test("that has hung up before it is watched is noticed then", async () => {
    const { caller, hangUp } = watchCaller();
    const cancellation = new Cancellation(caller, { limits, lasting });
    const cut = new Promise<void>((resolve) =>
      cancellation.signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    hangUp();
    expect(cancellation.cause).toBeNull();
    await cut;
    expect(cancellation.cause).toBe("cancelled");
  });
});

describe("the time limit of a request", () => {
  test("that was armed while the request was young runs from then on", async () => {
    let nowMs = 0;
    const fake = createDeadlines(() => nowMs);
    const { caller, lasts } = watchCaller();
    const cancellation = new Cancellation(caller, { limits: fake, lasting: fake });
    nowMs = 20;
    cancellation.arm(100);
    nowMs = LASTING_MS_MIN;
    await lasts;
    nowMs = 119;
    const { promise: swept, resolve } = Promise.withResolvers<void>();
    fake.create({ expired: resolve }).set(0);
    await swept;
    expect(cancellation.cause).toBeNull();
    const cut = new Promise<void>((abort) =>
      cancellation.signal.addEventListener("abort", () => abort(), { once: true }),
    );
    nowMs = 120;
    await cut;
    expect(cancellation.cause).toBe("timeout");
  });
});

test("a cancellation that is finished hands its signal on unused; one that was cut off, or released, does not", () => {
  const spare: AbortController[] = [];
  const open = () => new Cancellation(watchCaller().caller, { limits, lasting, spare });
  const first = open();
  const { signal } = first;
  first.finish();
  first.finish();
  expect(spare).toHaveLength(1);
  const next = open();
  expect(next.signal).toBe(signal);
  first.cancel("cancelled");
  expect(signal.aborted).toBe(false);
  next.cancel("cancelled");
  expect([signal.aborted, next.isCutOff, first.isCutOff]).toEqual([true, true, false]);
  next.finish();
  open().release();
  expect(spare).toEqual([]);
});

import { describe, expect, test } from "bun:test";
import { createDeadlines, SWEEP_INTERVAL_MS } from "#kernel/cancellation.ts";
import { withinLimit } from "#kernel/timer.ts";

const within = (what: Promise<unknown>, limitMs: number) =>
  withinLimit(what, limitMs, () => {
    throw new Error("it did not happen in time");
  });

describe("deadlines", () => {
  test("a limit is called once, not before it is due and at most a sweep later than it should be", async () => {
    const deadlines = createDeadlines(() => performance.now());
    const startedMs = performance.now();
    let calls = 0;
    await within(
      new Promise<void>((resolve) => {
        deadlines.create().set(80, () => {
          calls += 1;
          resolve();
        });
      }),
      2_000,
    );
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(80);
    const other = Promise.withResolvers<void>();
    deadlines.create().set(SWEEP_INTERVAL_MS, () => other.resolve());
    await within(other.promise, 2_000);
    expect(calls).toBe(1);
  });

  test("a limit that is lifted or set anew is not called, and one that is restarted is called later", async () => {
    let nowMs = 0;
    const deadlines = createDeadlines(() => nowMs);
    const called: string[] = [];
    const done = Promise.withResolvers<void>();
    const [lifted, replaced, restarted, last] = Array.from({ length: 4 }, () => deadlines.create());
    lifted?.set(10, () => called.push("lifted"));
    replaced?.set(10, () => called.push("first"));
    restarted?.set(10, () => called.push("restarted"));
    lifted?.lift();
    replaced?.set(1_000_000, () => called.push("second"));
    nowMs = 5;
    restarted?.restart();
    nowMs = 12;
    last?.set(0, () => {
      called.push("last");
      done.resolve();
    });
    await within(done.promise, 2_000);
    expect(called).toEqual(["last"]);
    const again = Promise.withResolvers<void>();
    nowMs = 16;
    last?.set(0, () => again.resolve());
    await within(again.promise, 2_000);
    expect(called).toEqual(["last", "restarted"]);
    replaced?.lift();
  });
});

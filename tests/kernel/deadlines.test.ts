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
        const expired = () => {
          calls += 1;
          resolve();
        };
        deadlines.create({ expired }).set(80);
      }),
      2_000,
    );
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(80);
    const other = Promise.withResolvers<void>();
    deadlines.create({ expired: () => other.resolve() }).set(SWEEP_INTERVAL_MS);
    await within(other.promise, 2_000);
    expect(calls).toBe(1);
  });

  test("a limit that is lifted or set anew is not called, and one that is restarted is called later", async () => {
    let nowMs = 0;
    const deadlines = createDeadlines(() => nowMs);
    const called: string[] = [];
    let done = Promise.withResolvers<void>();
    const create = (name: string) => deadlines.create({ expired: () => called.push(name) });
    const [lifted, replaced, restarted] = [create("lifted"), create("replaced"), create("restarted")];
    const last = deadlines.create({
      expired() {
        called.push("last");
        done.resolve();
      },
    });
    lifted.set(10);
    replaced.set(10);
    restarted.set(10);
    lifted.lift();
    replaced.set(1_000_000);
    nowMs = 5;
    restarted.restart();
    nowMs = 12;
    last.set(0);
    await within(done.promise, 2_000);
    expect(called).toEqual(["last"]);
    done = Promise.withResolvers<void>();
    nowMs = 16;
    last.set(0);
    await within(done.promise, 2_000);
    expect(called.toSorted()).toEqual(["last", "last", "restarted"]);
    replaced.lift();
  });
});

import { describe, expect, test } from "bun:test";
import { sleep, withinLimit } from "#kernel/timer.ts";

const never = new Promise<never>(() => {});
const fail = () => {
  throw new Error("too late");
};

describe("a limited wait", () => {
  test("gives what the work comes to, and calls nothing afterwards", async () => {
    let calls = 0;
    const count = () => (calls += 1);
    const end = new AbortController();
    expect(await withinLimit(Promise.resolve("done"), 1, count, end.signal)).toBe("done");
    expect(withinLimit(Promise.reject(new Error("failed")), 1, count, end.signal)).rejects.toThrow("failed");
    await sleep(3);
    end.abort();
    expect(calls).toBe(0);
  });

  test("gives what is returned or thrown once its limit has passed, whatever the work does later", async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    expect(await withinLimit(promise, 1, () => "late")).toBe("late");
    expect(withinLimit(never, 1, fail)).rejects.toThrow("too late");
    reject(new Error("nobody hears of it"));
    await sleep(1);
  });

  test("ends when its signal aborts, also when that was before", async () => {
    const end = new AbortController();
    const waits = [withinLimit(never, 60_000, () => "cut", end.signal), sleep(60_000, end.signal)];
    end.abort();
    expect(await Promise.all(waits)).toEqual(["cut", undefined]);
    expect(await withinLimit(never, 60_000, () => "cut", end.signal)).toBe("cut");
    await sleep(60_000, end.signal);
  });
});

import { afterEach, expect, test } from "bun:test";
import { LAG_BOUNDS_MS, startLoopLag, type LoopLag } from "#kernel/loop-lag.ts";

let lag: LoopLag | null = null;
let nowMs = 1_000;
const clock = { nowUs: () => 0, monotonicMs: () => nowMs };

afterEach(() => lag?.stop());

function start(): LoopLag {
  lag = startLoopLag(clock);
  return lag;
}

/** Turns of the loop, until the watch has looked once more. */
async function nextLook(of: LoopLag): Promise<void> {
  const { count } = of.histogram();
  while (of.histogram().count === count) await new Promise((resolve) => setImmediate(resolve));
}

test("a block is counted in each bucket that holds it, and is the longest one", async () => {
  const watch = start();
  nowMs += 20 + 130;
  await nextLook(watch);
  const { counts, count, sumMs } = watch.histogram();
  expect(counts).toEqual(LAG_BOUNDS_MS.map((boundMs) => (boundMs >= 130 ? 1 : 0)));
  expect([count, sumMs, watch.maxMs()]).toEqual([1, 130, 130]);
});

test("a timer that comes early is no negative lag", async () => {
  const watch = start();
  await nextLook(watch);
  const { counts, sumMs } = watch.histogram();
  expect([counts, sumMs, watch.maxMs()]).toEqual([LAG_BOUNDS_MS.map(() => 1), 0, 0]);
});

test("the longest block is forgotten with the window after its own; the counts never are", async () => {
  const watch = start();
  const look = async (lagMs: number) => {
    nowMs += 20 + lagMs;
    await nextLook(watch);
    return watch.maxMs();
  };
  expect(await look(70_000)).toBe(70_000);
  expect(await look(5)).toBe(70_000);
  expect(await look(60_000)).toBe(70_000);
  expect(await look(61_000)).toBe(61_000);
  expect(await look(60_000)).toBe(61_000);
  expect(await look(60_000)).toBe(60_000);
  expect(watch.histogram().count).toBe(6);
});

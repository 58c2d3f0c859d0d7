import { existsSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";

/** For what takes a second or two on an idle machine. */
const UNTIL_MS_MAX = 30_000;
const LOOK_MS = 10;

/**
 * The limit of what takes `ms` at most on an idle machine, on this one as it is now: as many times as long as there are
 * threads that want each core. For what several processes do together; what one does alone is counted in its own turns
 * (`turns.ts`).
 */
export function busyLimit(ms: number): number {
  return ms * Math.max(1, countWanting() / availableParallelism());
}

/** The mean of the last minute or, where the system tells it, how many there are at this moment (proc(5), loadavg). */
function countWanting(): number {
  const now = existsSync("/proc/loadavg") ? /(\d+)\/\d+/.exec(readFileSync("/proc/loadavg", "latin1")) : null;
  return Math.max(loadavg()[0] ?? 0, Number(now?.[1] ?? 0));
}

/** The result of `work`, and how long it took. */
export async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly tookMs: number }> {
  const startedMs = performance.now();
  const result = await work();
  return { result, tookMs: performance.now() - startedMs };
}

/** Looks again and again until it is so. Throws what `tell` says once the limit of an idle machine has passed. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  tell: () => string,
  msMax = UNTIL_MS_MAX,
): Promise<void> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedMs > busyLimit(msMax)) throw new Error(`not in time: ${tell()}`);
    await Bun.sleep(LOOK_MS);
  }
}

/** How long the removal of old rows stops the writer: a part of `bun bench/stats.ts` (`--only retention`). */
import { DAY_US } from "#kernel/clock.ts";
import { openWriter } from "./fill.ts";
import { percentile } from "./table.ts";

export interface Pruned {
  readonly slices: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly secondsInAll: number;
}

/** Removes rows that are older than `ageDays`, slice after slice: each is one transaction, and so one pause of writes. */
export function measurePruning(dataDir: string, nowUs: number, ageDays: number): Pruned {
  const writer = openWriter(dataDir);
  const beforeUs = writer.boundRetention({ nowUs, ageUsMax: ageDays * DAY_US });
  const stepsMs: number[] = [];
  for (let hasMore = true; hasMore;) {
    const beganMs = performance.now();
    hasMore = writer.prune(beforeUs);
    stepsMs.push(performance.now() - beganMs);
  }
  writer.close();
  return {
    slices: stepsMs.length,
    p99Ms: percentile(stepsMs, 0.99),
    maxMs: Math.max(...stepsMs),
    secondsInAll: stepsMs.reduce((sum, ms) => sum + ms, 0) / 1000,
  };
}

import { sleep } from "#kernel/timer.ts";
import type { LimitLedger } from "#limits/limit-sums.ts";
import { type Ask, createStats } from "./stats.ts";

/** What a process that only looks reads of a ledger, each asked as one question: the readings of a `LedgerReader`. */
export function toReadings(ask: Ask) {
  const limitLedger: LimitLedger = {
    sumLimits: (limits, nowUs) => ask<"sumLimits">({ kind: "sumLimits", question: { limits, nowUs } }),
  };
  return {
    stats: createStats(ask, null),
    limitLedger,
    loadLastUsed: (ids: readonly string[]) =>
      ask<"loadLastUsed">({ kind: "loadLastUsed", question: { ids } }),
  };
}

export interface CommitWait {
  readonly waitMsMax: number;
  readonly pollMs: number;
}

/** Waits until `measure` finds no bytes that are not committed; returns those that are left after the wait. */
export async function untilCommitted(
  measure: () => number | Promise<number>,
  { waitMsMax, pollMs }: CommitWait,
): Promise<number> {
  let bytes = await measure();
  for (let waitedMs = 0; bytes > 0 && waitedMs < waitMsMax; waitedMs += pollMs) {
    await sleep(pollMs);
    bytes = await measure();
  }
  return bytes;
}

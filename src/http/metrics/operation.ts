import { EXPOSITION_TYPE, toExposition } from "./exposition.ts";
import { type MetricsSources, collectProcess, collectUsage } from "./metrics.ts";
import type { Clock } from "#kernel/clock.ts";
import { OUTCOMES } from "#usage/event.ts";

/** Answers to those that watch over a server. */
export interface Operation {
  /** False while every request would be refused, so that a load balancer asks another replica. */
  isServing(): boolean;
  toHealth(): { readonly status: "ok" };
  toMetrics(): Response;
}

export function createOperation(sources: MetricsSources, clock: Clock): Operation {
  const toText = createMetricsText(sources, clock);
  return {
    isServing: () => sources.health().isServing,
    toHealth: () => ({ status: "ok" }),
    toMetrics: () => new Response(toText(), { headers: { "content-type": EXPOSITION_TYPE } }),
  };
}

/**
 * The time that the serving thread spends on spelling usage series in each second, however many ask: the page is public, and with
 * every label set in use it is 1.7 MB and takes 5 to 9 ms, or with the longest names 4.7 MB and 15 ms, as measured on two cores.
 */
const SPELLING_MS_PER_SECOND_MAX = 100;
const SECOND_MS = 1000;

/**
 * The text of `GET /metrics`, made for each request but for the usage series: their text is kept as long as nothing more
 * was counted, and, once the time of a second is used up, until that second is over.
 */
export function createMetricsText(sources: MetricsSources, clock: Clock): () => string {
  const startedAtSeconds = clock.nowUs() / 1_000_000;
  let usage = { counted: -1, text: "" };
  let second = { startMs: clock.monotonicMs(), spentMs: 0 };

  const usageText = (): string => {
    const counted = countRequests(sources.usage);
    if (counted === usage.counted) return usage.text;
    const beforeMs = clock.monotonicMs();
    if (beforeMs - second.startMs >= SECOND_MS) second = { startMs: beforeMs, spentMs: 0 };
    if (second.spentMs >= SPELLING_MS_PER_SECOND_MAX) return usage.text;
    usage = { counted, text: toExposition(collectUsage(sources.usage)) };
    second.spentMs += clock.monotonicMs() - beforeMs;
    return usage.text;
  };
  return () => usageText() + toExposition(collectProcess(sources, startedAtSeconds));
}

/** Counts each request, and again where its usage was told after its end: an equal number means unchanged series. Takes some microseconds. */
function countRequests(usage: MetricsSources["usage"]): number {
  let count = 0;
  for (const { requests, settledCount } of usage.requests()) {
    count += settledCount;
    for (const outcome of OUTCOMES) count += requests[outcome];
  }
  return count;
}

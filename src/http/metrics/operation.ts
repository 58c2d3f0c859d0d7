import type { Clock } from "#kernel/clock.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";
import { createMetricsText } from "./metrics-text.ts";
import type { MetricsSources } from "./metrics.ts";

/** What watches over a server asks for. */
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

import type { Clock } from "#kernel/clock.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";
import { createMetricsText } from "./metrics-text.ts";
import type { MetricsSources } from "./metrics.ts";

/** What watches over a server asks for. */
export interface Operation {
  toHealth(): { readonly status: "ok" };
  toMetrics(): Response;
}

export function createOperation(sources: MetricsSources, clock: Clock): Operation {
  const toText = createMetricsText(sources, clock);
  return {
    toHealth: () => ({ status: "ok" }),
    toMetrics: () => new Response(toText(), { headers: { "content-type": EXPOSITION_TYPE } }),
  };
}

import { Elysia } from "elysia";
import type { Clock } from "#kernel/clock.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";
import type { Guard } from "#http/door/guard.ts";
import { createMetricsText } from "./metrics-text.ts";
import type { MetricsSources } from "./metrics.ts";

/** Operation, public: whether the process serves, and its figures. */
export function opsRoutes(guard: Guard, clock: Clock, metrics: MetricsSources) {
  const metricsText = createMetricsText(metrics, clock);
  return new Elysia()
    .use(guard)
    .get("/healthz", () => ({ status: "ok" as const }), { public: true })
    .get("/metrics", () => new Response(metricsText(), { headers: { "content-type": EXPOSITION_TYPE } }), {
      public: true,
    });
}

import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { json, route } from "#http/door/route.ts";
import { fields } from "#http/schemas/shared.ts";
import type { Clock } from "#kernel/clock.ts";
import { EXPOSITION_TYPE } from "./exposition.ts";
import type { Guard } from "#http/door/guard.ts";
import { createMetricsText } from "./metrics-text.ts";
import type { MetricsSources } from "./metrics.ts";

/** Operation, public: whether the process serves, and its figures. */
export function opsRoutes(guard: Guard, clock: Clock, metrics: MetricsSources) {
  const metricsText = createMetricsText(metrics, clock);
  return new Elysia({ tags: ["Operation"] })
    .use(guard)
    .get(
      "/healthz",
      () => ({ status: "ok" as const }),
      route({
        access: "public",
        summary: "Whether the server serves",
        answer: json(200, fields({ status: Type.Literal("ok") }), { status: "ok" }),
        infallible: true,
      }),
    )
    .get(
      "/metrics",
      () => new Response(metricsText(), { headers: { "content-type": EXPOSITION_TYPE } }),
      route({
        access: "public",
        summary: "Metrics of the process, in text format 0.0.4",
        answer: {
          status: 200,
          description: "Metrics.",
          contents: [{ type: "text/plain", schema: Type.String() }],
        },
      }),
    );
}

import { Elysia } from "elysia";
import type { Clock } from "#kernel/clock.ts";
import type { Guard } from "./guard.ts";

/** Text exposition format 0.0.4. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Operation, public: whether the process serves, and its figures. */
export function opsRoutes(guard: Guard, clock: Clock) {
  const startedAtSeconds = clock.nowUs() / 1_000_000;
  return new Elysia()
    .use(guard)
    .get("/healthz", () => ({ status: "ok" }), { public: true })
    .get(
      "/metrics",
      () => new Response(renderMetrics(startedAtSeconds), { headers: { "content-type": METRICS_TYPE } }),
      {
        public: true,
      },
    );
}

/** The names that Prometheus client libraries give the process's own figures. */
function renderMetrics(startedAtSeconds: number): string {
  const cpu = process.cpuUsage();
  return [
    [
      "process_cpu_seconds_total",
      "counter",
      "CPU time spent, user and system, in seconds.",
      (cpu.user + cpu.system) / 1_000_000,
    ],
    ["process_resident_memory_bytes", "gauge", "Resident memory in bytes.", process.memoryUsage.rss()],
    [
      "process_start_time_seconds",
      "gauge",
      "Start of the process, in seconds since the Unix epoch.",
      startedAtSeconds,
    ],
  ]
    .map(([name, kind, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`)
    .join("");
}

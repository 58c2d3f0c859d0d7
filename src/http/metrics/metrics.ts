import type { Exchange } from "#forward/exchange.ts";
import type { Refusals } from "#http/door/refusals.ts";
import { type LoopLag, LAG_BOUNDS_MS } from "#kernel/loop-lag.ts";
import type { Limits } from "#limits/limits.ts";
import { INTERFACE_VERSION, PRODUCT_COMMIT, PRODUCT_VERSION } from "#kernel/version.ts";
import type { Notices } from "#notices/notices.ts";
import { REPORT_UNITS } from "#kernel/units.ts";
import { OUTCOMES } from "#usage/event.ts";
import type { LedgerGauges } from "#usage/gauges.ts";
import type { StorageHealth } from "#usage/health.ts";
import type { UnitSeries, UsageMetrics } from "#usage/metrics.ts";
import { type MetricFamily, type MetricLabels, type MetricSample, toGauge } from "./exposition.ts";
import { toLedgerFamilies } from "./ledger-figures.ts";
import { readProcessFamilies } from "./process-figures.ts";
import { toReplicaFamilies } from "./replica-figures.ts";

/** The sources of the figures. Each answers from memory, so that it can be asked whatever else fails. */
export interface MetricsSources {
  readonly usage: Omit<UsageMetrics, "open">;
  readonly limits: Pick<Limits, "refusals" | "peersAgeMs">;
  /** Null: no notices are sent. */
  readonly notices: Pick<Notices, "counts" | "waitingCount"> | null;
  readonly exchange: Pick<Exchange, "activeCount" | "activeStreamCount" | "waitingCount">;
  readonly ledger: () => LedgerGauges;
  readonly health: () => StorageHealth;
  readonly loopLag: Pick<LoopLag, "histogram" | "maxMs">;
  readonly refusals: Pick<Refusals, "counts">;
}

/** The metrics of the process and its parts (specification, section 6; `docs/metrics.md`): some 50 samples. */
export function collectProcess(sources: MetricsSources, startedAtSeconds: number): readonly MetricFamily[] {
  return [
    BUILD_INFO,
    ...toExchangeFamilies(sources.exchange),
    toRefusalFamily(sources.refusals),
    toLimitFamily(sources.limits),
    ...toNoticeFamilies(sources.notices),
    ...toLedgerFamilies(sources.ledger()),
    ...toReplicaFamilies(sources.health().replica, sources.limits.peersAgeMs()),
    ...toLoopLagFamilies(sources.loopLag),
    ...readProcessFamilies(startedAtSeconds),
  ];
}

/** The metrics of usage: up to four samples and more for each label set. Labels never name a principal. */
export function collectUsage(usage: MetricsSources["usage"]): readonly MetricFamily[] {
  const requests = usage.requests();
  return [
    {
      name: "proxy_requests_total",
      kind: "counter",
      help: "Requests that were accounted for, by outcome.",
      samples: requests.flatMap((series) =>
        OUTCOMES.map((outcome) => ({
          labels: { ...series.labels, outcome },
          value: series.requests[outcome],
        })),
      ),
    },
    {
      name: "proxy_request_seconds",
      kind: "summary",
      help: "Seconds from a request's arrival to its end, whatever its outcome.",
      samples: requests.flatMap(({ labels, requests: counts, durationUs }): readonly MetricSample[] => [
        { suffix: "_sum", labels, value: durationUs / 1e6 },
        { suffix: "_count", labels, value: OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0) },
      ]),
    },
    {
      name: "proxy_usage_units_total",
      kind: "counter",
      help: "Metered quantities as in the reports: input_tokens without what was read from a cache.",
      samples: usage.units().flatMap(toUnitSamples),
    },
    {
      name: "proxy_unmetered_total",
      kind: "counter",
      help: "Requests that ended without their usage, so without cost: answers that told none, also of endpoints that no meter knows, and callers that left before it was told.",
      samples: requests.map(({ labels, unmeteredCount }) => ({ labels, value: unmeteredCount })),
    },
    {
      name: "proxy_unpriced_units_total",
      kind: "counter",
      help: "The part of the metered quantities that had no price: growth signals a gap in the prices, or with a `reason` a service tier that has none.",
      samples: usage.unpricedUnits().flatMap(toUnitSamples),
    },
  ];
}

function toUnitSamples({ labels, quantities }: UnitSeries<MetricLabels>): readonly MetricSample[] {
  return REPORT_UNITS.flatMap((unit) => {
    const value = quantities[unit];
    return value === undefined ? [] : [{ labels: { ...labels, unit }, value }];
  });
}

/** As programs tell their version: a label of a 1, to be joined with other metrics. */
const BUILD_INFO: MetricFamily = {
  name: "proxy_build_info",
  kind: "gauge",
  help: "1, labelled with the version of Lockport, the commit of its executable, and the version of its interface.",
  samples: [
    {
      labels: {
        version: PRODUCT_VERSION,
        commit: PRODUCT_COMMIT ?? "",
        interface_version: INTERFACE_VERSION,
      },
      value: 1,
    },
  ],
};

function toExchangeFamilies(exchange: MetricsSources["exchange"]): readonly MetricFamily[] {
  return [
    toGauge(
      "proxy_open_exchanges",
      "Requests that passed their checks and are not accounted for yet.",
      exchange.activeCount(),
    ),
    toGauge(
      "proxy_open_streams",
      "Of the open exchanges, those whose request asked for a stream.",
      exchange.activeStreamCount(),
    ),
    toGauge(
      "proxy_waiting_exchanges",
      "Of the open exchanges, those that wait because of max_concurrency.",
      exchange.waitingCount(),
    ),
  ];
}

function toRefusalFamily(refusals: MetricsSources["refusals"]): MetricFamily {
  return {
    name: "proxy_refusals_total",
    kind: "counter",
    help: "Requests of the data plane that were refused and left no usage event, and wrong credentials anywhere.",
    samples: [...refusals.counts()].map(([code, value]) => ({ labels: { code }, value })),
  };
}

function toLimitFamily(limits: MetricsSources["limits"]): MetricFamily {
  return {
    name: "proxy_limit_refusals_total",
    kind: "counter",
    help: "Requests that a limit has refused, by what it measures; window is empty for concurrent requests.",
    samples: limits.refusals().map(({ measure, window, count }) => ({
      labels: { measure, window: window ?? "" },
      value: count,
    })),
  };
}

function toNoticeFamilies(notices: MetricsSources["notices"]): readonly MetricFamily[] {
  return [
    {
      name: "proxy_notices_total",
      kind: "counter",
      help: "Notices that their webhook took, or that were dropped after an hour or because too many waited.",
      samples: (notices?.counts() ?? []).map(({ type, result, count }) => ({
        labels: { type, result },
        value: count,
      })),
    },
    toGauge(
      "proxy_notices_waiting",
      "Notices that have not reached their webhook yet.",
      notices?.waitingCount() ?? 0,
    ),
  ];
}

function toLoopLagFamilies(loopLag: MetricsSources["loopLag"]): readonly MetricFamily[] {
  const { counts, count, sumMs } = loopLag.histogram();
  return [
    {
      name: "proxy_event_loop_lag_seconds",
      kind: "histogram",
      help: "How late the event loop was, looked at 50 times a second.",
      samples: [
        ...counts.map((value, index): MetricSample => ({
          suffix: "_bucket",
          labels: { le: String((LAG_BOUNDS_MS[index] ?? 0) / 1000) },
          value,
        })),
        { suffix: "_bucket", labels: { le: "+Inf" }, value: count },
        { suffix: "_sum", value: sumMs / 1000 },
        { suffix: "_count", value: count },
      ],
    },
    toGauge(
      "proxy_event_loop_lag_max_seconds",
      "The longest lag of the last one to two minutes.",
      loopLag.maxMs() / 1000,
    ),
  ];
}

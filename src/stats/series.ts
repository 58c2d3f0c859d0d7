import { formatInstant } from "#kernel/clock.ts";
import { picoToNumber, type Pico } from "#kernel/units.ts";
import type { Series, SeriesBucket, SeriesFigures } from "./store.ts";

/** `UsageSeries` (specification, section 2.10). */
export function toSeriesView({ bucket, buckets }: Pick<Series, "bucket" | "buckets">) {
  return { bucket, series: buckets.map(toBucketView) };
}

export function toBucketView({ startUs, ...figures }: SeriesBucket) {
  return { start: formatInstant(startUs), ...toFiguresView(figures) };
}

export function toFiguresView(figures: SeriesFigures) {
  return {
    requests: figures.requests,
    ok: figures.ok,
    cancelled: figures.cancelled,
    failed: figures.upstreamError + figures.unreachable,
    unpriced_requests: figures.unpricedRequests,
    ...(figures.pendingRequests > 0 && { pending_requests: figures.pendingRequests }),
    cost: toCost(figures.costPico),
    ...toCostReported(figures),
    units: figures.units,
  };
}

/** The cost that providers told, where one did. */
export function toCostReported({ costReportedPico }: Pick<SeriesFigures, "costReportedPico">): {
  cost_reported?: number;
} {
  return costReportedPico === null ? {} : { cost_reported: picoToNumber(costReportedPico) };
}

/** Nothing priced is null, never zero. */
export function toCost(costPico: Pico | null): number | null {
  return costPico === null ? null : picoToNumber(costPico);
}

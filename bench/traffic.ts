/** Arrivals and ends of the requests of a filled folder, for `bench/fill.ts`. */
import type { InstantUs } from "#kernel/clock.ts";
import type { PriceSet } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import type { Outcome, ReportedUsage, UsageEnding } from "#usage/event.ts";
import { createWeighted, toLogNormal, type Chance } from "./chance.ts";
import type { Site } from "./population.ts";

const HOUR_US = 3_600_000_000;
const DAY_HOURS = 24;
const DURATION_MS_MAX = 600_000;
/** UTC hours of a team in Europe with some machines that never sleep. */
const HOUR_WEIGHTS = [
  2, 1.5, 1.2, 1, 1, 1.3, 2.5, 5, 9, 11, 12, 11, 8, 10, 12, 12, 11, 9, 6, 5, 4, 4, 3.5, 3,
];
/** From Sunday. */
const WEEKDAY_WEIGHTS = [0.3, 1, 1.1, 1.1, 1.05, 0.9, 0.35];
/** By how much the last month is busier than the first. */
const GROWTH = 1.8;

type Failure = readonly [
  outcome: Outcome,
  errorKind: string,
  statusCode: number,
  weight: number,
  medianMs: number,
];

const FAILURES: readonly Failure[] = [
  ["upstream_error", "rate_limit_error", 429, 40, 120],
  ["upstream_error", "invalid_request_error", 400, 18, 150],
  ["upstream_error", "context_length_exceeded", 400, 7, 200],
  ["upstream_error", "overloaded_error", 529, 8, 900],
  ["upstream_error", "server_error", 500, 8, 2_500],
  ["upstream_error", "http_502", 502, 4, 4_000],
  ["upstream_error", "authentication_error", 401, 2, 90],
  ["upstream_error", "server_error", 200, 1, 6_000],
  ["unreachable", "connection_error", 502, 7, 300],
  ["unreachable", "timeout", 502, 4, 280_000],
  ["unreachable", "response_too_large", 502, 1, 30_000],
];
const toFailure = createWeighted(FAILURES.map(([, , , weight]) => weight));
const NO_PRICES: PriceSet = {};

/** The number of events in each hour of the window, by nights, weekends and growth; together exactly `count`. */
export function toHourCounts(
  { fromUs, untilUs }: { readonly fromUs: InstantUs; readonly untilUs: InstantUs },
  count: number,
): readonly { readonly fromUs: InstantUs; readonly untilUs: InstantUs; readonly count: number }[] {
  const hours = [];
  let weightSum = 0;
  for (let hour = Math.floor(fromUs / HOUR_US); hour * HOUR_US < untilUs; hour += 1) {
    const part = {
      fromUs: Math.max(hour * HOUR_US, fromUs),
      untilUs: Math.min((hour + 1) * HOUR_US, untilUs),
    };
    // 1970-01-01 was a Thursday.
    const weekday = (Math.floor(hour / DAY_HOURS) + 4) % 7;
    const growth = 1 + (GROWTH - 1) * ((part.fromUs - fromUs) / (untilUs - fromUs));
    const rhythm = HOUR_WEIGHTS[hour % DAY_HOURS]! * WEEKDAY_WEIGHTS[weekday]! * growth;
    weightSum += (rhythm * (part.untilUs - part.fromUs)) / HOUR_US;
    hours.push({ ...part, weightSum });
  }
  let placed = 0;
  return hours.map((hour) => {
    const until = Math.round((hour.weightSum / weightSum) * count);
    const inHour = until - placed;
    placed = until;
    return { fromUs: hour.fromUs, untilUs: hour.untilUs, count: inHour };
  });
}

/** The end of a request of this site: of 100 about 94 are well, 3 canceled, 3 errors of many kinds. */
export function toEnding(chance: Chance, site: Site, streamed: boolean): UsageEnding {
  const roll = chance();
  if (roll >= 0.97) return toFailed(chance, FAILURES[toFailure(chance)]!);
  const isCancelled = roll >= 0.94;
  const durationMs = Math.min(toLogNormal(chance, site.model.medianMs, 0.9), DURATION_MS_MAX);
  const durationUs = Math.round(durationMs * (isCancelled ? 400 : 1000));
  const sawHead = !isCancelled || (streamed && chance() < 0.8);
  const usage = isCancelled && (!sawHead || chance() < 0.5) ? null : toUsage(chance, site, isCancelled);
  const prices = site.model.prices;
  return {
    statusCode: sawHead ? 200 : 499,
    outcome: isCancelled ? "cancelled" : "ok",
    errorKind: null,
    durationUs,
    timeToFirstByteUs: sawHead ? Math.round(durationUs * (streamed ? 0.1 + 0.3 * chance() : 0.98)) : null,
    usage,
    prices,
    ...priceUsage(usage, prices),
  };
}

function toFailed(chance: Chance, [outcome, errorKind, statusCode, , medianMs]: Failure): UsageEnding {
  const durationUs = Math.round(Math.min(toLogNormal(chance, medianMs, 0.5), DURATION_MS_MAX) * 1000);
  return {
    statusCode,
    outcome,
    errorKind,
    durationUs,
    timeToFirstByteUs: outcome === "unreachable" ? null : durationUs,
    usage: null,
    prices: NO_PRICES,
    costPico: null,
    unpriced: false,
  };
}

function toUsage(chance: Chance, site: Site, isCutOff: boolean): ReportedUsage {
  const input = Math.round(toLogNormal(chance, 1_300, 1.1));
  if (site.model.endpoint === "embeddings" && !site.isRelay) {
    return { shape: "inclusive", quantities: { input_tokens: input } };
  }
  const output = Math.round(toLogNormal(chance, isCutOff ? 90 : 260, 1));
  const cached = chance() < 0.45 ? Math.round(input * (0.4 + 0.6 * chance())) : 0;
  if (site.isRelay) {
    return {
      shape: "exclusive",
      quantities: {
        input_tokens: input,
        output_tokens: output,
        cached_input_tokens: cached * 4,
        cache_write_tokens: chance() < 0.5 ? Math.round(input / 3) : 0,
      },
    };
  }
  const base = { input_tokens: input, output_tokens: output };
  // Not every upstream says how much it had cached.
  const quantities = site.model.provider % 4 === 2 ? base : { ...base, cached_input_tokens: cached };
  return { shape: "inclusive", quantities };
}

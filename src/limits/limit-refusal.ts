import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toFieldValue } from "#kernel/text.ts";
import { PICO_PER_WHOLE } from "#kernel/units.ts";
import type { MetLimit } from "./limit-entry.ts";
import { isSliding, toWindowEnd, toWindowStart } from "./limit-window.ts";
import { type Limit, type LimitMeasure, type LimitWindow, MEASURES } from "./limit.ts";

const SECOND_US = 1_000_000;
/** Official SDKs wait for a `retry-after` of up to this long, and are told not to try again for a longer one. */
const RETRY_SECONDS_MAX = 60;
/** When a request under way ends is not known: a caller of a `concurrent` limit may look again this soon. */
const CONCURRENT_RETRY_SECONDS = 1;
const COST_DECIMALS_MIN = 2;
const COST_DECIMALS = 12;

/** Which of the limits that refuse a request is told: the one that lasts longest, since the others do not matter before. */
export function toLongest(met: readonly MetLimit[], nowUs: InstantUs): MetLimit | null {
  let longest: { readonly met: MetLimit; readonly seconds: number } | null = null;
  for (const one of met) {
    const seconds = toRetrySeconds(one, nowUs) ?? Number.POSITIVE_INFINITY;
    if (longest === null || seconds > longest.seconds) longest = { met: one, seconds };
  }
  return longest?.met ?? null;
}

/** 429 `limit_exceeded` with the headers of `docs/spec/limits.md`, "When it refuses". */
export function toRefusal(met: MetLimit, nowUs: InstantUs, model: string | null): ProxyError {
  const seconds = toRetrySeconds(met, nowUs);
  return new ProxyError("limit_exceeded", toSentence(met, nowUs), {
    ...(seconds !== null && { retryAfterSeconds: seconds }),
    ...(model !== null && { model }),
    headers: {
      "x-proxy-limit": toFieldValue(met.limit.name),
      ...((seconds === null || seconds > RETRY_SECONDS_MAX) && { "x-should-retry": "false" }),
    },
  });
}

/** Null: it never succeeds by waiting. */
function toRetrySeconds({ limit, freeAtUs, why }: MetLimit, nowUs: InstantUs): number | null {
  if (why === "unpriced") return null;
  if (limit.window === null) return CONCURRENT_RETRY_SECONDS;
  const atUs = isSliding(limit.window) ? freeAtUs : toWindowEnd(limit.window, nowUs);
  return atUs === null ? null : Math.max(1, Math.ceil((atUs - nowUs) / SECOND_US));
}

function toSentence(met: MetLimit, nowUs: InstantUs): string {
  const { limit, why } = met;
  const name = `The limit "${limit.name}"`;
  if (why === "unpriced")
    return `${name} lets nothing through that has no price, and this model lacks one: ask an admin to set it.`;
  const state = why === "used" ? `is used up: ${toShare(limit, met.amount)}` : toUnknownShare(met);
  if (limit.window === null) return `${name} ${state} under way. Try again when one has ended.`;
  if (limit.window === "total") return `${name} ${state} in all. It does not start anew.`;
  if (isSliding(limit.window)) {
    const seconds = toRetrySeconds(met, nowUs) ?? 1;
    return `${name} ${state} in the last ${limit.window}. Try again in ${seconds} s.`;
  }
  const since = formatInstant(toWindowStart(limit.window, nowUs)).slice(0, 10);
  const anew = formatInstant(toWindowEnd(limit.window, nowUs) ?? nowUs);
  return `${name} ${state} since ${since}. It starts anew at ${anew.slice(0, 19)}Z.`;
}

/** What a request used whose caller left early is in no answer: only so many of these pass. */
function toUnknownShare({ limit: { unknownMax }, unknown }: MetLimit): string {
  return `lets no more requests through: ${unknown} ended before their usage was told, and it allows ${unknownMax},`;
}

/** `50.00 of 50.00`, `20 of 20 requests`. */
function toShare({ measure, amount }: Limit, used: bigint): string {
  const share = `${formatAmount(measure, used)} of ${formatAmount(measure, amount)}`;
  const { noun } = MEASURES[measure];
  return noun === null ? share : `${share} ${noun}`;
}

/** Exact: cost with two decimals and as many more as it has. */
export function formatAmount(measure: LimitMeasure, amount: bigint): string {
  if (measure !== "cost") return amount.toString();
  const whole = amount / BigInt(PICO_PER_WHOLE);
  const decimals = (amount % BigInt(PICO_PER_WHOLE)).toString().padStart(COST_DECIMALS, "0");
  return `${whole}.${decimals.replace(/0+$/, "").padEnd(COST_DECIMALS_MIN, "0")}`;
}

/** Refusals since the start. */
export interface LimitRefusalCount {
  readonly measure: LimitMeasure;
  readonly window: LimitWindow | null;
  readonly count: number;
}

/** Refusals since the start, by what the limits that refused measure. */
export class RefusalCounts {
  readonly #counts = new Map<string, { measure: LimitMeasure; window: LimitWindow | null; count: number }>();

  add({ measure, window }: Limit): void {
    const key = `${measure} ${window ?? ""}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { measure, window, count: 1 });
    else known.count += 1;
  }

  list(): readonly LimitRefusalCount[] {
    return [...this.#counts.values()];
  }
}

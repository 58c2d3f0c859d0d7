import { ProxyError } from "#kernel/errors.ts";
import type { Pico } from "#kernel/units.ts";

/** Filters that no total can answer; each bound is inclusive, null is open. */
export interface RowFilter {
  /** True: only requests of which some unit was used without a price. */
  readonly isUnpriced: boolean;
  /** A request without a cost lies within no bounds. */
  readonly minCostPico: Pico | null;
  readonly maxCostPico: Pico | null;
  readonly minDurationUs: number | null;
  readonly maxDurationUs: number | null;
}

/** Dollars, as amounts are written: `0.25`. */
const AMOUNT = /^\d{1,6}(?:\.\d{1,12})?$/;
/** Milliseconds, to the microsecond: the longest is about 31 years. */
const MILLISECONDS = /^\d{1,12}(?:\.\d{1,3})?$/;
const PICO_DIGITS = 12;

/** The row filters of a query string; null where there is none. Throws `invalid_request` with `param`. */
export function parseRowFilter(query: URLSearchParams): RowFilter | null {
  const filter = {
    isUnpriced: parseUnpriced(query),
    minCostPico: parseCost(query, "min_cost"),
    maxCostPico: parseCost(query, "max_cost"),
    minDurationUs: parseDuration(query, "min_duration_ms"),
    maxDurationUs: parseDuration(query, "max_duration_ms"),
  };
  const isOpen = Object.values(filter).every((bound) => bound === null || bound === false);
  return isOpen ? null : filter;
}

function parseUnpriced(query: URLSearchParams): boolean {
  const text = findOne(query, "unpriced");
  if (text !== null && text !== "true") {
    throw new ProxyError("invalid_request", "unpriced can only be true.", { param: "unpriced" });
  }
  return text !== null;
}

function parseCost(query: URLSearchParams, param: string): Pico | null {
  const text = findOne(query, param);
  if (text === null) return null;
  if (!AMOUNT.test(text)) {
    throw new ProxyError("invalid_request", `${param} must be an amount such as 0.25.`, { param });
  }
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(PICO_DIGITS, "0"));
}

function parseDuration(query: URLSearchParams, param: string): number | null {
  const text = findOne(query, param);
  if (text === null) return null;
  if (!MILLISECONDS.test(text)) {
    throw new ProxyError("invalid_request", `${param} must be milliseconds such as 1500.`, { param });
  }
  return Math.round(Number(text) * 1000);
}

function findOne(query: URLSearchParams, param: string): string | null {
  const [text = null, ...more] = query.getAll(param).filter((value) => value !== "");
  if (more.length > 0) throw new ProxyError("invalid_request", `${param} takes one value.`, { param });
  return text;
}

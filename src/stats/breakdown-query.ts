import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, parseWholeNumber, parseWord } from "#kernel/page.ts";
import { type GroupBy, GROUP_FIELDS, OWN_GROUP_FIELDS, parseGroupBy } from "./series-grouping.ts";

/**
 * What a breakdown has a row for each value of, beside the values of one tag. A request has one value of each, or none; `hour`
 * is that of its arrival.
 */
export const BREAKDOWN_FIELDS = [...GROUP_FIELDS, "endpoint", "hour"] as const;
/** A caller's own usage is that of one principal. */
export const OWN_BREAKDOWN_FIELDS = [...OWN_GROUP_FIELDS, "endpoint", "hour"] as const;
export type BreakdownField = (typeof BREAKDOWN_FIELDS)[number];
export type BreakdownBy = GroupBy | { readonly field: "endpoint" } | { readonly field: "hour" };

/** The largest first; what has no such number comes last, and of equals the one with more requests first. */
export const BREAKDOWN_SORTS = [
  "cost",
  "cost_per_request",
  "requests",
  "failed",
  "failed_share",
  "cancelled",
  "unpriced",
  "unmetered",
  "p50",
  "p95",
] as const;
export type BreakdownSort = (typeof BREAKDOWN_SORTS)[number];

/** What is asked of a breakdown. */
export interface Ranking {
  readonly by: BreakdownBy;
  readonly sort: BreakdownSort;
  /** Rows of the answer. */
  readonly limit: number;
  /** True to be told what prompt caches cost and saved, which is read from rows. */
  readonly isCacheWanted?: true;
}

/** What only rows tell, such as durations, is exact or absent: there are too many rows, or retention has removed some. */
export const ROW_STATES = ["exact", "too_many_requests", "rows_removed"] as const;
export type RowState = (typeof ROW_STATES)[number];

/**
 * The query parameters `by` (`model` when absent), `sort`, `limit` and `cache`; a limit out of range falls back to its default, like that of a page. Throws
 * `invalid_request` with `param` for a `by` that is neither one of `fields` nor `tag:` and a tag's key, and for
 * an unknown `sort`.
 */
export function parseBreakdown(query: URLSearchParams, fields: readonly BreakdownField[]): Ranking {
  const by = parseGroupBy("by", query.get("by") || "model", fields);
  const sort = parseWord(query, "sort", BREAKDOWN_SORTS, "cost");
  const limit = parseWholeNumber(query.get("limit"));
  const isInRange = limit !== null && limit >= 1 && limit <= PAGE_LIMIT_MAX;
  return {
    by,
    sort,
    limit: isInRange ? limit : PAGE_LIMIT_DEFAULT,
    ...(query.get("cache") === "1" && { isCacheWanted: true }),
  };
}

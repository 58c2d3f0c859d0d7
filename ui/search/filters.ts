import { OUTCOMES } from "#usage/event.ts";
import { readText, readTexts, readWord, type RawSearch } from "./query-string.ts";

/**
 * What the reports can be asked for, as it stands in the address. Of several values of one filter any may match, and all filters
 * have to; of tags all have to.
 */
export interface Filters {
  readonly principal?: Values | undefined;
  readonly key?: Values | undefined;
  readonly provider?: Values | undefined;
  readonly model?: Values | undefined;
  /** Prefixes of the User-Agent. */
  readonly client?: Values | undefined;
  /** `key:value`. */
  readonly tag?: readonly string[] | undefined;
  readonly outcome?: Values<OutcomeFilter> | undefined;
  readonly error_kind?: Values | undefined;
  /** `429`, `4xx` or `5xx`. */
  readonly status?: Values | undefined;
  readonly unpriced?: "true" | undefined;
  /** Dollars, decimal and inclusive, as are the three that follow. */
  readonly min_cost?: string | undefined;
  readonly max_cost?: string | undefined;
  readonly min_duration_ms?: string | undefined;
  readonly max_duration_ms?: string | undefined;
}

type Values<Value extends string = string> = Value | readonly Value[];

/** The filters as they were read: every list is one. */
export interface ReadFilters extends Filters {
  readonly principal?: readonly string[] | undefined;
  readonly key?: readonly string[] | undefined;
  readonly provider?: readonly string[] | undefined;
  readonly model?: readonly string[] | undefined;
  readonly client?: readonly string[] | undefined;
  readonly outcome?: readonly OutcomeFilter[] | undefined;
  readonly error_kind?: readonly string[] | undefined;
  readonly status?: readonly string[] | undefined;
}

/** What a report is asked with; what is left out or empty does not filter. */
export interface ReportQuery extends Filters {
  /** Inclusive, ISO 8601. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
}

/** What the request log is sorted by, sizes from the largest; newest first when the address does not say. */
export const LOG_ORDERS = ["newest", "oldest", "cost", "duration"] as const;
export type LogOrder = (typeof LOG_ORDERS)[number];

/** An outcome, or all that are not `ok` at once. */
export const OUTCOME_FILTERS = OUTCOMES.flatMap((outcome) =>
  outcome === "ok" ? [outcome, "failed" as const] : [outcome],
);
export type OutcomeFilter = (typeof OUTCOME_FILTERS)[number];

/** Filters of several values, in the order in which they are shown. */
export const LIST_FILTERS = [
  "principal",
  "key",
  "provider",
  "model",
  "client",
  "tag",
  "outcome",
  "error_kind",
  "status",
] as const;
export type ListFilter = (typeof LIST_FILTERS)[number];

/** Bounds of a size, of one value each. */
export const BOUND_FILTERS = ["min_cost", "max_cost", "min_duration_ms", "max_duration_ms"] as const;
export type BoundFilter = (typeof BOUND_FILTERS)[number];

/** Values of one filter in one question; of tags four (specification, section 8). */
const VALUES_MAX = 20;
const TAGS_MAX = 4;
const AMOUNT = /^\d{1,6}(\.\d{1,12})?$/;
const STATUS = /^([1-5]\d\d|[45]xx)$/;

export function readFilters(search: RawSearch): ReadFilters {
  const bound = (name: BoundFilter) => {
    const text = readText(search, name);
    return text !== undefined && AMOUNT.test(text) ? text : undefined;
  };
  return {
    principal: readValues(search, "principal"),
    key: readValues(search, "key"),
    provider: readValues(search, "provider"),
    model: readValues(search, "model"),
    client: readValues(search, "client"),
    tag: orNone(readTexts(search, "tag").slice(0, TAGS_MAX)),
    outcome: orNone(OUTCOME_FILTERS.filter((outcome) => readTexts(search, "outcome").includes(outcome))),
    error_kind: readValues(search, "error_kind"),
    status: orNone(readTexts(search, "status").filter((text) => STATUS.test(text))),
    unpriced: readWord(search, "unpriced", ["true"]),
    min_cost: bound("min_cost"),
    max_cost: bound("max_cost"),
    min_duration_ms: bound("min_duration_ms"),
    max_duration_ms: bound("max_duration_ms"),
  };
}

/** The address without any filter. */
export const NO_FILTERS: ReadFilters = readFilters({});

export function countFilters(filters: ReadFilters): number {
  const lists = LIST_FILTERS.reduce((sum, name) => sum + (filters[name]?.length ?? 0), 0);
  const bounds = BOUND_FILTERS.filter((name) => filters[name] !== undefined).length;
  return lists + bounds + (filters.unpriced === undefined ? 0 : 1);
}

/** With a value more, or without it when it is there already; one too many changes nothing. */
export function toggleValue(filters: ReadFilters, name: ListFilter, value: string): Filters {
  const values: readonly string[] = filters[name] ?? [];
  if (values.includes(value)) return { [name]: orNone(values.filter((other) => other !== value)) };
  return values.length >= (name === "tag" ? TAGS_MAX : VALUES_MAX) ? {} : { [name]: [...values, value] };
}

/** With one tag more; a tag that is there already, or one too many, changes nothing. */
export function addTag(filters: Filters, tag: string): readonly string[] {
  const tags = filters.tag ?? [];
  return tags.includes(tag) || tags.length >= TAGS_MAX ? tags : [...tags, tag];
}

function readValues(search: RawSearch, name: ListFilter): readonly string[] | undefined {
  return orNone(readTexts(search, name).slice(0, VALUES_MAX));
}

/** An empty list leaves the address. */
function orNone<Value>(values: readonly Value[]): readonly Value[] | undefined {
  return values.length === 0 ? undefined : values;
}

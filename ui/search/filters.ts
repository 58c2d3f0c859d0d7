import { STANDARD_TIER } from "#kernel/price-variants.ts";
import { OUTCOMES } from "#usage/event.ts";
import type { Facets } from "../api/reports.ts";
import { formatDuration, formatMoney } from "../text/format.ts";
import { toOutcomeWord } from "../text/outcomes.ts";
import { readText, readTexts, readWord, type RawSearch } from "./query-string.ts";

/** An outcome, all that are not `ok` at once, or `refused`, which has no usage. */
export const OUTCOME_FILTERS = [
  ...OUTCOMES.flatMap((outcome) => (outcome === "ok" ? [outcome, "failed" as const] : [outcome])),
  "refused" as const,
];
export type OutcomeFilter = (typeof OUTCOME_FILTERS)[number];

/** All that is known of a filter of several values; bar, chips, list, comparison and address come from it. */
export interface ListFilterSpec {
  /** Before its value in a chip. */
  readonly label: string;
  /** Above its values in the list. */
  readonly heading: string;
  /** Where the values in a window are found. */
  readonly facet?: keyof NonNullable<Facets["counts"]>;
  /** Values that are offered whatever there is in the window. */
  readonly offered?: readonly string[];
  /** What a text may mean by itself, where the facet, which stops at 500 values, may have left its value out. */
  readonly typed?: string;
  /** Its values stand side by side: a request has one of each, told by its whole name. */
  readonly compare?: string;
}

/** In the order in which they are shown. Of several values of one filter any may match, and all filters have to; of tags all have to. */
export const LIST_FILTERS = {
  principal: {
    label: "person",
    heading: "Person",
    facet: "principals",
    typed: "person is",
    compare: "Compare people",
  },
  key: { label: "key", heading: "Key", facet: "keys", compare: "Compare keys" },
  provider: { label: "provider", heading: "Provider", facet: "providers", compare: "Compare providers" },
  model: { label: "model", heading: "Model", facet: "models", typed: "model is", compare: "Compare models" },
  /** Prefixes of the User-Agent. */
  client: {
    label: "client begins with",
    heading: "Client",
    facet: "clients",
    typed: "client begins with",
  },
  /** A User-Agent up to its version; reached from Errors. */
  client_version: { label: "client", heading: "Client version" },
  /** `key:value`. */
  tag: { label: "tag", heading: "Tag", facet: "tags", typed: "tag is" },
  outcome: { label: "outcome", heading: "Outcome", offered: OUTCOME_FILTERS },
  /** Lockport's own, and what most providers say; the others are reached from Errors. */
  error_kind: {
    label: "error kind",
    heading: "Error kind",
    offered: [
      "timeout",
      "connection_error",
      "interrupted",
      "rate_limit_error",
      "overloaded_error",
      "server_error",
    ],
  },
  /** Those that most providers have; another one is reached from a request that has it. */
  tier: {
    label: "service tier",
    heading: "Service tier",
    offered: [STANDARD_TIER, "flex", "priority"],
  },
  /** `429`, `4xx` or `5xx`. */
  status: { label: "status", heading: "Status", offered: ["4xx", "5xx", "429"] },
} as const satisfies { readonly [name: string]: ListFilterSpec };
export type ListFilter = keyof typeof LIST_FILTERS;

/** Bounds of a size, of one value each: dollars or milliseconds, decimal and inclusive. */
export const BOUND_FILTERS = ["min_cost", "max_cost", "min_duration_ms", "max_duration_ms"] as const;
export type BoundFilter = (typeof BOUND_FILTERS)[number];

type ValueOf<Name extends ListFilter> = Name extends "outcome" ? OutcomeFilter : string;
type Single = { readonly unpriced?: "true" | undefined } & {
  readonly [name in BoundFilter]?: string | undefined;
};

/** The filters as they are read: every list is one. */
export type ReadFilters = Single & {
  readonly [name in ListFilter]?: readonly ValueOf<name>[] | undefined;
};

/** What the reports can be asked for, as it stands in the address: one value of a list needs no list. */
export type Filters = Single & {
  readonly [name in ListFilter]?:
    | (name extends "tag" ? never : ValueOf<name>)
    | readonly ValueOf<name>[]
    | undefined;
};

/** The filters of a report; one that is left out or empty does not filter. */
export type ReportQuery = Filters & {
  /** Inclusive, ISO 8601. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
};

/** What the request log is sorted by, sizes from the largest; newest first when the address does not say. */
export const LOG_ORDERS = ["newest", "oldest", "cost", "duration"] as const;
export type LogOrder = (typeof LOG_ORDERS)[number];

/** Values of one filter in one question; of tags four (specification, section 8). */
const VALUES_MAX = 20;
const TAGS_MAX = 4;
const AMOUNT = /^\d{1,6}(\.\d{1,12})?$/;
const STATUS = /^([1-5]\d\d|[45]xx)$/;

export function readFilters(search: RawSearch): ReadFilters {
  const texts = (name: ListFilter) => orNone(readTexts(search, name).slice(0, toValuesMax(name)));
  const bound = (name: BoundFilter) => {
    const text = readText(search, name);
    return text !== undefined && AMOUNT.test(text) ? text : undefined;
  };
  return {
    principal: texts("principal"),
    key: texts("key"),
    provider: texts("provider"),
    model: texts("model"),
    client: texts("client"),
    client_version: texts("client_version"),
    tag: texts("tag"),
    outcome: orNone(OUTCOME_FILTERS.filter((outcome) => readTexts(search, "outcome").includes(outcome))),
    error_kind: texts("error_kind"),
    tier: texts("tier"),
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

/** A value that filters. */
export interface ActiveFilter {
  readonly name: ListFilter | "unpriced" | BoundFilter;
  readonly value: string;
  /** Among the values of its filter. */
  readonly place: number;
  /** What the address gets to be without it. */
  readonly without: Filters;
}

export function toActiveFilters(filters: ReadFilters): readonly ActiveFilter[] {
  const lists = LIST_NAMES.flatMap((name) =>
    (filters[name] ?? []).map((value, place) => ({
      name,
      value,
      place,
      without: toggleValue(filters, name, value),
    })),
  );
  const singles = (["unpriced", ...BOUND_FILTERS] as const).flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [{ name, value, place: 0, without: { [name]: undefined } }];
  });
  return [...lists, ...singles];
}

/** True where nothing but refused requests is asked for. */
export function isRefusedOnly({ outcome }: ReadFilters): boolean {
  return outcome?.length === 1 && outcome[0] === "refused";
}

export function countFilters(filters: ReadFilters): number {
  return toActiveFilters(filters).length;
}

/** With a value more, or without it when it is there already; one too many changes nothing. */
export function toggleValue(filters: ReadFilters, name: ListFilter, value: string): Filters {
  const values: readonly string[] = filters[name] ?? [];
  if (values.includes(value)) return { [name]: orNone(values.filter((other) => other !== value)) };
  return values.length >= toValuesMax(name) ? {} : { [name]: [...values, value] };
}

/** With one tag more; a tag that is there already, or one too many, changes nothing. */
export function addTag(filters: Filters, tag: string): readonly string[] {
  const tags = filters.tag ?? [];
  return tags.includes(tag) || tags.length >= TAGS_MAX ? tags : [...tags, tag];
}

/** The first filter that has several values which can be compared; null when there is none. */
export function findCompared(filters: ReadFilters): ListFilter | null {
  const isCompared = (name: ListFilter) => toSpec(name).compare !== undefined;
  return LIST_NAMES.find((name) => isCompared(name) && (filters[name]?.length ?? 0) > 1) ?? null;
}

export function toSpec(name: ListFilter): ListFilterSpec {
  return LIST_FILTERS[name];
}

/** A value's name; a key's is what the window knows of it. */
export function toValueText(name: ListFilter, value: string, facets: Facets | undefined): string {
  const outcome = OUTCOME_FILTERS.find((known) => known === value);
  if (name === "outcome" && outcome !== undefined) {
    return outcome === "failed" ? "failed (not OK)" : toOutcomeWord(outcome);
  }
  const key = name === "key" ? facets?.keys.find(({ id }) => id === value) : undefined;
  return key === undefined ? value : toKeyName(key);
}

/** `label ***abcd (owner)`; of a deleted key only the owner is known. */
function toKeyName({ id, label, key_suffix: suffix, principal }: Facets["keys"][number]): string {
  const name = label === null ? "deleted key" : label === "" ? "key without a label" : label;
  return suffix === null
    ? `${name} (${principal}, ${id.slice(0, 8)})`
    : `${name} ***${suffix} (${principal})`;
}

/** `took at least 2 s`. */
export function toBoundText(name: BoundFilter, value: string): string {
  const isCost = name === "min_cost" || name === "max_cost";
  const size = isCost ? formatMoney(Number(value)) : formatDuration(Number(value));
  return `${isCost ? "cost" : "took"} ${name.startsWith("min_") ? "at least" : "at most"} ${size}`;
}

const LIST_NAMES = Object.keys(LIST_FILTERS).filter(isListFilter);

function isListFilter(name: string): name is ListFilter {
  return Object.hasOwn(LIST_FILTERS, name);
}

export function isBoundFilter(name: string): name is BoundFilter {
  return BOUND_FILTERS.some((known) => known === name);
}

function toValuesMax(name: ListFilter): number {
  return name === "tag" ? TAGS_MAX : VALUES_MAX;
}

/** An empty list leaves the address. */
function orNone<Value>(values: readonly Value[]): readonly Value[] | undefined {
  return values.length === 0 ? undefined : values;
}

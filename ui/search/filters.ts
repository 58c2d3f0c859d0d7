import { OUTCOMES } from "#usage/event.ts";
import { readText, readTexts, readWord, type RawSearch } from "./query-string.ts";

/** What the reports can be asked for (specification, section 4.4), as it stands in the address. */
export interface Filters {
  readonly principal?: string | undefined;
  readonly key?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  /** A prefix of the User-Agent. */
  readonly client?: string | undefined;
  /** `key:value`; all must match. */
  readonly tag?: readonly string[] | undefined;
  readonly outcome?: OutcomeFilter | undefined;
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

/** Filters of one text each, in the order in which they are shown. */
export const TEXT_FILTERS = ["principal", "key", "provider", "model", "client"] as const;
export type TextFilter = (typeof TEXT_FILTERS)[number];

/** Tags in one question (specification, section 8). */
const TAG_FILTERS_MAX = 4;

export function readFilters(search: RawSearch): Filters {
  const tags = readTexts(search, "tag").slice(0, TAG_FILTERS_MAX);
  return {
    principal: readText(search, "principal"),
    key: readText(search, "key"),
    provider: readText(search, "provider"),
    model: readText(search, "model"),
    client: readText(search, "client"),
    tag: tags.length === 0 ? undefined : tags,
    outcome: readWord(search, "outcome", OUTCOME_FILTERS),
  };
}

/** The address without any filter. */
export const NO_FILTERS: Filters = {
  principal: undefined,
  key: undefined,
  provider: undefined,
  model: undefined,
  client: undefined,
  tag: undefined,
  outcome: undefined,
};

export function countFilters(filters: Filters): number {
  const texts = TEXT_FILTERS.filter((name) => filters[name] !== undefined).length;
  return texts + (filters.tag?.length ?? 0) + (filters.outcome === undefined ? 0 : 1);
}

/** With one tag more; a tag that is there already, or one too many, changes nothing. */
export function addTag(filters: Filters, tag: string): readonly string[] {
  const tags = filters.tag ?? [];
  return tags.includes(tag) || tags.length >= TAG_FILTERS_MAX ? tags : [...tags, tag];
}

/** Undefined when none is left, so that it leaves the address. */
export function removeTag(filters: Filters, tag: string): readonly string[] | undefined {
  const tags = (filters.tag ?? []).filter((other) => other !== tag);
  return tags.length === 0 ? undefined : tags;
}

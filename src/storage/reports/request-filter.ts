import { UNBILLED_ENDPOINTS } from "#catalog/endpoint.ts";
import { STANDARD_TIER } from "#kernel/price-variants.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { toClientVersion } from "#stats/client-changes.ts";
import { EVERY_PROVIDER, filterBy, type RowFilter } from "#stats/filter.ts";
import type { StatsQuery } from "#stats/store.ts";
import type { Outcome } from "#usage/event.ts";
import type { Label, LabelBlock } from "./label-sets.ts";

/** The end of a request. */
export interface Result {
  readonly id: number;
  readonly outcome: Outcome;
  readonly error_kind: string | null;
  readonly status_code: number;
  readonly failure: string | null;
}

/** A filter as the ledger is asked by it. */
export interface ResolvedFilter {
  /** All of them are met by the label sets that match. */
  readonly conditions: readonly LabelCondition[];
  /** The results that match. */
  readonly results: readonly Result[];
  /** The highest id of any result. */
  readonly lastResult: number;
  /** Conditions that only single requests tell; null where cells can tell what matches. */
  readonly rows: RowFilter | null;
  /** True when only the outcome is restricted, so that the totals of hours can tell. */
  readonly isByOutcomeOnly: boolean;
}

type FilterQuery = Omit<StatsQuery, "window">;

export function* resolveFilter(query: FilterQuery): Script<ResolvedFilter> {
  const { errorKinds, statuses, rows } = query.filter;
  const conditions = toConditions(query, yield* dialectOf());
  const results = yield* readResults();
  return {
    conditions,
    results: results.filter((result) => isChosen(result, query.filter)),
    lastResult: results.at(-1)?.id ?? 0,
    rows,
    isByOutcomeOnly: conditions.length === 0 && errorKinds === null && statuses === null && rows === null,
  };
}

/** Every request, however it ended. */
export function everyRequest(): Script<ResolvedFilter> {
  return resolveFilter({ filter: filterBy({}), providers: EVERY_PROVIDER, principalId: null });
}

function readResults(): Script<readonly Result[]> {
  return all<Result>("SELECT id, outcome, error_kind, status_code, failure FROM result ORDER BY id");
}

/** A filter that asks more of label sets. */
export function withConditions(
  filter: ResolvedFilter,
  ...conditions: readonly LabelCondition[]
): ResolvedFilter {
  return { ...filter, conditions: [...filter.conditions, ...conditions], isByOutcomeOnly: false };
}

/** Met by label sets that have the label. */
export function hasLabel(label: Label): LabelCondition {
  return { label, isMet: () => true };
}

/** Nothing is used of a model, nor billed, without one: a relay call may name none. Nor is it by what only asks or counts. */
export function toBilled(filter: ResolvedFilter): ResolvedFilter {
  const isBilled = (endpoint: string) => !UNBILLED_ENDPOINTS.has(endpoint);
  return withConditions(filter, hasLabel("model"), { label: "endpoint", isMet: isBilled });
}

function isChosen(
  { outcome, error_kind: kind, status_code: status }: Result,
  { outcomes, errorKinds, statuses }: FilterQuery["filter"],
): boolean {
  return (
    (outcomes === null || outcomes.some((one) => one === outcome)) &&
    (errorKinds === null || (kind !== null && errorKinds.includes(kind))) &&
    (statuses === null || statuses.some(({ from, to }) => status >= from && status < to))
  );
}

/** A condition on the value of a label. */
export interface LabelCondition {
  readonly label: Label;
  readonly isMet: (value: string) => boolean;
  /** True when a label set without a value meets it; false where absent. */
  readonly isMetByNone?: boolean;
}

function toConditions(
  { filter, providers, principalId }: FilterQuery,
  { toStored }: Dialect,
): readonly LabelCondition[] {
  const conditions: LabelCondition[] = [];
  const add = (label: Label, isMet: LabelCondition["isMet"]) => conditions.push({ label, isMet });
  const addAnyOf = (label: Label, values: readonly string[] | null) => {
    if (values === null) return;
    const wanted = new Set(values.map(toStored));
    add(label, (value) => wanted.has(value));
  };
  if (principalId !== null) addAnyOf("principal_id", [principalId]);
  addAnyOf("principal_name", filter.principals);
  addAnyOf("key_id", filter.keyIds);
  addAnyOf("model", filter.models);
  const prefixes = filter.clientPrefixes?.map(toStored) ?? null;
  if (prefixes !== null) add("client", (value) => prefixes.some((prefix) => value.startsWith(prefix)));
  const versions = filter.clientVersions?.map(toStored) ?? null;
  if (versions !== null) add("client", (value) => versions.includes(toClientVersion(value) ?? ""));
  for (const pair of filter.tags) {
    const spelled = JSON.stringify(pair);
    add("tags", (value) => value.includes(spelled) && parseStoredTags(value).tags.includes(pair));
  }
  const { tiers } = filter;
  if (tiers !== null) {
    const isMetByNone = tiers.includes(STANDARD_TIER);
    conditions.push({ label: "tier", isMet: (value) => tiers.includes(value), isMetByNone });
  }
  addAnyOf("provider_id", providers.include);
  if (providers.exclude.length > 0) {
    const excluded = new Set(providers.exclude);
    add("provider_id", (value) => !excluded.has(value));
  }
  return conditions;
}

/** 1 for each label set of a block that meets all conditions. */
export function matchLabels(block: LabelBlock, conditions: readonly LabelCondition[]): Uint8Array {
  const matched = new Uint8Array(block.count).fill(1);
  for (const { label, isMet, isMetByNone = false } of conditions) {
    const { values, placeOf } = block.column(label);
    const isMetBy = Uint8Array.from(values, (value) => Number(value === null ? isMetByNone : isMet(value)));
    for (let row = 0; row < matched.length; row += 1)
      matched[row] = (matched[row] ?? 0) & (isMetBy[placeOf[row] ?? 0] ?? 0);
  }
  return matched;
}

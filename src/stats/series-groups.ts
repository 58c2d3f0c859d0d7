import { compareCodeUnits } from "#kernel/text.ts";
import { TOKEN_UNITS } from "#kernel/units.ts";
import { toChunks, toMembers } from "./chunks.ts";
import { formatGroupBy, GROUP_BUCKETS_MAX, type GroupOrder, type SeriesGrouping } from "./series-grouping.ts";
import { toBucketView, toFiguresView, toSeriesView } from "./series.ts";
import type { EncodedReport, Series, SeriesBucket, SeriesFigures } from "./store.ts";

/** What one value adds up to over the whole window. */
interface GroupTotal {
  /** Null for events that have no value. */
  readonly value: string | null;
  readonly figures: SeriesFigures;
}

/** One group with its buckets, which are those of the whole series. */
interface SeriesGroup extends GroupTotal {
  readonly buckets: readonly SeriesBucket[];
}

interface GroupedSeries extends Series {
  readonly groups: readonly SeriesGroup[];
  /** How many values there are, those of `other` included. */
  readonly groupCount: number;
  /** Everything that no group of `groups` holds; null when they hold all. */
  readonly other: Omit<SeriesGroup, "value"> | null;
}

/**
 * The largest groups first, at most `top` of them and as many as have room for their buckets; `rest` is all others. Without
 * a number comes last; of equals those with more requests come first, then by value, by code unit, null first.
 */
export function chooseGroups<Group extends GroupTotal>(
  groups: readonly Group[],
  { order, top }: SeriesGrouping,
  bucketCount: number,
): { readonly chosen: readonly Group[]; readonly rest: readonly Group[] } {
  const sorted = groups.toSorted((left, right) =>
    compareGroups(left, right, (figures) => toSize(figures, order)),
  );
  const room = Math.max(Math.floor(GROUP_BUCKETS_MAX / Math.max(bucketCount, 1)), 1);
  const count = Math.min(top, room);
  return { chosen: sorted.slice(0, count), rest: sorted.slice(count) };
}

/**
 * The larger first, and what has no size last; of equals those with more requests come first, then by value, by code unit, null
 * first.
 */
export function compareGroups<Figures extends { readonly requests: number }>(
  left: Ranked<Figures>,
  right: Ranked<Figures>,
  sizeOf: (figures: Figures) => Size,
): number {
  return compareSizes(sizeOf(right.figures), sizeOf(left.figures)) || compareEquals(left, right);
}

interface Ranked<Figures> {
  readonly value: string | null;
  readonly figures: Figures;
}

/** Money is compared as it is, never as the JSON number that it becomes. */
export type Size = bigint | number | null;

function toSize({ costPico, requests, units }: SeriesFigures, order: GroupOrder): Size {
  if (order === "cost") return costPico;
  if (order === "requests") return requests;
  const reported = TOKEN_UNITS.flatMap((unit) => units[unit] ?? []);
  return reported.length === 0 ? null : reported.reduce((sum, quantity) => sum + quantity, 0);
}

function compareSizes(left: Size, right: Size): number {
  if (left === null || right === null) return Number(left !== null) - Number(right !== null);
  return left < right ? -1 : left > right ? 1 : 0;
}

function compareEquals(
  left: Ranked<{ readonly requests: number }>,
  right: Ranked<{ readonly requests: number }>,
): number {
  if (left.figures.requests !== right.figures.requests) return right.figures.requests - left.figures.requests;
  if (left.value === null || right.value === null) {
    return Number(left.value !== null) - Number(right.value !== null);
  }
  return compareCodeUnits(left.value, right.value);
}

/** `UsageSeries`, spelled by the thread that read it. */
export function encodeSeries(series: Pick<Series, "bucket" | "buckets">): Pick<EncodedReport, "chunks"> {
  return { chunks: toChunks([JSON.stringify(toSeriesView(series))]) };
}

/** `UsageSeries` with its groups (docs/decisions.md), spelled by the thread that read it. */
export function encodeGroupedSeries(
  series: GroupedSeries,
  { by, order }: SeriesGrouping,
): Pick<EncodedReport, "chunks"> {
  return { chunks: toChunks(toPieces(series, { by, order })) };
}

function* toPieces(
  { groups, groupCount, other, ...series }: GroupedSeries,
  { by, order }: Pick<SeriesGrouping, "by" | "order">,
): Generator<string> {
  const total = JSON.stringify(toSeriesView(series)).slice(0, -1);
  yield `${total},"group_by":${JSON.stringify(formatGroupBy(by))},"order":"${order}","group_count":${groupCount},"groups":[`;
  yield* toMembers(groups, ({ value, ...group }) => ({ value, ...toGroupView(group) }));
  yield `],"other":${JSON.stringify(other && toGroupView(other))}}`;
}

function toGroupView({ figures, buckets }: Omit<SeriesGroup, "value">) {
  return { ...toFiguresView(figures), series: buckets.map(toBucketView) };
}

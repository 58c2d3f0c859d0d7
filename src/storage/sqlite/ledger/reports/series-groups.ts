import type { Database } from "bun:sqlite";
import { toProviderName } from "#stats/grouping.ts";
import { chooseGroups, encodeGroupedSeries } from "#stats/series-groups.ts";
import type { EncodedReport, StatsStore } from "#stats/store.ts";
import { saveGroups, toGroupSql } from "./group-values.ts";
import { readTransaction } from "./read-transaction.ts";
import { createSumReader, SUMS_MAX } from "./report-sums.ts";
import { resolveFilter } from "./request-filter.ts";
import type { SeriesSum } from "./series-sum.ts";
import { toSeriesFigures } from "./series-sums.ts";
import type { Counted } from "./series.ts";
import { countSeries, refuseTooManyBuckets, toBuckets, toSeries } from "./series.ts";

type GroupedQuery = Parameters<StatsStore["readGroupedSeries"]>[0];

/**
 * The series of `StatsStore.readGroupedSeries`: read once, by group and bucket, so that the totals are the sums of the groups.
 * Throws `range_too_large` as `readSeries` does, and when there are more than `sumsMax` sums.
 */
export function readGroupedSeries(
  database: Database,
  { grouping, context, ...query }: GroupedQuery,
  sumsMax = SUMS_MAX,
): EncodedReport {
  const asked = { ...query, nowUs: context.nowUs };
  refuseTooManyBuckets(asked);
  return readTransaction(database, () => {
    const filter = resolveFilter(database, query);
    const groups = toGroupSql(grouping.by);
    const values = saveGroups(database, groups, filter);
    const reading = createSumReader<SeriesSum>(database, sumsMax);
    const counted = countSeries(database, asked, { filter, groups, ...reading });
    const { plan } = counted;
    const toValue = (group: number) => {
      const value = values.get(group) ?? null;
      // Deleted providers share a name, and with it a group.
      return grouping.by.field === "provider" && value !== null ? toProviderName(value, context) : value;
    };
    const series = toSeries(asked, counted);
    const found = [...groupSums(counted, toValue)].map(([value, sums]) => ({
      value,
      sums,
      figures: toSeriesFigures(sums),
    }));
    const { chosen, rest } = chooseGroups(found, grouping, series.buckets.length);
    const left = rest.flatMap(({ sums }) => sums);
    const grouped = {
      ...series,
      groups: chosen.map(({ value, figures, sums }) => ({ value, figures, buckets: toBuckets(plan, sums) })),
      groupCount: found.length,
      other: rest.length === 0 ? null : { figures: toSeriesFigures(left), buckets: toBuckets(plan, left) },
    };
    return { ...encodeGroupedSeries(grouped, grouping), snapped: series.snapped, truncated: false };
  });
}

/** The sums within the series by the value of their group. */
function groupSums(
  { plan, sums = [] }: Counted,
  toValue: (group: number) => string | null,
): ReadonlyMap<string | null, readonly SeriesSum[]> {
  const count = plan?.starts.length ?? 0;
  const isWithin = ({ period }: SeriesSum) => period >= 0 && period < count;
  return Map.groupBy(sums.filter(isWithin), ({ group_id: group }) => toValue(group));
}

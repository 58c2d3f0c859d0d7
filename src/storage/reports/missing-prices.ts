import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, empty, gather, type Script, run } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { REPORT_UNITS } from "#kernel/units.ts";
import type { UnpricedUse } from "#stats/missing-prices.ts";
import { OTHER } from "#stats/grouping.ts";
import { MISSING_PRICES_MAX, toUnpricedUses } from "#stats/missing-prices.ts";
import type { MissingPrices, StatsStore } from "#stats/store.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { prepareEvents, toEventJoins, toUnpricedMeasure } from "./chosen-events.ts";
import { createSumReader, orFolded, SUMS_MAX } from "./report-sums.ts";
import { type ResolvedFilter, resolveFilter } from "./request-filter.ts";
import { findRowWindow } from "./row-window.ts";
import type { BucketRange } from "./series-sum.ts";
import { saveRanges } from "./series-sums.ts";
import type { RawRange } from "./window-cut.ts";

/** Rows that may be looked at one by one: some seconds. */
const ROWS_MAX = 10_000_000;
/** Names that keep to themselves where there are too many; a name has a row for each unit. */
const NAMES_MAX = Math.floor(MISSING_PRICES_MAX / REPORT_UNITS.length) - 2;

type MissingQuery = Parameters<StatsStore["readMissingPrices"]>[0];

/**
 * `StatsStore.readMissingPrices`. Totals tell how many requests were unpriced, but not in which unit: the hours that have
 * some are read row by row, a day at a time, and hours whose rows were removed are left out. With more than `sumsMax` sums the
 * names that were used least stand together as `(other)`, and the report is `truncated`. Throws `range_too_large` before it reads
 * more rows than a limit allows.
 */
export function* readMissingPrices(
  query: MissingQuery,
  { sumsMax = SUMS_MAX, rowsMax = ROWS_MAX } = {},
): Script<MissingPrices> {
  const dialect = yield* dialectOf();
  const filter = yield* resolveFilter(query);
  const rows = yield* findRowWindow(query.window, filter);
  if (rows === null) return { ...toUnpricedUses([]), snapped: null };
  const range = { fromUs: rows.startUs, toUs: Math.min(query.window.untilUs ?? rows.endUs, rows.endUs) };
  const ranges = yield* listUnpricedRanges(range, rowsMax);
  yield* saveRanges(ranges);
  yield* prepareEvents(filter);
  yield* saveNames(filter.combinations);
  const readUses = function* uses(limit: number) {
    const { read } = createSumReader<UnpricedSum>(limit);
    const sums = toUnpricedSums(dialect, filter);
    const found = yield* gather(ranges, ({ from, to }) => read(sums, [from, to]));
    return toUnpricedUses(found.flatMap(toUses));
  };
  const readFolded = function* folded() {
    yield* keepNames(filter, Math.max(Math.min(Math.floor(sumsMax / ranges.length), NAMES_MAX), 1));
    return { ...(yield* readUses(Number.POSITIVE_INFINITY)), truncated: true };
  };
  const found = yield* orFolded(() => readUses(sumsMax), readFolded);
  const endUs = Math.max(query.window.untilUs ?? rows.endUs, rows.startUs);
  const snapped = rows.isSnapped ? { sinceUs: rows.startUs, untilUs: endUs } : null;
  return { ...found, snapped };
}

interface HourRow {
  readonly hour: number;
  readonly requests: number;
}

/** The hours of a range in which something was unpriced, those of one day and without a gap as one. */
function* listUnpricedRanges({ fromUs, toUs }: RawRange, rowsMax: number): Script<readonly BucketRange[]> {
  const hours = yield* all<HourRow>(
    `SELECT hour, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?
       GROUP BY hour HAVING sum(unpriced_requests) > 0 ORDER BY hour`,
    [Math.floor(fromUs / HOUR_US), Math.ceil(toUs / HOUR_US)],
  );
  if (hours.reduce((sum, { requests }) => sum + requests, 0) > rowsMax) {
    throw new ProxyError(
      "range_too_large",
      `Requests without a price are counted one by one, in hours of ${rowsMax} requests at most: choose a later since.`,
      { param: "since" },
    );
  }
  const ranges: { bucket: number; from: number; to: number }[] = [];
  for (const { hour } of hours) {
    const from = Math.max(hour * HOUR_US, fromUs);
    const to = Math.min((hour + 1) * HOUR_US, toUs);
    const last = ranges.at(-1);
    if (last?.to === from && from % DAY_US !== 0) last.to = to;
    else ranges.push({ bucket: ranges.length, from, to });
  }
  return ranges;
}

/** What each combination is priced under: the model that was asked for, whether the relay was, and the tier. Others have no price. */
function* saveNames(combinations: string): Script<void> {
  const { toNumber } = yield* dialectOf();
  yield* empty("priced_name");
  yield* run(
    `INSERT INTO priced_name SELECT id, dense_rank() OVER (ORDER BY model, relayed, tier), model, relayed, tier
       FROM (SELECT c.id, c.model, ${toNumber("c.provider_id = ?")} AS relayed, c.tier
         FROM ${combinations} AS f CROSS JOIN combination AS c ON c.id = f.id WHERE c.model IS NOT NULL) AS s`,
    [RELAY_PROVIDER],
  );
}

/** Puts all names but the most used together, those of the relay apart. */
function* keepNames(filter: ResolvedFilter, namesMax: number): Script<void> {
  const joins = toEventJoins(yield* dialectOf(), filter);
  yield* run(
    `WITH kept AS (SELECT n.name_id
         FROM bucket_range AS r CROSS JOIN event AS e ON e.id >= r.from_at AND e.id < r.to_at ${joins}
         CROSS JOIN priced_name AS n ON n.id = e.combination
         GROUP BY n.name_id ORDER BY count(*) DESC, n.name_id LIMIT ?)
       UPDATE priced_name SET name_id = -1 - relayed, model = ?, tier = NULL WHERE name_id NOT IN (SELECT name_id FROM kept)`,
    [namesMax, OTHER],
  );
}

interface UnpricedSum {
  readonly model: string;
  readonly relayed: number;
  readonly tier: string | null;
  readonly [column: `${string}_requests` | `${string}_quantity` | `${string}_seen`]: number | null;
}

function toUnpricedSums(dialect: Dialect, filter: ResolvedFilter): string {
  return `SELECT n.model, n.relayed, n.tier, ${REPORT_UNITS.map((unit) => {
    const { isUsed, quantity } = toUnpricedMeasure(dialect, unit);
    return `sum(CASE WHEN ${isUsed} THEN 1 ELSE 0 END) AS ${unit}_requests,
    sum(CASE WHEN ${isUsed} THEN ${quantity} END) AS ${unit}_quantity, max(CASE WHEN ${isUsed} THEN e.id END) AS ${unit}_seen`;
  }).join(", ")}
  FROM event AS e ${toEventJoins(dialect, filter)}
  CROSS JOIN priced_name AS n ON n.id = e.combination
  WHERE e.id >= ? AND e.id < ? AND (${REPORT_UNITS.map((unit) => toUnpricedMeasure(dialect, unit).isUsed).join(" OR ")})
  GROUP BY n.name_id, n.model, n.relayed, n.tier`;
}

function toUses(sum: UnpricedSum): readonly UnpricedUse[] {
  return REPORT_UNITS.flatMap((unit) => {
    const requests = sum[`${unit}_requests`] ?? 0;
    if (requests === 0) return [];
    const total = sum[`${unit}_quantity`] ?? 0;
    const lastSeenUs = sum[`${unit}_seen`] ?? 0;
    const { model, relayed, tier } = sum;
    return [{ model, isRelayed: relayed === 1, tier, unit, requests, total, lastSeenUs }];
  });
}

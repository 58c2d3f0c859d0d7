import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { REPORT_UNITS } from "#kernel/units.ts";
import type { UnpricedUse } from "#stats/missing-prices.ts";
import { OTHER } from "#stats/grouping.ts";
import { MISSING_PRICES_MAX, toUnpricedUses } from "#stats/missing-prices.ts";
import type { MissingPrices, StatsStore } from "#stats/store.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { prepareEvents, toEventJoins, toUnpricedMeasure } from "./chosen-events.ts";
import { readTransaction } from "./read-transaction.ts";
import { createSumReader, orFolded, SUMS_MAX } from "./report-sums.ts";
import { type ResolvedFilter, resolveFilter } from "./request-filter.ts";
import { findRowWindow } from "./row-window.ts";
import type { BucketRange } from "./series-sum.ts";
import { saveRanges } from "./series-sums.ts";
import type { RawRange } from "#storage/ledger/windows/window-cut.ts";

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
export function readMissingPrices(
  database: Database,
  query: MissingQuery,
  { sumsMax = SUMS_MAX, rowsMax = ROWS_MAX } = {},
): MissingPrices {
  return readTransaction(database, () => {
    const filter = resolveFilter(database, query);
    const rows = findRowWindow(database, query.window, filter);
    if (rows === null) return { ...toUnpricedUses([]), snapped: null };
    const range = { fromUs: rows.startUs, toUs: Math.min(query.window.untilUs ?? rows.endUs, rows.endUs) };
    const ranges = listUnpricedRanges(database, range, rowsMax);
    saveRanges(database, ranges);
    prepareEvents(database, filter);
    saveNames(database, filter.combinations);
    const readUses = (limit: number) => {
      const { read } = createSumReader<UnpricedSum>(database, limit);
      const sums = toUnpricedSums(filter);
      return toUnpricedUses(ranges.flatMap((_, place) => read(sums, [place])).flatMap(toUses));
    };
    const readFolded = () => {
      keepNames(database, filter, Math.max(Math.min(Math.floor(sumsMax / ranges.length), NAMES_MAX), 1));
      return { ...readUses(Number.POSITIVE_INFINITY), truncated: true };
    };
    const found = orFolded(() => readUses(sumsMax), readFolded);
    const endUs = Math.max(query.window.untilUs ?? rows.endUs, rows.startUs);
    const snapped = rows.isSnapped ? { sinceUs: rows.startUs, untilUs: endUs } : null;
    return { ...found, snapped };
  });
}

interface HourRow {
  readonly hour: number;
  readonly requests: number;
}

/** The hours of a range in which something was unpriced, those of one day and without a gap as one. */
function listUnpricedRanges(
  database: Database,
  { fromUs, toUs }: RawRange,
  rowsMax: number,
): readonly BucketRange[] {
  const hours = database
    .query<HourRow, [number, number]>(
      `SELECT hour, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?
       GROUP BY hour HAVING sum(unpriced_requests) > 0 ORDER BY hour`,
    )
    .all(Math.floor(fromUs / HOUR_US), Math.ceil(toUs / HOUR_US));
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

/** What each combination is priced under: the model that was asked for, and whether the relay was. Others have no price. */
function saveNames(database: Database, combinations: string): void {
  database.run(
    `CREATE TEMP TABLE IF NOT EXISTS priced_name (id INTEGER PRIMARY KEY, name_id INTEGER, model TEXT, relayed INTEGER)`,
  );
  database.run("DELETE FROM priced_name");
  database
    .query<unknown, [string]>(
      `INSERT INTO priced_name SELECT id, dense_rank() OVER (ORDER BY model, relayed), model, relayed
       FROM (SELECT c.id, c.model, c.provider_id = ? AS relayed
         FROM ${combinations} AS f CROSS JOIN combination AS c ON c.id = f.id WHERE c.model IS NOT NULL)`,
    )
    .run(RELAY_PROVIDER);
}

/** Puts all names but the most used together, those of the relay apart. */
function keepNames(database: Database, filter: ResolvedFilter, namesMax: number): void {
  database
    .query<unknown, [number, string]>(
      `WITH kept AS (SELECT n.name_id
         FROM bucket_range AS r CROSS JOIN event AS e ON e.id >= r.from_at AND e.id < r.to_at ${toEventJoins(filter)}
         CROSS JOIN priced_name AS n ON n.id = e.combination
         GROUP BY n.name_id ORDER BY count(*) DESC, n.name_id LIMIT ?)
       UPDATE priced_name SET name_id = -1 - relayed, model = ? WHERE name_id NOT IN kept`,
    )
    .run(namesMax, OTHER);
}

interface UnpricedSum {
  readonly model: string;
  readonly relayed: number;
  readonly [column: `${string}_requests` | `${string}_quantity` | `${string}_seen`]: number | null;
}

const toUnpricedSums = (filter: ResolvedFilter) => `SELECT n.model, n.relayed, ${REPORT_UNITS.map((unit) => {
  const { isUsed, quantity } = toUnpricedMeasure(unit);
  return `sum(iif(${isUsed}, 1, 0)) AS ${unit}_requests, sum(iif(${isUsed}, ${quantity}, NULL)) AS ${unit}_quantity,
    max(iif(${isUsed}, e.id, NULL)) AS ${unit}_seen`;
}).join(", ")}
  FROM bucket_range AS r CROSS JOIN event AS e ON e.id >= r.from_at AND e.id < r.to_at ${toEventJoins(filter)}
  CROSS JOIN priced_name AS n ON n.id = e.combination
  WHERE r.place = ? AND (${REPORT_UNITS.map((unit) => toUnpricedMeasure(unit).isUsed).join(" OR ")})
  GROUP BY n.name_id`;

function toUses(sum: UnpricedSum): readonly UnpricedUse[] {
  return REPORT_UNITS.flatMap((unit) => {
    const requests = sum[`${unit}_requests`] ?? 0;
    if (requests === 0) return [];
    const total = sum[`${unit}_quantity`] ?? 0;
    const lastSeenUs = sum[`${unit}_seen`] ?? 0;
    return [{ model: sum.model, isRelayed: sum.relayed === 1, unit, requests, total, lastSeenUs }];
  });
}

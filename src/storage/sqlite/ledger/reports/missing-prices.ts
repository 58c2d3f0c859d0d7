import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { REPORT_UNITS } from "#kernel/units.ts";
import type { UnpricedUse } from "#stats/missing-prices.ts";
import { toUnpricedUses } from "#stats/missing-prices.ts";
import type { MissingPrices, StatsStore } from "#stats/store.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { EVENT_JOINS, prepareEvents, toUnpricedMeasure } from "./chosen-events.ts";
import { readTransaction } from "./read-transaction.ts";
import { createSumReader, SUMS_MAX } from "./report-sums.ts";
import { resolveFilter } from "./request-filter.ts";
import { findRowWindow } from "./row-window.ts";
import type { BucketRange } from "./series-sum.ts";
import { saveRanges } from "./series-sums.ts";
import type { RawRange } from "#storage/ledger/windows/window-cut.ts";

/** Rows that may be looked at one by one: some seconds. */
const ROWS_MAX = 10_000_000;

type MissingQuery = Parameters<StatsStore["readMissingPrices"]>[0];

/**
 * `StatsStore.readMissingPrices`. Totals tell how many requests were unpriced, but not in which unit: the hours that have
 * some are read row by row, a day at a time, and hours whose rows were removed are left out. Throws `range_too_large` before
 * it reads more rows, or more sums, than a limit allows.
 */
export function readMissingPrices(
  database: Database,
  query: MissingQuery,
  sumsMax = SUMS_MAX,
): MissingPrices {
  return readTransaction(database, () => {
    const filter = resolveFilter(database, query);
    const rows = findRowWindow(database, query.window, filter);
    if (rows === null) return { ...toUnpricedUses([]), snapped: null };
    const range = { fromUs: rows.startUs, toUs: Math.min(query.window.untilUs ?? rows.endUs, rows.endUs) };
    const ranges = listUnpricedRanges(database, range);
    saveRanges(database, ranges);
    prepareEvents(database, filter);
    saveNames(database, filter.combinations);
    const { read } = createSumReader<UnpricedSum>(database, sumsMax);
    const uses = ranges.flatMap((_, place) => read(UNPRICED_SUMS, [place])).flatMap(toUses);
    const endUs = Math.max(query.window.untilUs ?? rows.endUs, rows.startUs);
    const snapped = rows.isSnapped ? { sinceUs: rows.startUs, untilUs: endUs } : null;
    return { ...toUnpricedUses(uses), snapped };
  });
}

interface HourRow {
  readonly hour: number;
  readonly requests: number;
}

/** The hours of a range in which something was unpriced, those of one day and without a gap as one. */
function listUnpricedRanges(database: Database, { fromUs, toUs }: RawRange): readonly BucketRange[] {
  const hours = database
    .query<HourRow, [number, number]>(
      `SELECT hour, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?
       GROUP BY hour HAVING sum(unpriced_requests) > 0 ORDER BY hour`,
    )
    .all(Math.floor(fromUs / HOUR_US), Math.ceil(toUs / HOUR_US));
  if (hours.reduce((sum, { requests }) => sum + requests, 0) > ROWS_MAX) {
    throw new ProxyError(
      "range_too_large",
      `Requests without a price are counted one by one, in hours of ${ROWS_MAX} requests at most: choose a later since.`,
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

interface UnpricedSum {
  readonly model: string;
  readonly relayed: number;
  readonly [column: `${string}_requests` | `${string}_quantity` | `${string}_seen`]: number | null;
}

const UNPRICED_SUMS = `SELECT n.model, n.relayed, ${REPORT_UNITS.map((unit) => {
  const { isUsed, quantity } = toUnpricedMeasure(unit);
  return `sum(iif(${isUsed}, 1, 0)) AS ${unit}_requests, sum(iif(${isUsed}, ${quantity}, NULL)) AS ${unit}_quantity,
    max(iif(${isUsed}, e.id, NULL)) AS ${unit}_seen`;
}).join(", ")}
  FROM bucket_range AS r CROSS JOIN event AS e ON e.id >= r.from_at AND e.id < r.to_at ${EVENT_JOINS}
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

import type { Database } from "bun:sqlite";
import { encodeErrors } from "#stats/errors.ts";
import type { Window } from "#stats/filter.ts";
import type { EncodedReport, ReportNotes, StatsStore } from "#stats/store.ts";
import { readErrorsParts, readFoldedErrorsParts } from "./errors-parts.ts";
import { toMeasureSources } from "./measure-sources.ts";
import { readTransaction } from "./read-transaction.ts";
import { orFolded, SUMS_MAX } from "./report-sums.ts";
import { resolveFilter } from "./request-filter.ts";
import { readSeries } from "./series.ts";
import { cutLedger } from "./ledger-edges.ts";

type ErrorsQuery = Parameters<StatsStore["readErrors"]>[0];

/**
 * The series and the breakdown of `StatsStore.readErrors`, of one and the same window: where retention makes it snap, both
 * count whole days, or whole hours from the first one on of which the series can tell. When more than `sumsMax` sums would
 * be in memory, the rarest stand together as `(other)`, and the report is `truncated`. Throws `range_too_large` where the series
 * does.
 */
export function readErrors(database: Database, query: ErrorsQuery, sumsMax = SUMS_MAX): EncodedReport {
  const { context } = query;
  return readTransaction(database, () => {
    const whole = cutLedger(database, query.window, "months").snapped;
    const window = within(query.window, whole);
    const series = readSeries(database, { ...query, window, nowUs: context.nowUs });
    const filter = resolveFilter(database, query);
    const cut = cutLedger(database, series.snapped ?? window, "months");
    const sources = toMeasureSources(database, cut, filter);
    const read = () => encodeErrors(series, readErrorsParts(database, sources, sumsMax), context);
    const readFolded = () => ({
      ...encodeErrors(series, readFoldedErrorsParts(database, sources, sumsMax), context),
      truncated: true,
    });
    const report = orFolded(read, readFolded);
    return {
      chunks: report.chunks,
      truncated: report.truncated || series.truncated,
      snapped: series.snapped ?? whole,
    };
  });
}

/** An end that was not given stays open: the series then begins with what matches, and ends with the present. */
function within(window: Window, whole: ReportNotes["snapped"]): Window {
  if (whole === null) return window;
  return {
    sinceUs: window.sinceUs === null ? null : whole.sinceUs,
    untilUs: window.untilUs === null ? null : whole.untilUs,
  };
}

import { type Script } from "#storage/sql/script.ts";
import { encodeErrors } from "#stats/errors.ts";
import type { Window } from "#stats/filter.ts";
import type { EncodedReport, ReportNotes, StatsStore } from "#stats/store.ts";
import { readErrorsParts, readFoldedErrorsParts } from "./errors-parts.ts";
import { toMeasureSources } from "./measure-sources.ts";
import { orFolded, SUMS_MAX } from "./report-sums.ts";
import { resolveFilter } from "./request-filter.ts";
import { readSeriesOf, refuseTooManyBuckets } from "./series.ts";
import { cutFiltered } from "./row-window.ts";
import { readEdges } from "./ledger-edges.ts";
import { cutWindow } from "./window-cut.ts";

type ErrorsQuery = Parameters<StatsStore["readErrors"]>[0];

/**
 * The series and the breakdown of `StatsStore.readErrors`, of one and the same window: where retention makes it snap, both
 * count whole days, or whole hours from the first one on of which the series can tell. When more than `sumsMax` sums would
 * be in memory, the rarest stand together as `(other)`, and the report is `truncated`. Throws `range_too_large` where the series
 * does.
 */
export function* readErrors(query: ErrorsQuery, sumsMax = SUMS_MAX): Script<EncodedReport> {
  const { context } = query;
  // Totals may cut a window to whole months; a count row by row has the window of its series.
  const whole =
    query.filter.rows === null ? cutWindow(yield* readEdges(), query.window, "months").snapped : null;
  const window = within(query.window, whole);
  const asked = { ...query, window, nowUs: context.nowUs };
  refuseTooManyBuckets(asked);
  const filter = yield* resolveFilter(query);
  const series = yield* readSeriesOf(asked, filter);
  const cut = yield* cutFiltered({ window: series.snapped ?? window, into: "months" }, filter);
  const sources = yield* toMeasureSources(cut, filter);
  const read = function* parts() {
    return encodeErrors(series, yield* readErrorsParts(sources, sumsMax), context);
  };
  const readFolded = function* folded() {
    const parts = yield* readFoldedErrorsParts(sources, sumsMax);
    return { ...encodeErrors(series, parts, context), truncated: true };
  };
  const report = yield* orFolded(read, readFolded);
  return {
    chunks: report.chunks,
    truncated: report.truncated || series.truncated,
    snapped: series.snapped ?? whole,
  };
}

/** An end that was not given stays open: the series then begins with what matches, and ends with the present. */
function within(window: Window, whole: ReportNotes["snapped"]): Window {
  if (whole === null) return window;
  return {
    sinceUs: window.sinceUs === null ? null : whole.sinceUs,
    untilUs: window.untilUs === null ? null : whole.untilUs,
  };
}

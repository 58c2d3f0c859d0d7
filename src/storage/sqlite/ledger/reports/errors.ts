import type { Database } from "bun:sqlite";
import type { ErrorsPart } from "#stats/errors.ts";
import { encodeErrors } from "#stats/errors.ts";
import type { Window } from "#stats/filter.ts";
import type { EncodedReport, ReportNotes, StatsStore } from "#stats/store.ts";
import type { MeasureSource } from "./measure-sources.ts";
import { toMeasureSources } from "./measure-sources.ts";
import { readTransaction } from "./read-transaction.ts";
import { findSubjects, getSubject } from "./report-subjects.ts";
import { createSumReader, SUMS_MAX } from "./report-sums.ts";
import { resolveFilter } from "./request-filter.ts";
import { readSeries } from "./series.ts";
import { cutLedger } from "./ledger-edges.ts";

type ErrorsQuery = Parameters<StatsStore["readErrors"]>[0];

/**
 * The series and the breakdown of `StatsStore.readErrors`, of one and the same window: where retention makes it snap, both
 * count whole days, or whole hours from the first one on of which the series can tell. Throws
 * `range_too_large` before it reads more rows or sums than a limit allows.
 */
export function readErrors(database: Database, query: ErrorsQuery, sumsMax = SUMS_MAX): EncodedReport {
  const { context } = query;
  return readTransaction(database, () => {
    const whole = cutLedger(database, query.window, "months").snapped;
    const window = within(query.window, whole);
    const series = readSeries(database, { ...query, window, nowUs: context.nowUs });
    const filter = resolveFilter(database, query);
    const cut = cutLedger(database, series.snapped ?? window, "months");
    const { read } = createSumReader<SumRow>(database, sumsMax);
    const sources = toMeasureSources(database, cut, filter);
    const sums = sources.flatMap((source) => read(toSums(source), source.bindings));
    const report = encodeErrors(series, toParts(database, sums), context);
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

interface SumRow {
  readonly combination: number;
  readonly result: number;
  readonly requests: number;
  readonly duration_us: number;
  readonly last_seen_us: number;
  readonly under_1s: number;
  readonly under_5s: number;
  readonly under_15s: number;
  readonly under_30s: number;
  readonly under_60s: number;
  readonly under_120s: number;
  readonly over_120s: number;
}

function toSums({ sql }: MeasureSource): string {
  return `SELECT combination, result, sum(requests) AS requests, sum(duration_us) AS duration_us,
      max(last_seen_us) AS last_seen_us, sum(band_under_1s) AS under_1s, sum(band_under_5s) AS under_5s,
      sum(band_under_15s) AS under_15s, sum(band_under_30s) AS under_30s, sum(band_under_60s) AS under_60s,
      sum(band_under_120s) AS under_120s, sum(band_over_120s) AS over_120s
    FROM (${sql}) GROUP BY combination, result`;
}

interface ResultRow {
  readonly id: number;
  readonly outcome: string;
  readonly error_kind: string | null;
  readonly status_code: number;
}

function toParts(database: Database, sums: readonly SumRow[]): readonly ErrorsPart[] {
  const subjects = findSubjects(
    database,
    sums.map(({ combination }) => combination),
  );
  const rows = database.query<ResultRow, []>("SELECT id, outcome, error_kind, status_code FROM result").all();
  const results = new Map(rows.map((row) => [row.id, row]));
  return sums.map((sum) => {
    const subject = getSubject(subjects, sum.combination);
    const result = results.get(sum.result);
    if (result === undefined) throw new Error("a result is missing");
    return {
      subject,
      outcome: result.outcome,
      errorKind: result.error_kind,
      statusCode: result.status_code,
      requests: sum.requests,
      durationUs: sum.duration_us,
      lastSeenUs: sum.last_seen_us,
      bands: [
        sum.under_1s,
        sum.under_5s,
        sum.under_15s,
        sum.under_30s,
        sum.under_60s,
        sum.under_120s,
        sum.over_120s,
      ],
    };
  });
}

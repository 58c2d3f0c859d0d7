import type { Catalog } from "#catalog/catalog.ts";
import type { Clock } from "#kernel/clock.ts";
import type { StatsQuery, StatsStore, SummaryGrouping } from "#stats/store.ts";
import { negotiateFormat } from "./accept.ts";
import {
  type Asking,
  parseSeriesBucket,
  queryOf,
  toEncodedResponse,
  toJsonHeaders,
  toJsonReport,
  toReportContext,
  toReportHeaders,
  toReportOptions,
} from "./report.ts";
import { parseSeriesGrouping, type GroupField } from "#stats/series-grouping.ts";
import { toSeriesView } from "#stats/series.ts";

export interface UsageReportDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly stats: Pick<StatsStore, "readSeries" | "readGroupedSeries" | "readSummary">;
}

/** The two reports that a caller, the team and an admin each have of what they may see (specification, section 2.10). */
export interface UsageReports {
  /** `UsageSeries`. Throws `invalid_bucket` and `range_too_large`. */
  series(asking: Asking, asked: StatsQuery): Promise<Response>;
  /** `GroupedUsageSeries`: the series, with its groups when the request asks for some of `fields`. Throws `invalid_request` for any other. */
  groupedSeries(asking: Asking, asked: StatsQuery, fields: readonly GroupField[]): Promise<Response>;
  /** `{usage: [UsageSummaryRow]}`, or the same rows as CSV. */
  summary(
    asking: Asking,
    asked: StatsQuery,
    kind: { readonly grouping: SummaryGrouping; readonly filename: string },
  ): Promise<Response>;
}

export function createUsageReports({ catalog, clock, stats }: UsageReportDeps): UsageReports {
  const series: UsageReports["series"] = async (asking, asked) => {
    const nowUs = clock.nowUs();
    const bucket = parseSeriesBucket(queryOf(asking.request), asked.window, nowUs);
    const found = await stats.readSeries({ ...asked, bucket, nowUs }, toReportOptions(asking));
    return toJsonReport(toSeriesView(found), found);
  };
  return {
    series,
    async groupedSeries(asking, asked, fields) {
      const query = queryOf(asking.request);
      const grouping = parseSeriesGrouping(query, fields);
      if (grouping === null) return await series(asking, asked);
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const bucket = parseSeriesBucket(query, asked.window, context.nowUs);
      const report = await stats.readGroupedSeries(
        { ...asked, bucket, grouping, context },
        toReportOptions(asking),
      );
      return toEncodedResponse(report, toJsonHeaders(report));
    },
    async summary(asking, asked, { grouping, filename }) {
      const format = negotiateFormat(asking.request.headers);
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const report = await stats.readSummary(
        { ...asked, grouping, format, context },
        toReportOptions(asking),
      );
      return toEncodedResponse(report, toReportHeaders({ notes: report, format, filename }));
    },
  };
}

import type { Catalog } from "#catalog/catalog.ts";
import type { Clock } from "#kernel/clock.ts";
import type { StatsQuery, StatsStore, SummaryGrouping } from "#stats/store.ts";
import { negotiateFormat } from "./accept.ts";
import {
  parseSeriesBucket,
  queryOf,
  toEncodedResponse,
  toJsonHeaders,
  toJsonReport,
  toReportContext,
  toReportHeaders,
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
  series(request: Request, asked: StatsQuery): Promise<Response>;
  /** `GroupedUsageSeries`: the series, with its groups when the request asks for some of `fields`. Throws `invalid_request` for any other. */
  groupedSeries(request: Request, asked: StatsQuery, fields: readonly GroupField[]): Promise<Response>;
  /** `{usage: [UsageSummaryRow]}`, or the same rows as CSV. */
  summary(
    request: Request,
    asked: StatsQuery,
    kind: { readonly grouping: SummaryGrouping; readonly filename: string },
  ): Promise<Response>;
}

export function createUsageReports({ catalog, clock, stats }: UsageReportDeps): UsageReports {
  const series: UsageReports["series"] = async (request, asked) => {
    const nowUs = clock.nowUs();
    const bucket = parseSeriesBucket(queryOf(request), asked.window, nowUs);
    const found = await stats.readSeries({ ...asked, bucket, nowUs }, { signal: request.signal });
    return toJsonReport(toSeriesView(found), found);
  };
  return {
    series,
    async groupedSeries(request, asked, fields) {
      const query = queryOf(request);
      const grouping = parseSeriesGrouping(query, fields);
      if (grouping === null) return await series(request, asked);
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const bucket = parseSeriesBucket(query, asked.window, context.nowUs);
      const report = await stats.readGroupedSeries(
        { ...asked, bucket, grouping, context },
        { signal: request.signal },
      );
      return toEncodedResponse(report, toJsonHeaders(report));
    },
    async summary(request, asked, { grouping, filename }) {
      const format = negotiateFormat(request.headers);
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const report = await stats.readSummary(
        { ...asked, grouping, format, context },
        { signal: request.signal },
      );
      return toEncodedResponse(report, toReportHeaders({ notes: report, format, filename }));
    },
  };
}

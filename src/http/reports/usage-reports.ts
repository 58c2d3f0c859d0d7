import type { Catalog } from "#catalog/catalog.ts";
import type { Clock } from "#kernel/clock.ts";
import type { StatsQuery, StatsStore, SummaryGrouping } from "#stats/store.ts";
import { negotiateFormat } from "./accept.ts";
import {
  parseSeriesBucket,
  queryOf,
  toEncodedResponse,
  toJsonReport,
  toReportContext,
  toReportHeaders,
} from "./report.ts";
import { toSeriesView } from "#views/reports.ts";

export interface UsageReportDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly stats: Pick<StatsStore, "readSeries" | "readSummary">;
}

/** The two reports that a caller, the team and an admin each have of what they may see (specification, section 2.10). */
export interface UsageReports {
  /** `UsageSeries`. Throws `invalid_bucket` and `range_too_large`. */
  series(request: Request, asked: StatsQuery): Promise<Response>;
  /** `{usage: [UsageSummaryRow]}`, or the same rows as CSV. */
  summary(
    request: Request,
    asked: StatsQuery,
    kind: { readonly grouping: SummaryGrouping; readonly filename: string },
  ): Promise<Response>;
}

export function createUsageReports({ catalog, clock, stats }: UsageReportDeps): UsageReports {
  return {
    async series(request, asked) {
      const nowUs = clock.nowUs();
      const bucket = parseSeriesBucket(queryOf(request), asked.window, nowUs);
      const series = await stats.readSeries({ ...asked, bucket, nowUs }, { signal: request.signal });
      return toJsonReport(toSeriesView(series), series);
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

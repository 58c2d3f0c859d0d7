import type { Catalog } from "#catalog/catalog.ts";
import { type Clock, DAY_US, type InstantUs } from "#kernel/clock.ts";
import type { StatsQuery, StatsStore, SummaryGrouping } from "#stats/store.ts";
import { negotiateFormat } from "#http/door/negotiation.ts";
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
  toReportTransfer,
} from "./report.ts";
import type { IdentityStore } from "#identity/store.ts";
import { type BreakdownField, parseBreakdown } from "#stats/breakdown-query.ts";
import { formatGroupBy, parseSeriesGrouping, type GroupField } from "#stats/series-grouping.ts";
import { parseWindow } from "#stats/bucket.ts";
import type { Window } from "#stats/filter.ts";
import { toBreakdownCsv, toBreakdownView, toCostChangeView } from "#views/reports.ts";

export interface UsageReportDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly identity: Pick<IdentityStore, "keys">;
  readonly stats: Pick<StatsStore, "readGroupedSeries" | "readSummary" | "readBreakdown" | "readCostWindows">;
}

/** The reports that a caller, the team and an admin each have of what they may see (specification, section 2.10). */
export interface UsageReports {
  /**
   * `UsageSeries`, or `GroupedUsageSeries` when the request asks for groups of one of `fields`. Throws `invalid_bucket`,
   * `range_too_large`, and `invalid_request` for groups of any other.
   */
  series(asking: Asking, asked: StatsQuery, fields?: readonly GroupField[]): Promise<Response>;
  /** `Breakdown`, or its rows as CSV. Throws `invalid_request` where it is not by one of `fields`, nor by a tag. */
  breakdown(asking: Asking, asked: StatsQuery, fields: readonly BreakdownField[]): Promise<Response>;
  /** `CostChange`: the window, the last seven days without a `since`, against the one before or the one that is asked for. */
  costChange(asking: Asking, asked: StatsQuery): Promise<Response>;
  /** `{usage: [UsageSummaryRow]}`, or the same rows as CSV. */
  summary(
    asking: Asking,
    asked: StatsQuery,
    kind: { readonly grouping: SummaryGrouping; readonly filename: string },
  ): Promise<Response>;
}

export function createUsageReports({ catalog, clock, identity, stats }: UsageReportDeps): UsageReports {
  return {
    async series(asking, asked, fields) {
      const query = queryOf(asking.request);
      const grouping = fields === undefined ? null : parseSeriesGrouping(query, fields);
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const bucket = parseSeriesBucket(query, asked.window, context.nowUs);
      const report = await stats.readGroupedSeries(
        { ...asked, ...toReportTransfer(asking.request), bucket, grouping, context },
        toReportOptions(asking),
      );
      return toEncodedResponse(report, toJsonHeaders(report));
    },
    async breakdown(asking, asked, fields) {
      const breakdown = parseBreakdown(queryOf(asking.request), fields);
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const found = await stats.readBreakdown({ ...asked, ...breakdown, context }, toReportOptions(asking));
      const { by, sort } = breakdown;
      const isByKey = by.field === "key";
      const keyNames = isByKey
        ? await identity.keys.findNames(found.rows.flatMap(({ value }) => value ?? []))
        : null;
      const view = toBreakdownView(found, { by: formatGroupBy(by), sort, keyNames });
      if (negotiateFormat(asking.request.headers) === "csv") {
        const body = toBreakdownCsv(found, { by: formatGroupBy(by), keyNames });
        return new Response(body, {
          headers: toReportHeaders({ notes: found, format: "csv", filename: "breakdown.csv" }),
        });
      }
      // The answer itself says what it leaves out.
      return toJsonReport(view, { snapped: found.snapped, truncated: false });
    },
    async costChange(asking, asked) {
      const windows = toWindows(queryOf(asking.request), asked.window, clock.nowUs());
      const found = await stats.readCostWindows({ ...asked, ...windows }, toReportOptions(asking));
      // The answer itself says which time it counts.
      return toJsonReport(toCostChangeView(found, clock.nowUs()), {
        snapped: found.snapped,
        truncated: false,
      });
    },
    async summary(asking, asked, { grouping, filename }) {
      const format = negotiateFormat(asking.request.headers);
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const report = await stats.readSummary(
        { ...asked, ...toReportTransfer(asking.request), grouping, format, context },
        toReportOptions(asking),
      );
      return toEncodedResponse(report, toReportHeaders({ notes: report, format, filename }));
    },
  };
}

const SINCE_DEFAULT_US = 7 * DAY_US;

/** A window without its start is seven days long, and one that is compared with no other with as much time right before it. */
function toWindows(
  query: URLSearchParams,
  { sinceUs, untilUs }: Window,
  nowUs: InstantUs,
): { readonly window: Window; readonly before: Window } {
  const endUs = untilUs ?? nowUs;
  const startUs = sinceUs ?? endUs - SINCE_DEFAULT_US;
  const asked = parseWindow(query, "before_");
  const before = {
    sinceUs: asked.sinceUs ?? (asked.untilUs ?? startUs) - Math.max(0, endUs - startUs),
    untilUs: asked.untilUs ?? startUs,
  };
  return { window: { sinceUs: startUs, untilUs }, before };
}

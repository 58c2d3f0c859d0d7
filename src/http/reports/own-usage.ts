import { OWN_BREAKDOWN_FIELDS } from "#stats/breakdown-query.ts";
import { OWN_GROUP_FIELDS } from "#stats/series-grouping.ts";
import { route } from "#http/door/route.ts";
import { MODEL, UNITS } from "#http/schemas/examples.ts";
import { SERIES_QUERY, WINDOW_QUERY, breakdown, groupedSeries, tableAnswer } from "./declared.ts";
import { parseOwnQuery, queryOf } from "./report.ts";
import { OwnUsage } from "#http/schemas/reports.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

const CALLER = { tag: "Self-service", access: "caller" } as const;

/** The usage of the caller itself, never of another principal that once had its name (specification, section 4.3). */
export function myUsageRoutes(deps: UsageReportDeps) {
  const reports = createUsageReports(deps);
  return [
    route({
      method: "GET",
      path: "/my/usage",
      ...CALLER,
      scope: "inference",
      summary: "One's own usage by model and endpoint",
      query: WINDOW_QUERY,
      answer: tableAnswer(OwnUsage, {
        usage: [
          {
            model: MODEL.alias,
            endpoint: "chat",
            requests: 12,
            cancelled: 1,
            cost: 0.0048,
            units: UNITS,
          },
        ],
      }),
      errors: ["invalid_date", "reports_busy"],
      run: ({ request, caller }) =>
        reports.summary({ request, caller }, parseOwnQuery(queryOf(request), caller.principal.id), {
          grouping: "own",
          filename: "my-usage.csv",
        }),
    }),
    route({
      method: "GET",
      path: "/my/usage/breakdown",
      ...CALLER,
      scope: "inference",
      summary: "One's own usage by one dimension",
      ...breakdown(WINDOW_QUERY, OWN_BREAKDOWN_FIELDS),
      errors: ["invalid_date", "invalid_request", "reports_busy"],
      run: ({ request, caller }) =>
        reports.breakdown(
          { request, caller },
          parseOwnQuery(queryOf(request), caller.principal.id),
          OWN_BREAKDOWN_FIELDS,
        ),
    }),
    route({
      method: "GET",
      path: "/my/usage/series",
      ...CALLER,
      scope: "inference",
      summary: "One's own usage over time",
      ...groupedSeries(SERIES_QUERY, OWN_GROUP_FIELDS),
      errors: ["invalid_request", "invalid_date", "reports_busy", "invalid_bucket", "range_too_large"],
      run: ({ request, caller }) =>
        reports.groupedSeries(
          { request, caller },
          parseOwnQuery(queryOf(request), caller.principal.id),
          OWN_GROUP_FIELDS,
        ),
    }),
  ] as const;
}

import { Elysia } from "elysia";
import { OWN_GROUP_FIELDS } from "#stats/series-grouping.ts";
import type { Guard } from "#http/door/guard.ts";
import { parseOwnQuery, queryOf } from "./report.ts";
import { readyMade } from "#http/door/typed-response.ts";
import type { OwnUsage, GroupedUsageSeries } from "#http/schemas/reports.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

/** What a caller used itself, never what another did who once had its name (specification, section 4.3). */
export function myUsageRoutes(guard: Guard, deps: UsageReportDeps) {
  const reports = createUsageReports(deps);
  return new Elysia({ prefix: "/my" })
    .use(guard)
    .get(
      "/usage",
      ({ request, caller }) =>
        reports.summary(request, parseOwnQuery(queryOf(request), caller.principal.id), {
          grouping: "own",
          filename: "my-usage.csv",
        }),
      { access: "caller", response: readyMade<typeof OwnUsage>() },
    )
    .get(
      "/usage/series",
      ({ request, caller }) =>
        reports.groupedSeries(
          request,
          parseOwnQuery(queryOf(request), caller.principal.id),
          OWN_GROUP_FIELDS,
        ),
      { access: "caller", response: readyMade<typeof GroupedUsageSeries>() },
    );
}

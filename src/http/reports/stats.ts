import { Elysia } from "elysia";
import { GROUP_FIELDS } from "#stats/series-grouping.ts";
import type { StatsStore } from "#stats/store.ts";
import type { Guard } from "#http/door/guard.ts";
import {
  parseSeriesBucket,
  parseTeamQuery,
  queryOf,
  toEncodedResponse,
  toJsonHeaders,
  toJsonReport,
  toReportContext,
} from "./report.ts";
import { toFacetsView } from "#views/reports.ts";
import { readyMade } from "#http/door/typed-response.ts";
import type {
  ErrorsReport,
  Facets,
  RequestPage,
  TeamUsage,
  GroupedUsageSeries,
} from "#http/schemas/reports.ts";
import { createRequestLog, type RequestLogDeps } from "./request-log.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

export interface StatsDeps extends UsageReportDeps, RequestLogDeps {
  readonly stats: StatsStore;
}

/** What the team used, for anybody who belongs to it (specification, section 4.4; shapes from the decisions, "Reports"). */
export function statsRoutes(guard: Guard, deps: StatsDeps) {
  const { catalog, clock, identity, stats } = deps;
  const reports = createUsageReports(deps);
  const requestLog = createRequestLog(deps);

  return new Elysia({ prefix: "/stats" })
    .use(guard)
    .get(
      "/series",
      async ({ request }) =>
        reports.groupedSeries(
          request,
          parseTeamQuery(queryOf(request), await catalog.snapshot()),
          GROUP_FIELDS,
        ),
      { access: "caller", response: readyMade<typeof GroupedUsageSeries>() },
    )
    .get(
      "/summary",
      async ({ request }) =>
        reports.summary(request, parseTeamQuery(queryOf(request), await catalog.snapshot()), {
          grouping: "team",
          filename: "usage-summary.csv",
        }),
      { access: "caller", response: readyMade<typeof TeamUsage>() },
    )
    .get("/requests", ({ request }) => requestLog.answer(request), {
      access: "caller",
      response: readyMade<typeof RequestPage>(),
    })
    .get(
      "/requests/facets",
      async ({ request }) => {
        const query = queryOf(request);
        const snapshot = await catalog.snapshot();
        const asked = parseTeamQuery(query, snapshot);
        const context = toReportContext(snapshot, clock.nowUs());
        const facets = await stats.readFacets({ ...asked, context }, { signal: request.signal });
        const keyNames = await identity.findKeyNames(facets.keyIds.map(({ id }) => id));
        const includeCounts = query.get("counts") === "1";
        return toJsonReport(toFacetsView(facets, { keyNames, includeCounts }), facets);
      },
      { access: "caller", response: readyMade<typeof Facets>() },
    )
    .get(
      "/errors",
      async ({ request }) => {
        const query = queryOf(request);
        const snapshot = await catalog.snapshot();
        const asked = parseTeamQuery(query, snapshot);
        const context = toReportContext(snapshot, clock.nowUs());
        const bucket = parseSeriesBucket(query, asked.window, context.nowUs);
        const report = await stats.readErrors({ ...asked, bucket, context }, { signal: request.signal });
        return toEncodedResponse(report, toJsonHeaders(report));
      },
      { access: "caller", response: readyMade<typeof ErrorsReport>() },
    );
}

import { Elysia } from "elysia";
import type { Guard } from "#http/door/guard.ts";
import { parseTeamQuery, queryOf } from "./report.ts";
import { UsageByPrincipal } from "#http/schemas/reports.ts";
import { MODEL, UNITS } from "#http/schemas/examples.ts";
import { FILTER_ERRORS, FILTER_QUERY, REQUEST_LOG, SERIES, tableAnswer } from "./declared.ts";
import { route } from "#http/door/route.ts";
import { createRequestLog, type RequestLogDeps } from "./request-log.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

/** Reports for admins: usage by principal and over time with the filters of section 4.4, and the request log (section 4.6). */
export function adminReportRoutes(guard: Guard, deps: UsageReportDeps & RequestLogDeps) {
  const reports = createUsageReports(deps);
  const requestLog = createRequestLog(deps);
  const parse = async (request: Request) => parseTeamQuery(queryOf(request), await deps.catalog.snapshot());
  return new Elysia({ prefix: "/admin/v1", tags: ["Reports"] })
    .use(guard)
    .get(
      "/usage/summary",
      async ({ request }) =>
        await reports.summary(request, await parse(request), {
          grouping: "admin",
          filename: "usage-by-principal.csv",
        }),
      route({
        access: "admin",
        summary: "Everybody's usage by principal, model and endpoint",
        query: FILTER_QUERY,
        answer: tableAnswer(UsageByPrincipal, {
          usage: [
            {
              principal: "alice",
              model: MODEL.alias,
              endpoint: "chat",
              requests: 12,
              cancelled: 1,
              cost: 0.0048,
              units: UNITS,
            },
          ],
        }),
        errors: FILTER_ERRORS,
      }),
    )
    .get(
      "/usage/series",
      async ({ request }) => await reports.series(request, await parse(request)),
      route({ access: "admin", ...SERIES }),
    )
    .get(
      "/requests",
      ({ request }) => requestLog.answer(request),
      route({ access: "admin", ...REQUEST_LOG }),
    );
}

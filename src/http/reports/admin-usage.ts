import { Elysia } from "elysia";
import type { Guard } from "#http/door/guard.ts";
import { parseTeamQuery, queryOf } from "./report.ts";
import { readyMade } from "#http/door/typed-response.ts";
import type { UsageByPrincipal, UsageSeries } from "#http/schemas/reports.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

/** What everybody used, by principal, with the filters of section 4.4 (specification, section 4.6). */
export function usageRoutes(guard: Guard, deps: UsageReportDeps) {
  const reports = createUsageReports(deps);
  const parse = async (request: Request) => parseTeamQuery(queryOf(request), await deps.catalog.snapshot());
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .get(
      "/usage/summary",
      async ({ request }) =>
        await reports.summary(request, await parse(request), {
          grouping: "admin",
          filename: "usage-by-principal.csv",
        }),
      { access: "admin", response: readyMade<typeof UsageByPrincipal>() },
    )
    .get("/usage/series", async ({ request }) => await reports.series(request, await parse(request)), {
      access: "admin",
      response: readyMade<typeof UsageSeries>(),
    });
}

import { parseTeamQuery, queryOf, toJsonReport, toReportOptions } from "./report.ts";
import { MissingPrices, UsageByPrincipal } from "#http/schemas/reports.ts";
import { MODEL, UNITS } from "#http/schemas/examples.ts";
import { FILTER_ERRORS, FILTER_QUERY, REQUEST_LOG, SERIES, reportAnswer, tableAnswer } from "./declared.ts";
import { route } from "#http/door/route.ts";
import type { StatsStore } from "#stats/store.ts";
import { toMissingPricesView } from "#views/pricing.ts";
import { createRequestLog, type LogRefusals, type RequestLogDeps } from "./request-log.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

interface AdminReportDeps {
  readonly stats: Pick<StatsStore, "readMissingPrices">;
}

const ADMIN = { tag: "Reports", access: "admin" } as const;

/** Reports for admins: usage by principal and over time, the request log (section 4.6), and what was used without a price. */
export function adminReportRoutes(
  deps: UsageReportDeps & RequestLogDeps & AdminReportDeps,
  refusals: LogRefusals,
) {
  const reports = createUsageReports(deps);
  const requestLog = createRequestLog(deps, refusals);
  const parse = async (request: Request) => parseTeamQuery(queryOf(request), await deps.catalog.snapshot());
  return [
    route({
      method: "GET",
      path: "/admin/v1/usage/summary",
      ...ADMIN,
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
      run: async ({ request, caller }) =>
        await reports.summary({ request, caller }, await parse(request), {
          grouping: "admin",
          filename: "usage-by-principal.csv",
        }),
    }),
    route({
      method: "GET",
      path: "/admin/v1/usage/series",
      ...ADMIN,
      ...SERIES,
      run: async ({ request, caller }) => await reports.series({ request, caller }, await parse(request)),
    }),
    route({
      method: "GET",
      path: "/admin/v1/usage/missing-prices",
      ...ADMIN,
      summary: "What was used without a price, by model and unit",
      description:
        "Of requests that name a model, however they ended, as they were recorded: a price that was set since changes nothing about them.",
      query: FILTER_QUERY,
      answer: reportAnswer(MissingPrices, {
        missing: [
          {
            model: MODEL.alias,
            kind: "model",
            unit: "cached_input_tokens",
            requests: 3,
            quantity: 4096,
            last_seen: "2026-03-11T11:59:58.250000Z",
            has_price: false,
          },
        ],
      }),
      errors: FILTER_ERRORS,
      run: async ({ request, caller }) => {
        const snapshot = await deps.catalog.snapshot();
        const asked = parseTeamQuery(queryOf(request), snapshot);
        const found = await deps.stats.readMissingPrices(asked, toReportOptions({ request, caller }));
        return toJsonReport(toMissingPricesView(found, snapshot), found);
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/requests",
      ...ADMIN,
      ...REQUEST_LOG,
      run: ({ request, caller }) => requestLog.answer({ request, caller }),
    }),
  ] as const;
}

import { OWN_BREAKDOWN_FIELDS } from "#stats/breakdown-query.ts";
import { OWN_GROUP_FIELDS } from "#stats/series-grouping.ts";
import { json, route } from "#http/door/route.ts";
import { ProxyError } from "#kernel/errors.ts";
import { ID, MODEL, UNITS } from "#http/schemas/examples.ts";
import {
  REQUEST_LOG_EXAMPLE,
  SERIES_QUERY,
  WINDOW_QUERY,
  breakdown,
  costChange,
  groupedSeries,
  tableAnswer,
} from "./declared.ts";
import { parseOwnQuery, queryOf } from "./report.ts";
import { createRequestLog, type LogRefusals, type RequestLogDeps } from "./request-log.ts";
import { OwnRequest, OwnUsage } from "#http/schemas/reports.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

const CALLER = { tag: "Self-service", access: "caller" } as const;

/** The usage of the caller itself, never of another principal that once had its name (specification, section 4.3). */
export function myUsageRoutes(deps: UsageReportDeps & RequestLogDeps, refusals: LogRefusals) {
  const reports = createUsageReports(deps);
  const requestLog = createRequestLog(deps, refusals);
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
        reports.series(
          { request, caller },
          parseOwnQuery(queryOf(request), caller.principal.id),
          OWN_GROUP_FIELDS,
        ),
    }),
    route({
      method: "GET",
      path: "/my/usage/cost-change",
      ...CALLER,
      scope: "inference",
      summary: "Why one's own usage costs more or less than before",
      ...costChange(WINDOW_QUERY),
      errors: ["invalid_date", "reports_busy"],
      run: ({ request, caller }) =>
        reports.costChange({ request, caller }, parseOwnQuery(queryOf(request), caller.principal.id)),
    }),
    route({
      method: "GET",
      path: "/my/requests/:id",
      ...CALLER,
      scope: "inference",
      summary: "One's own request by its id: its cost, or why it was refused",
      description:
        "The row of the request log that `x-proxy-request-id` of an answer names, relayed ones included: found as soon as the answer has ended; where several replicas serve, on another one a second later. Of a refused request, which has no row, `refusal` alone is there, by the replica that refused it. A request of another principal is as one that does not exist.",
      params: { id: ID.request },
      answer: json(200, OwnRequest, REQUEST_LOG_EXAMPLE),
      errors: ["request_not_found", "reports_busy"],
      run: async ({ request, caller, params }) => {
        const found = await requestLog.find({ request, caller }, params.id, caller.principal.id);
        if (found.request !== null) return Response.json(found.request);
        if (found.refusal !== null) return Response.json({ refusal: found.refusal });
        throw new ProxyError(
          "request_not_found",
          "None of your requests has this id: it stands in x-proxy-request-id, and its request is found once it has ended, for as long as usage is kept; a refused one while it is among the newest refusals.",
        );
      },
    }),
  ] as const;
}

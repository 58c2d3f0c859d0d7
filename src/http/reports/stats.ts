import { BREAKDOWN_FIELDS } from "#stats/breakdown-query.ts";
import { GROUP_FIELDS } from "#stats/series-grouping.ts";
import { json, route, type QueryParam } from "#http/door/route.ts";
import { CLIENT, ID, MODEL, TAGS, UNITS } from "#http/schemas/examples.ts";
import { oneOf } from "#http/schemas/shared.ts";
import {
  FILTERED_SERIES_QUERY,
  FILTER_ERRORS,
  FILTER_QUERY,
  REQUEST_LOG,
  REQUEST_LOG_EXAMPLE,
  SERIES,
  breakdown,
  costChange,
  groupedSeries,
  reportAnswer,
  tableAnswer,
} from "./declared.ts";
import type { StatsStore } from "#stats/store.ts";
import { parseTeamQuery, queryOf, toJsonReport, toReportContext, toReportOptions } from "./report.ts";
import { REFUSALS_KEPT } from "#views/refusals.ts";
import { toFacetsView } from "#views/reports.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parseEventUuid } from "#kernel/ids.ts";
import { Facets, FoundRequest, TeamUsage } from "#http/schemas/reports.ts";
import { createRequestLog, type LogRefusals, type RequestLogDeps } from "./request-log.ts";
import { createUsageReports, type UsageReportDeps } from "./usage-reports.ts";

export interface StatsDeps extends UsageReportDeps, RequestLogDeps {
  readonly stats: StatsStore;
  /** That of this server's own requests, where it is known. */
  readonly lane?: number;
}

const USAGE_EXAMPLE = {
  principal: "alice",
  provider: MODEL.provider,
  model: MODEL.alias,
  endpoint: "chat",
  client: CLIENT,
  tags: ["app:wiki"],
  app: "wiki",
  requests: 12,
  cancelled: 1,
  cost: 0.0048,
  units: UNITS,
};
const FACETS_EXAMPLE = {
  principals: ["alice"],
  keys: [{ id: ID.aliceKey, label: "laptop", key_suffix: "MPLE", principal: "alice" }],
  providers: [MODEL.provider],
  models: [MODEL.alias],
  clients: [CLIENT],
  tags: TAGS,
  truncated: {
    principals: false,
    keys: false,
    providers: false,
    models: false,
    clients: false,
    tags: false,
  },
  counts: { principals: [12], keys: [12], providers: [12], models: [12], clients: [12], tags: [12, 7] },
};
const FACETS_QUERY: readonly QueryParam[] = [
  ...FILTER_QUERY,
  {
    name: "counts",
    schema: oneOf(["1"]),
    description: "Adds `counts`: how many requests have each value.",
    example: "1",
  },
];

const CALLER = { tag: "Statistics", access: "caller" } as const;

/** The usage of the whole team, for each of its members (specification, section 4.4; shapes from the decisions, "Reports"). */
export function statsRoutes(deps: StatsDeps, refusals: LogRefusals) {
  const { catalog, clock, identity, stats } = deps;
  // Asked so, since a local command has a stand-in for each part that it lacks.
  const lane = "lane" in deps ? deps.lane : undefined;
  const reports = createUsageReports(deps);
  const requestLog = createRequestLog(deps, refusals);

  return [
    route({
      method: "GET",
      path: "/stats/series",
      ...CALLER,
      ...SERIES,
      ...groupedSeries(FILTERED_SERIES_QUERY, GROUP_FIELDS),
      run: async ({ request, caller }) =>
        reports.series(
          { request, caller },
          parseTeamQuery(queryOf(request), await catalog.snapshot()),
          GROUP_FIELDS,
        ),
    }),
    route({
      method: "GET",
      path: "/stats/breakdown",
      ...CALLER,
      summary: "Everybody's usage by one dimension: cost, durations and how requests ended",
      ...breakdown(FILTER_QUERY, BREAKDOWN_FIELDS),
      errors: FILTER_ERRORS,
      run: async ({ request, caller }) =>
        reports.breakdown(
          { request, caller },
          parseTeamQuery(queryOf(request), await catalog.snapshot()),
          BREAKDOWN_FIELDS,
        ),
    }),
    route({
      method: "GET",
      path: "/stats/cost-change",
      ...CALLER,
      summary: "Why everybody's usage costs more or less than before",
      ...costChange(FILTER_QUERY),
      errors: FILTER_ERRORS,
      run: async ({ request, caller }) =>
        reports.costChange({ request, caller }, parseTeamQuery(queryOf(request), await catalog.snapshot())),
    }),
    route({
      method: "GET",
      path: "/stats/summary",
      ...CALLER,
      summary: "Everybody's usage by principal, provider, model, endpoint, client and tags",
      query: FILTER_QUERY,
      answer: tableAnswer(TeamUsage, { usage: [USAGE_EXAMPLE] }),
      errors: FILTER_ERRORS,
      run: async ({ request, caller }) =>
        reports.summary({ request, caller }, parseTeamQuery(queryOf(request), await catalog.snapshot()), {
          grouping: "team",
          filename: "usage-summary.csv",
        }),
    }),
    route({
      method: "GET",
      path: "/stats/requests",
      ...CALLER,
      ...REQUEST_LOG,
      run: ({ request, caller }) => requestLog.answer({ request, caller }),
    }),
    route({
      method: "GET",
      path: "/stats/requests/:id",
      ...CALLER,
      summary: "What became of a request by its id",
      description:
        "`request`: its row of the log, relayed ones included. `refusal`, for its caller and for admins: what it was refused with, by the replica that is asked. The other one is null.",
      params: { id: ID.request },
      answer: json(200, FoundRequest, { request: REQUEST_LOG_EXAMPLE, refusal: null }),
      errors: ["request_not_found", "reports_busy"],
      run: async ({ request, caller, params }) => {
        const found = await requestLog.find({ request, caller }, params.id, null);
        if (found.request === null && found.refusal === null) {
          const isAdmin = caller.principal.role === "admin";
          throw new ProxyError("request_not_found", tellUnknown(params.id, { isAdmin, lane }));
        }
        return Response.json(found);
      },
    }),
    route({
      method: "GET",
      path: "/stats/requests/facets",
      ...CALLER,
      summary: "What the filters can be set to",
      query: FACETS_QUERY,
      answer: reportAnswer(Facets, FACETS_EXAMPLE),
      errors: FILTER_ERRORS,
      run: async ({ request, caller }) => {
        const query = queryOf(request);
        const snapshot = await catalog.snapshot();
        const asked = parseTeamQuery(query, snapshot);
        const context = toReportContext(snapshot, clock.nowUs());
        const facets = await stats.readFacets({ ...asked, context }, toReportOptions({ request, caller }));
        const keyNames = await identity.keys.findNames(facets.keyIds.map(({ id }) => id));
        const includeCounts = query.get("counts") === "1";
        return toJsonReport(toFacetsView(facets, { keyNames, includeCounts }), facets);
      },
    }),
  ] as const;
}

interface Asked {
  readonly isAdmin: boolean;
  readonly lane: number | undefined;
}

/** Where an id may lead that leads nowhere here. */
function tellUnknown(id: string, { isAdmin, lane }: Asked): string {
  const origin = parseEventUuid(id.trim().toLowerCase());
  if (origin === null)
    return "This is no id of a request: it stands in x-proxy-request-id and in error messages.";
  const inLog =
    "No request of the log has this id: a request is there once it has ended, for as long as usage is kept.";
  if (!isAdmin) return `${inLog} A refused request is shown to its caller and to admins.`;
  const elsewhere =
    lane === undefined || lane === origin.lane
      ? ""
      : ` Replica ${origin.lane} took this one, and has its own.`;
  return `${inLog} Nor is it among the newest ${REFUSALS_KEPT} refusals that are kept.${elsewhere}`;
}

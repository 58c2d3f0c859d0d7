import type { Catalog } from "#catalog/catalog.ts";
import { route } from "#http/door/route.ts";
import { ClientChanges, CLIENT_CHANGES_TEXT, ErrorsReport, RetryStorms } from "#http/schemas/errors.ts";
import { CLIENT, ID, MODEL } from "#http/schemas/examples.ts";
import type { Caller } from "#identity/caller.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { RETRY_STORM_RULE } from "#stats/retry-storms.ts";
import type { StatsQuery, StatsStore } from "#stats/store.ts";
import { toClientChangesView, toRetryStormsView } from "#views/errors.ts";
import {
  FILTER_ERRORS,
  FILTER_QUERY,
  FILTERED_SERIES_QUERY,
  reportAnswer,
  SERIES_ERRORS,
} from "./declared.ts";
import {
  parseSeriesBucket,
  parseTeamQuery,
  queryOf,
  toEncodedResponse,
  toJsonHeaders,
  toJsonReport,
  toReportContext,
  toReportOptions,
  toReportTransfer,
} from "./report.ts";

interface ErrorReportDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly identity: Pick<IdentityStore, "keys">;
  readonly stats: Pick<StatsStore, "readErrors" | "readClientChanges" | "readRetryStorms">;
}

const ERRORS_EXAMPLE = {
  bucket: "day",
  series: [{ start: "2026-03-11T00:00:00.000000Z", ok: 12, upstream_error: 1, unreachable: 0, cancelled: 1 }],
  breakdown: [
    {
      provider: MODEL.provider,
      model: MODEL.alias,
      endpoint: "chat",
      client: CLIENT,
      tags: [],
      outcome: "upstream_error",
      error_kind: "rate_limit_error",
      status_code: 429,
      requests: 1,
      avg_duration_ms: 120.5,
      last_seen: "2026-03-11T11:59:58.250000Z",
      bands: { "<1s": 1, "1-5s": 0, "5-15s": 0, "15-30s": 0, "30-60s": 0, "60-120s": 0, ">=120s": 0 },
    },
  ],
};
const CLIENT_CHANGES_EXAMPLE = {
  since: "2026-02-11T00:00:00.000000Z",
  until: "2026-03-11T12:00:00.000000Z",
  clients: [
    {
      client: "Continue/1.3.21",
      name: "Continue",
      version: "1.3.21",
      since: "2026-03-04",
      now: { requests: 60, failed: 20, share: 0.3333 },
      before: { of: "version", requests: 400, failed: 8, share: 0.02 },
      elsewhere: { requests: 900, failed: 9, share: 0.01 },
    },
  ],
};
const RETRY_STORMS_EXAMPLE = {
  storms: [
    {
      principal: "alice",
      key_id: ID.aliceKey,
      key_label: "laptop",
      relay_token_id: null,
      model: MODEL.alias,
      client: CLIENT,
      attempts: 41,
      failed: 40,
      input_tokens: 1200,
      cost: 0.0041,
      first_at: "2026-03-11T11:58:00.250000Z",
      last_at: "2026-03-11T11:59:58.250000Z",
    },
  ],
  total: { storms: 1, attempts: 41, cost: 0.0041 },
};

const CALLER = { tag: "Statistics", access: "caller" } as const;
const { attemptsMin, pauseUs } = RETRY_STORM_RULE;

/** How requests ended, which versions of clients fail more often than before, and who retries without a pause. */
export function errorRoutes({ catalog, clock, identity, stats }: ErrorReportDeps) {
  return [
    route({
      method: "GET",
      path: "/stats/errors",
      ...CALLER,
      summary: "How requests ended",
      query: FILTERED_SERIES_QUERY,
      answer: reportAnswer(ErrorsReport, ERRORS_EXAMPLE),
      errors: SERIES_ERRORS,
      run: async ({ request, caller }) => {
        const query = queryOf(request);
        const snapshot = await catalog.snapshot();
        const asked = parseTeamQuery(query, snapshot);
        const context = toReportContext(snapshot, clock.nowUs());
        const bucket = parseSeriesBucket(query, asked.window, context.nowUs);
        const report = await stats.readErrors(
          { ...asked, ...toReportTransfer(request), bucket, context },
          toReportOptions({ request, caller }),
        );
        return toEncodedResponse(report, toJsonHeaders(report));
      },
    }),
    route({
      method: "GET",
      path: "/stats/errors/clients",
      ...CALLER,
      summary: "Versions of clients that fail more often than before, and since when",
      description: CLIENT_CHANGES_TEXT,
      query: FILTER_QUERY,
      answer: reportAnswer(ClientChanges, CLIENT_CHANGES_EXAMPLE),
      errors: FILTER_ERRORS,
      run: async ({ request, caller }) => {
        const asked = toSeen(parseTeamQuery(queryOf(request), await catalog.snapshot()), caller);
        const nowUs = clock.nowUs();
        const found = await stats.readClientChanges(
          { ...asked, nowUs },
          toReportOptions({ request, caller }),
        );
        // The answer itself says which time it counts.
        return toJsonReport(toClientChangesView(found, nowUs), { snapped: null, truncated: false });
      },
    }),
    route({
      method: "GET",
      path: "/stats/errors/retries",
      ...CALLER,
      summary: "Storms of retries: attempts after failures, without a pause",
      description: `At least ${attemptsMin} requests by one key, to one model, from one client, each of which began at most ${pauseUs / 1_000_000} seconds after the one before had failed, and none of which tell different lengths of the prompt. Where failures tell none, as most do, requests of one key right after each other count as one that is tried again. Of a window with many requests the newest hours are read, which \`x-proxy-window\` says. Of the whole team for admins, of a member its own.`,
      query: FILTER_QUERY,
      answer: reportAnswer(RetryStorms, RETRY_STORMS_EXAMPLE),
      errors: FILTER_ERRORS,
      run: async ({ request, caller }) => {
        const asked = toSeen(parseTeamQuery(queryOf(request), await catalog.snapshot()), caller);
        const found = await stats.readRetryStorms(asked, toReportOptions({ request, caller }));
        const names = await identity.keys.findNames(found.storms.flatMap(({ keyId }) => keyId ?? []));
        return toJsonReport(
          toRetryStormsView(found, (keyId) => names.get(keyId)?.label ?? null),
          found,
        );
      },
    }),
  ] as const;
}

/** A member's own: nobody else can change another person's client. */
function toSeen(asked: StatsQuery, { principal }: Caller): StatsQuery {
  return principal.role === "admin" ? asked : { ...asked, principalId: principal.id };
}

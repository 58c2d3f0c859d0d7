import { Type } from "@sinclair/typebox";
import { PAGE_QUERY, pageView, slicePage } from "#http/door/paging.ts";
import type { Refusal, Refusals } from "#http/door/refusals.ts";
import { json, type QueryParam, route } from "#http/door/route.ts";
import { PAGE } from "#http/schemas/examples.ts";
import { RecentRefusals } from "#http/schemas/reports.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { ERROR_STATUS } from "#kernel/errors.ts";
import { type Page, parsePage } from "#kernel/page.ts";
import { parseWindow } from "#stats/bucket.ts";
import { toClientVersion } from "#stats/client-changes.ts";
import { EVERY_PROVIDER, type Window } from "#stats/filter.ts";
import type { StatsQuery } from "#stats/store.ts";
import { REFUSALS_KEPT, toRefusalView } from "#views/refusals.ts";
import { REFUSAL_EXAMPLE, WINDOW_QUERY } from "./declared.ts";
import { queryOf } from "./report.ts";

/** The value that a filter of each name compares with. */
const FILTERS = {
  id: ({ id }: Refusal) => id,
  code: ({ code }: Refusal) => code,
  principal: ({ principal }: Refusal) => principal,
  model: ({ model }: Refusal) => model,
} as const;

const exact = (name: keyof typeof FILTERS, description: string): QueryParam => ({
  name,
  schema: Type.String(),
  description,
});
const REFUSALS_QUERY: readonly QueryParam[] = [
  ...PAGE_QUERY,
  ...WINDOW_QUERY,
  exact("id", "The request's id."),
  exact("code", "The code that it was refused with."),
  exact("principal", "The caller's name."),
  exact("model", "The model that was asked for."),
];

/** Requests that were refused lately: they leave no usage event, and their callers are often not known. */
export function refusalRoutes(refusals: Pick<Refusals, "newest" | "counts" | "startedAtUs">) {
  return [
    route({
      method: "GET",
      path: "/admin/v1/refusals",
      tag: "Reports",
      access: "admin",
      summary: "Requests that were refused, newest first",
      description: `Of the data plane, where they left no usage event, and wrong credentials anywhere: the newest ${REFUSALS_KEPT}, also from before a restart, and how many there were of each code since the server started. Each replica has its own.`,
      query: REFUSALS_QUERY,
      answer: json(200, RecentRefusals, {
        since: REFUSAL_EXAMPLE.at,
        counts: { model_not_found: 1 },
        refusals: [REFUSAL_EXAMPLE],
        ...PAGE,
      }),
      errors: ["invalid_date"],
      run: ({ request }) => {
        const query = queryOf(request);
        const page = parsePage({ limit: query.get("limit"), offset: query.get("offset") });
        const found = filterRefusals(refusals.newest(), query);
        return {
          since: formatInstant(refusals.startedAtUs),
          counts: Object.fromEntries(refusals.counts()),
          refusals: slicePage(found, page).map(toRefusalView),
          ...pageView(page, found.length),
        };
      },
    }),
  ] as const;
}

/** Refusals that stand among the rows of the request log, for the reader of it. */
export interface LoggedRefusals {
  /** Null: every principal's, and those of callers that are not known. */
  readonly principalId: string | null;
  readonly asked: StatsQuery;
}

/** Those that a question to the log matches, newest first; none where it filters by what a refusal does not have. */
export function findLogged(
  refusals: readonly Refusal[],
  { principalId, asked: { window, filter, providers } }: LoggedRefusals,
): readonly Refusal[] {
  const { principals, models, clientPrefixes, clientVersions, statuses } = filter;
  const { keyIds, errorKinds, tiers, rows, tags } = filter;
  if (providers !== EVERY_PROVIDER || tags.length > 0) return [];
  if ([keyIds, errorKinds, tiers, rows].some((chosen) => chosen !== null)) return [];
  return refusals.filter(
    (refusal) =>
      (principalId === null || refusal.principalId === principalId) &&
      isWithin(refusal, window) &&
      isAmong(refusal.principal, principals) &&
      isAmong(refusal.model, models) &&
      (clientPrefixes === null ||
        clientPrefixes.some((prefix) => refusal.client?.startsWith(prefix) === true)) &&
      isAmong(toClientVersion(refusal.client), clientVersions) &&
      (statuses === null ||
        statuses.some(
          ({ from, to }) => from <= ERROR_STATUS[refusal.code] && ERROR_STATUS[refusal.code] < to,
        )),
  );
}

function isAmong(value: string | null, chosen: readonly string[] | null): boolean {
  return chosen === null || (value !== null && chosen.includes(value));
}

function isWithin({ arrivedAtUs }: Refusal, { sinceUs, untilUs }: Window): boolean {
  return (sinceUs === null || arrivedAtUs >= sinceUs) && (untilUs === null || arrivedAtUs < untilUs);
}

interface LogPage {
  readonly page: Page;
  readonly order: "newest" | "oldest";
  /** The arrivals of the rows of the page, and of the one behind it. */
  readonly arrivals: readonly InstantUs[];
}

/**
 * Those that stand on a page of the log: they arrived at or behind its first row, and before the first row of the next page, so
 * that each stands on one page. `limit` at most.
 */
export function sliceLogged(
  refusals: readonly Refusal[],
  { page, order, arrivals }: LogPage,
): readonly Refusal[] {
  const inOrder = order === "newest" ? refusals : refusals.toReversed();
  const isBefore = (one: InstantUs, other: InstantUs) => (order === "newest" ? one > other : one < other);
  const first = page.offset === 0 ? null : arrivals[0];
  const next = arrivals[page.limit];
  if (first === undefined) return [];
  return inOrder
    .filter(
      ({ arrivedAtUs }) =>
        (first === null || !isBefore(arrivedAtUs, first)) &&
        (next === undefined || isBefore(arrivedAtUs, next)),
    )
    .slice(0, page.limit);
}

/** Empty parameters filter nothing. Throws `invalid_date`. */
function filterRefusals(refusals: readonly Refusal[], query: URLSearchParams): readonly Refusal[] {
  const window = parseWindow(query);
  const wanted = Object.entries(FILTERS).flatMap(([name, read]) => {
    const value = query.get(name) ?? "";
    return value === "" ? [] : [{ read, value }];
  });
  return refusals.filter(
    (refusal) => isWithin(refusal, window) && wanted.every(({ read, value }) => read(refusal) === value),
  );
}

import { Type } from "@sinclair/typebox";
import { PAGE_QUERY, pageView, slicePage } from "#http/door/paging.ts";
import type { Refusal, Refusals } from "#http/door/refusals.ts";
import { json, type QueryParam, route } from "#http/door/route.ts";
import { PAGE } from "#http/schemas/examples.ts";
import { RecentRefusals } from "#http/schemas/reports.ts";
import { formatInstant } from "#kernel/clock.ts";
import { parsePage } from "#kernel/page.ts";
import { parseWindow } from "#stats/bucket.ts";
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

/** Empty parameters filter nothing. Throws `invalid_date`. */
function filterRefusals(refusals: readonly Refusal[], query: URLSearchParams): readonly Refusal[] {
  const { sinceUs, untilUs } = parseWindow(query);
  const wanted = Object.entries(FILTERS).flatMap(([name, read]) => {
    const value = query.get(name) ?? "";
    return value === "" ? [] : [{ read, value }];
  });
  return refusals.filter(
    (refusal) =>
      (sinceUs === null || refusal.arrivedAtUs >= sinceUs) &&
      (untilUs === null || refusal.arrivedAtUs < untilUs) &&
      wanted.every(({ read, value }) => read(refusal) === value),
  );
}

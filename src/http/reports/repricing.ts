import type { Catalog } from "#catalog/catalog.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { parsePricing } from "#catalog/price-plan.ts";
import { parsePriceVariants } from "#catalog/variant-list.ts";
import type { Static } from "@sinclair/typebox";
import { toActor } from "#http/door/guard.ts";
import { PAGE_QUERY, pageView } from "#http/door/paging.ts";
import { json, route } from "#http/door/route.ts";
import { ID, INSTANT, MODEL, PAGE } from "#http/schemas/examples.ts";
import { Repricing, RepricingRequest, RepricingRow } from "#http/schemas/repricing.ts";
import { NoAdminRequest } from "#http/schemas/requests.ts";
import { pageOf } from "#http/schemas/shared.ts";
import type { Clock } from "#kernel/clock.ts";
import { parsePage } from "#kernel/page.ts";
import { byUnit, UNITS } from "#kernel/units.ts";
import { type RepricingTerms, toHistoryPrices } from "#stats/repricing.ts";
import type { Repricings } from "#stats/repricings.ts";
import type { StatsQuery } from "#stats/store.ts";
import { toRepricingRow, toRepricingView } from "#views/repricing.ts";
import { FILTER_ERRORS } from "./declared.ts";
import { parseTeamQuery, toBodyQuery } from "./report.ts";

export interface RepricingRoutesDeps {
  readonly catalog: Pick<Catalog, "snapshot" | "readPriceSpans">;
  readonly clock: Pick<Clock, "nowUs">;
  readonly repricings: Repricings;
}

const ROW = {
  id: ID.repricing,
  state: "planned",
  dry_run: true,
  created_at: INSTANT,
  changed_at: null,
  since: "2026-03-01T00:00:00.000000Z",
  until: null,
  models: [MODEL.alias],
  unpriced_only: false,
  progress: { done: 12, total: 12 },
  total: {
    requests: 12,
    cost_before: 0.003,
    cost_after: 0.0015,
    difference: -0.0015,
    unpriced_before: 0,
    unpriced_after: 0,
  },
} as const;
const VIEW = {
  ...ROW,
  changes: [
    {
      model: MODEL.alias,
      unit: "input_tokens",
      quantity: 1200,
      requests: 12,
      cost_before: 0.003,
      cost_after: 0.0015,
      unpriced_before: 0,
      unpriced_after: 0,
    },
  ],
} as const;
const BEGUN = { ...VIEW, total: null, progress: { done: 0, total: 0 }, changes: [] } as const;
const PARAMS = { id: ID.repricing };
const ADMIN = { tag: "Reports", access: "admin" } as const;
const CHANGE_ERRORS = ["repricing_not_found", "repricing_running", "repricing_outdated"] as const;

/** Prices that were learned late, for requests that are recorded (specification of money, section 3). */
export function repricingRoutes({ catalog, clock, repricings }: RepricingRoutesDeps) {
  return [
    route({
      method: "POST",
      path: "/admin/v1/repricing",
      ...ADMIN,
      summary: "Price recorded requests again",
      description:
        "A plan of what would change, which is applied by itself unless `dry_run` is true: `GET` by its id tells how far it is. Quantities never change, and neither do requests that end later. One is under way at a time.",
      body: RepricingRequest,
      example: {
        since: "2026-03-01",
        prices: { [MODEL.alias]: { pricing: { input_tokens: 1.25 } } },
        dry_run: true,
      },
      answer: json(202, Repricing, BEGUN),
      errors: [
        ...FILTER_ERRORS.filter((code) => code !== "reports_busy"),
        "invalid_pricing",
        "invalid_price_variants",
        "repricing_running",
      ],
      run: async ({ body, caller }) => {
        const { prices, unpriced_only: isUnpricedOnly = false, dry_run: isDryRun } = body;
        const snapshot = await catalog.snapshot();
        const query = parseTeamQuery(toBodyQuery(body), snapshot);
        const priced =
          prices === "history"
            ? await readHistory({ catalog, clock }, query, snapshot)
            : { prices: parsePrices(prices) };
        return toRepricingView(
          await repricings.create({ query, ...priced, isUnpricedOnly, isDryRun, actor: toActor(caller) }),
        );
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/repricing",
      ...ADMIN,
      summary: "Re-pricings, newest first",
      query: PAGE_QUERY,
      answer: json(200, pageOf("repricings", RepricingRow), { repricings: [ROW], ...PAGE }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const { rows, total } = await repricings.list(page);
        return { repricings: rows.map(toRepricingRow), ...pageView(page, total) };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/repricing/:id",
      ...ADMIN,
      summary: "One re-pricing: how far it is, and what it changes",
      params: PARAMS,
      answer: json(200, Repricing, VIEW),
      errors: ["repricing_not_found"],
      run: async ({ params }) => toRepricingView(await repricings.get(params.id)),
    }),
    route({
      method: "POST",
      path: "/admin/v1/repricing/:id/apply",
      ...ADMIN,
      summary: "Apply a plan",
      description:
        "Step by step, some thousand requests of a day with their totals in one transaction: reports are right at every moment, and say `x-proxy-repricing` meanwhile. Refused where another re-pricing has changed requests of the same time since the plan was made.",
      params: PARAMS,
      body: NoAdminRequest,
      example: {},
      isBodyOptional: true,
      answer: json(202, Repricing, { ...VIEW, state: "running", progress: { done: 0, total: 12 } }),
      errors: CHANGE_ERRORS,
      run: async ({ params, caller }) => toRepricingView(await repricings.apply(params.id, toActor(caller))),
    }),
    route({
      method: "POST",
      path: "/admin/v1/repricing/:id/revert",
      ...ADMIN,
      summary: "Take a re-pricing back",
      description:
        "Costs, prices and what was unpriced are as they were before, as far as rows are kept. Those that were applied later to the same time are taken back first.",
      params: PARAMS,
      body: NoAdminRequest,
      example: {},
      isBodyOptional: true,
      answer: json(202, Repricing, { ...VIEW, state: "reverting" }),
      errors: CHANGE_ERRORS,
      run: async ({ params, caller }) => toRepricingView(await repricings.revert(params.id, toActor(caller))),
    }),
  ] as const;
}

/** Throws `invalid_pricing` and `invalid_price_variants`. */
function parsePrices(
  prices: Exclude<Static<typeof RepricingRequest>["prices"], "history">,
): RepricingTerms["prices"] {
  return Object.entries(prices).map(([model, { pricing, price_variants: variants }]) => {
    const written = parsePricing(pricing, `prices.${model}.pricing`);
    const parsed = {
      prices: byUnit(UNITS, (unit) => written.get(unit)),
      variants: parsePriceVariants(variants ?? null, `prices.${model}.price_variants`),
    };
    // One span that always held: those of a history begin at its moments.
    return [model, [{ fromUs: Number.MIN_SAFE_INTEGER, prices: parsed }]] as const;
  });
}

/** The history as of now, which a plan keeps: it is applied with the figures that it was made with. Throws `range_too_large`. */
async function readHistory(
  { catalog, clock }: Pick<RepricingRoutesDeps, "catalog" | "clock">,
  { window, filter }: StatsQuery,
  { models }: CatalogSnapshot,
): Promise<Pick<RepricingTerms, "prices" | "history" | "plannedAtUs">> {
  // Before it is read: what ends meanwhile may have had prices that it does not tell.
  const plannedAtUs = clock.nowUs();
  const prices = toHistoryPrices(await catalog.readPriceSpans(filter.models), window.sinceUs);
  const named = new Set(prices.map(([name]) => name));
  const aliases = models.map(({ model }) => model.alias).filter((alias) => named.has(alias));
  return { prices, history: { models: aliases }, plannedAtUs };
}

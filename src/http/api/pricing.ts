import { json, route } from "#http/door/route.ts";
import { Type } from "@sinclair/typebox";
import { PAGE_QUERY, pageView, slicePage } from "#http/door/paging.ts";
import { Deleted, oneOf, pageOf } from "#http/schemas/shared.ts";
import { parsePage } from "#kernel/page.ts";
import { HeldPrice, ListPricing, PricesToCome, PricingList, PricingLoad } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL, PAGE, PRICING } from "#http/schemas/examples.ts";
import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import { listPricedNames } from "#catalog/price-sheet.ts";
import { findLeftOut, listPricesToCome } from "#catalog/price-schedule.ts";
import { countRepriceable, listBackdated, type RepriceableDeps } from "#http/api/repriceable.ts";
import { toActor } from "#http/door/guard.ts";
import {
  toFeedLoadView,
  toHeldPriceView,
  toListPricesView,
  toPricesToComeView,
  toPricingListView,
} from "#views/pricing.ts";
import { PricingFeed } from "#http/schemas/requests.ts";

const FEED_VERSION = "2026-03";

const ADMIN = { tag: "Catalog", access: "admin" } as const;

/** The pricing feed (specification, sections 2.9 and 4.6). */
export function pricingRoutes(deps: RepriceableDeps) {
  const { catalog } = deps;
  return [
    route({
      method: "POST",
      path: "/admin/v1/pricing",
      ...ADMIN,
      summary: "Load a pricing feed",
      body: PricingFeed,
      description:
        "A line with `when` sets the price of one unit in the variant of that name that has the same conditions, or makes that variant.",
      bodyBytesMax: FEED_BODY_BYTES_MAX,
      example: {
        version: FEED_VERSION,
        entries: [{ model: MODEL.upstream_name, unit: "input_tokens", price_per_million: 2.5 }],
      },
      answer: json(200, PricingLoad, { version: FEED_VERSION, loaded_at: INSTANT, entries: 1 }),
      errors: ["invalid_date", "invalid_pricing", "invalid_price_variants", "too_many_schedules"],
      run: async ({ body, caller, request }) => {
        const view = toFeedLoadView(await catalog.loadFeed(body, toActor(caller)));
        return { ...view, ...(await countRepriceable(deps, listBackdated(body), { request, caller })) };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/pricing/list",
      ...ADMIN,
      summary: "Public list prices, of the day that it says",
      description:
        "A feed that is offered, standard prices and those under conditions: nothing of it applies until it is sent to `POST /admin/v1/pricing`.",
      answer: json(200, ListPricing, {
        version: "list prices 2026-11-20",
        source: "LiteLLM 1.110.2, model_prices_and_context_window.json",
        source_url: "https://pypi.org/project/litellm/1.110.2/",
        sources: ["https://developers.openai.com/api/docs/pricing"],
        as_of: "2026-11-20",
        entries: [
          { model: MODEL.upstream_name, unit: "input_tokens", price_per_million: 1.25 },
          {
            model: MODEL.upstream_name,
            unit: "input_tokens",
            when: { tier: "flex" },
            price_per_million: 0.625,
          },
        ],
      }),
      run: async () => {
        // Read once somebody asks: most processes never do.
        const { readListPrices } = await import("#catalog/list-prices.ts");
        return toListPricesView(readListPrices());
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/pricing/history",
      ...ADMIN,
      summary: "Prices as they held, those that began last first",
      description:
        "Every change of a price in force, whatever brought it about. `until` null: it holds. Prices of before there was a history begin with their model.",
      query: [
        {
          name: "model",
          schema: Type.String(),
          description: "Only this alias, or name that prices are kept by.",
          example: MODEL.alias,
        },
        {
          name: "superseded",
          schema: oneOf(["1"]),
          description: "Also the prices that counted until others, dated back, took their place.",
          example: "1",
        },
        ...PAGE_QUERY,
      ],
      answer: json(200, pageOf("changes", HeldPrice), {
        changes: [
          {
            model: MODEL.alias,
            unit: "input_tokens",
            when: { tier: "flex" },
            price: 1.25,
            from: INSTANT,
            until: null,
            source: "feed",
            version: FEED_VERSION,
          },
        ],
        ...PAGE,
      }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const model = query["model"] ?? "";
        const hasSuperseded = query["superseded"] === "1";
        const name = model === "" ? null : model;
        const { rows, total } = await catalog.listHeldPrices(name, page, { hasSuperseded });
        return { changes: rows.map(toHeldPriceView), ...pageView(page, total) };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/pricing/schedule",
      ...ADMIN,
      summary: "Prices to come, the next first",
      description:
        "Each takes force by itself at its moment, and is in this list no more. `pricing` and `price_variants` null leave what there is.",
      query: [
        {
          name: "model",
          schema: Type.String(),
          description: "Only those of this name, or of one that it has prices from.",
          example: MODEL.alias,
        },
        ...PAGE_QUERY,
      ],
      answer: json(200, pageOf("schedule", PricesToCome), {
        schedule: [
          {
            id: 1,
            effective_from: INSTANT,
            model: MODEL.alias,
            source: "model",
            version: null,
            pricing: PRICING,
            price_variants: null,
          },
        ],
        ...PAGE,
      }),
      run: async ({ query }) => {
        const page = parsePage(query);
        const model = query["model"] ?? "";
        const current = await catalog.snapshot();
        const found = listPricesToCome(current);
        const names = model === "" ? null : listPricedNames(current, model);
        const rows = names === null ? found : found.filter(({ name }) => names.includes(name));
        const findCount = findLeftOut(current);
        const schedule = slicePage(rows, page).map((coming) => toPricesToComeView(coming, findCount(coming)));
        return { schedule, ...pageView(page, rows.length) };
      },
    }),
    route({
      method: "DELETE",
      path: "/admin/v1/pricing/schedule/:id",
      ...ADMIN,
      summary: "Take prices to come back",
      description: "The prices that hold stay as they are, and so do all others to come.",
      params: { id: "1" },
      answer: json(200, Deleted, { deleted: "1" }),
      errors: ["schedule_not_found"],
      run: async ({ params: { id }, caller }) => {
        // An id that is no number is the id of none.
        await catalog.deleteSchedule(/^\d{1,15}$/.test(id) ? Number(id) : 0, toActor(caller));
        return { deleted: id };
      },
    }),
    route({
      method: "GET",
      path: "/admin/v1/pricing",
      ...ADMIN,
      summary: "The prices that are kept",
      answer: json(200, PricingList, {
        version: FEED_VERSION,
        loaded_at: INSTANT,
        entries: [
          {
            model: MODEL.upstream_name,
            unit: "input_tokens",
            price_per_unit: 0.0000025,
            price_per_million: 2.5,
            version: FEED_VERSION,
          },
        ],
      }),
      run: async () => toPricingListView(await catalog.snapshot()),
    }),
  ] as const;
}

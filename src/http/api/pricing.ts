import { json, route } from "#http/door/route.ts";
import { ListPricing, PricingList, PricingLoad } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL } from "#http/schemas/examples.ts";
import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { toActor } from "#http/door/guard.ts";
import { toFeedLoadView, toListPricesView, toPricingListView } from "#views/pricing.ts";
import { PricingFeed } from "#http/schemas/requests.ts";

const FEED_VERSION = "2026-03";

const ADMIN = { tag: "Catalog", access: "admin" } as const;

/** The pricing feed (specification, sections 2.9 and 4.6). */
export function pricingRoutes(catalog: Catalog) {
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
      errors: ["invalid_pricing", "invalid_price_variants"],
      run: async ({ body, caller }) => toFeedLoadView(await catalog.loadFeed(body, toActor(caller))),
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

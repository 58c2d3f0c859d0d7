import { Elysia } from "elysia";
import { json, route } from "#http/door/route.ts";
import { ListPricing, PricingList, PricingLoad } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL } from "#http/schemas/examples.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { toFeedLoadView, toListPricesView, toPricingListView } from "#views/pricing.ts";
import { PricingFeed } from "#http/schemas/requests.ts";

const FEED_VERSION = "2026-03";

/** The pricing feed (specification, sections 2.9 and 4.6). Its guard reads bodies of up to FEED_BODY_BYTES_MAX. */
export function pricingRoutes(guard: Guard, catalog: Catalog) {
  return new Elysia({ prefix: "/admin/v1", tags: ["Catalog"] })
    .use(guard)
    .post(
      "/pricing",
      async ({ body, caller }) => toFeedLoadView(await catalog.loadFeed(body, toActor(caller))),
      route({
        access: "admin",
        summary: "Load a pricing feed",
        body: PricingFeed,
        example: {
          version: FEED_VERSION,
          entries: [{ model: MODEL.upstream_name, unit: "input_tokens", price_per_million: 2.5 }],
        },
        answer: json(200, PricingLoad, { version: FEED_VERSION, loaded_at: INSTANT, entries: 1 }),
        errors: ["invalid_pricing"],
      }),
    )
    .get(
      "/pricing/list",
      async () => {
        // Read once somebody asks: most processes never do.
        const { readListPrices } = await import("#catalog/list-prices.ts");
        return toListPricesView(readListPrices());
      },
      route({
        access: "admin",
        summary: "Public list prices, of the day that it says",
        description:
          "A feed that is offered: nothing of it applies until it is sent to `POST /admin/v1/pricing`.",
        answer: json(200, ListPricing, {
          version: "list prices 2026-11-12",
          source: "LiteLLM 1.109.1, model_prices_and_context_window.json",
          source_url: "https://pypi.org/project/litellm/1.109.1/",
          as_of: "2026-11-12",
          entries: [{ model: MODEL.upstream_name, unit: "input_tokens", price_per_million: 1.25 }],
        }),
      }),
    )
    .get(
      "/pricing",
      async () => toPricingListView(await catalog.snapshot()),
      route({
        access: "admin",
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
      }),
    );
}

import { Elysia } from "elysia";
import type { Catalog } from "#catalog/catalog.ts";
import { toActor, type Guard } from "#http/door/guard.ts";
import { toFeedLoadView, toPricingListView } from "#views/pricing.ts";
import { PricingFeed } from "#http/schemas/requests.ts";

/** The pricing feed (specification, sections 2.9 and 4.6). Its guard reads bodies of up to FEED_BODY_BYTES_MAX. */
export function pricingRoutes(guard: Guard, catalog: Catalog) {
  return new Elysia({ prefix: "/admin/v1" })
    .use(guard)
    .post(
      "/pricing",
      async ({ body, caller }) => toFeedLoadView(await catalog.loadFeed(body, toActor(caller))),
      { access: "admin", body: PricingFeed },
    )
    .get("/pricing", async () => toPricingListView(await catalog.snapshot()), { access: "admin" });
}

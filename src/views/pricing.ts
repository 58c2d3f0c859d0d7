import type { FeedLoad } from "#catalog/feed-plan.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { formatInstant } from "#kernel/clock.ts";
import { toPricePerMillion, toPricePerUnit } from "#kernel/units.ts";

/** The answer to a load of a pricing feed (decisions, "Usage and prices"). */
export function toFeedLoadView({ version, loadedAtUs, entryCount }: FeedLoad) {
  return { version, loaded_at: formatInstant(loadedAtUs), entries: entryCount };
}

/** Every price that is kept, loaded or written with a model, whose `version` is null; the marks "no price" are none. */
export function toPricingListView({ feed, prices }: Pick<CatalogSnapshot, "feed" | "prices">) {
  return {
    version: feed === null ? null : feed.version,
    loaded_at: feed === null ? null : formatInstant(feed.loadedAtUs),
    entries: prices.flatMap(({ name, unit, pricePico, feedVersion }) =>
      pricePico === null
        ? []
        : {
            model: name,
            unit,
            price_per_unit: toPricePerUnit(pricePico),
            price_per_million: toPricePerMillion(pricePico),
            version: feedVersion,
          },
    ),
  };
}

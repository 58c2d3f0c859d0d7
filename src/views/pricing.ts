import type { FeedLoad } from "#catalog/feed.ts";
import type { ListPrices } from "#catalog/list-prices.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { formatInstant } from "#kernel/clock.ts";
import { toPricePerMillion, toPricePerUnit } from "#kernel/units.ts";
import { toUnpricedReason } from "#usage/cost.ts";
import type { MissingPrices } from "#stats/store.ts";

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

export function toListPricesView({ version, source, sourceUrl, asOf, entries }: ListPrices) {
  return {
    version,
    source,
    source_url: sourceUrl,
    as_of: asOf,
    entries: entries.map(({ name, unit, pricePico }) => ({
      model: name,
      unit,
      price_per_million: toPricePerMillion(pricePico),
    })),
  };
}

/** A name that usage is priced under: a model of the catalog, one that the relay passes on, or one that is in the catalog no more. */
export const PRICED_NAME_KINDS = ["model", "relay", "gone"] as const;

/** Use without a price, and whether it has one now (docs/decisions.md). */
export function toMissingPricesView(
  { rows }: Pick<MissingPrices, "rows">,
  { findModel, findPrice }: Pick<CatalogSnapshot, "findModel" | "findPrice">,
) {
  const missing = rows.map(({ model: name, isRelayed, tier, unit, requests, quantity, lastSeenUs }) => {
    const model = isRelayed ? null : findModel(name);
    const price = model === null ? findPrice(name, unit)?.pricePico : model.prices[unit];
    const kind: (typeof PRICED_NAME_KINDS)[number] = isRelayed ? "relay" : model === null ? "gone" : "model";
    return {
      model: name,
      kind,
      unit,
      requests,
      quantity,
      last_seen: formatInstant(lastSeenUs),
      ...(tier !== null && { reason: toUnpricedReason(tier) }),
      // Prices hold for the standard tier alone.
      has_price: typeof price === "number" && tier === null,
    };
  });
  return { missing };
}

import type { FeedLoad } from "#catalog/feed.ts";
import type { HeldPrice } from "#catalog/held-price.ts";
import type { ListPrices } from "#catalog/list-prices.ts";
import type { PricesToCome } from "#catalog/scheduled-prices.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { AppliedPrices, ModelPrices } from "#kernel/price-variants.ts";
import { byUnit, toPricePerMillion, toPricePerUnit, UNITS } from "#kernel/units.ts";
import { choosePrices } from "#usage/cost.ts";
import type { MissingPrices, UnpricedFacts } from "#stats/store.ts";
import type { ReportedUsage } from "#usage/event.ts";
import { toConditionsView, toPricingView, toVariantsView } from "#catalog/price-fields.ts";

/** The answer to a load of a pricing feed (decisions, "Usage and prices"). */
export function toFeedLoadView({ version, loadedAtUs, entryCount }: FeedLoad) {
  return { version, loaded_at: formatInstant(loadedAtUs), entries: entryCount };
}

/** Every price that is kept, loaded or written with a model, whose `version` is null; the marks "no price" are none. */
export function toPricingListView({
  feed,
  prices,
  variantRows,
}: Pick<CatalogSnapshot, "feed" | "prices" | "variantRows">) {
  const variants = variantRows.flatMap(({ name, variants: list, feedVersion }) =>
    toVariantsView(list).map(({ when, pricing }) => ({ model: name, when, pricing, version: feedVersion })),
  );
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
    ...(variants.length > 0 && { variants }),
  };
}

/** A price that held, per million units; `when` null is the standard price, `until` null: it holds. */
export function toHeldPriceView({
  name,
  unit,
  when,
  pricePico,
  fromUs,
  untilUs,
  source,
  version,
  supersededUs = null,
}: HeldPrice) {
  return {
    model: name,
    unit,
    when: when === null ? null : toConditionsView(when),
    price: toPricePerMillion(pricePico),
    from: formatInstant(fromUs),
    until: untilUs === null ? null : formatInstant(untilUs),
    source,
    version,
    ...(supersededUs !== null && { superseded_at: formatInstant(supersededUs) }),
  };
}

/** Prices to come; null leaves the prices, or the variants, that there are. */
export function toPricesToComeView(
  { id, atUs, name, version, prices, variants }: PricesToCome,
  leftOutCount: number,
) {
  return {
    id,
    effective_from: formatInstant(atUs),
    model: name,
    source: version === null ? ("model" as const) : ("feed" as const),
    version,
    pricing: prices && toPricingView(prices),
    price_variants: variants && toVariantsView(variants),
    ...(leftOutCount > 0 && { left_out: leftOutCount }),
  };
}

export function toListPricesView({ version, source, sourceUrl, sources, asOf, entries }: ListPrices) {
  return {
    version,
    source,
    source_url: sourceUrl,
    sources: [...sources],
    as_of: asOf,
    entries: entries.map(({ name, unit, when, pricePico }) => ({
      model: name,
      unit,
      ...(when !== undefined && { when: toConditionsView(when) }),
      price_per_million: toPricePerMillion(pricePico),
    })),
  };
}

/** A name that usage is priced under: a model of the catalog, one that the relay passes on, or one that is in the catalog no more. */
export const PRICED_NAME_KINDS = ["model", "relay", "gone"] as const;

/** The prices that such requests have, of the shortest and the longest input and of each band that begins in between. */
function listPricesOf(
  known: ModelPrices,
  { tier, geo, inputMin, inputMax }: UnpricedFacts,
  endedAtUs: InstantUs,
): readonly AppliedPrices[] {
  const bands = known.variants.map(({ when }) => (when.inputOver ?? 0) + 1);
  const inputs = [inputMin, ...bands.filter((over) => over > inputMin && over < inputMax), inputMax];
  return inputs.map((input) => {
    const usage: ReportedUsage = { shape: "exclusive", quantities: { input_tokens: input } };
    return choosePrices(known, { tier: tier ?? undefined, geo: geo ?? undefined, usage, endedAtUs });
  });
}

/** Use without a price, and whether it has one now (docs/decisions.md). */
export function toMissingPricesView(
  { rows }: Pick<MissingPrices, "rows">,
  { findModel, findPrice, findVariants }: Pick<CatalogSnapshot, "findModel" | "findPrice" | "findVariants">,
) {
  const missing = rows.map(
    ({ model: name, isRelayed, lack, unit, requests, quantity, lastSeenUs, facts }) => {
      const model = isRelayed ? null : findModel(name);
      const known = model ?? {
        prices: byUnit(UNITS, (of) => findPrice(name, of)?.pricePico),
        variants: findVariants(name)?.variants ?? [],
      };
      const hasPrice = (of: UnpricedFacts) =>
        listPricesOf(known, of, lastSeenUs).every((prices) => typeof prices[unit] === "number");
      const kind: (typeof PRICED_NAME_KINDS)[number] = isRelayed
        ? "relay"
        : model === null
          ? "gone"
          : "model";
      return {
        model: name,
        kind,
        unit,
        requests,
        quantity,
        last_seen: formatInstant(lastSeenUs),
        ...(lack !== null && { reason: `${lack.kind}: ${lack.value}` }),
        has_price: facts.length > 0 && facts.every(hasPrice),
      };
    },
  );
  return { missing };
}

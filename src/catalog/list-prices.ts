import { createEntryParser, type FeedEntry, LIST_PRICES_LABEL } from "./feed.ts";
import type { Unit } from "#kernel/units.ts";
import snapshot from "./list-prices.json" with { type: "json" };

/** A dated copy of public list prices. Nothing applies it unasked. */
export interface ListPrices {
  /** The version that its entries are loaded as; that of another snapshot begins with the same words. */
  readonly version: string;
  readonly source: string;
  readonly sourceUrl: string;
  /** The vendors' pages that it has the prices from. */
  readonly sources: readonly string[];
  /** The day on which the source was published: vendors change prices without notice. */
  readonly asOf: string;
  readonly entries: readonly FeedEntry[];
}

/**
 * Public list prices in US dollars of 75 models, under the names that their makers serve them by: standard prices, and those
 * under the conditions that an answer tells (service tier, length of the input, region). Models that several hosts sell at
 * prices of their own are not among them. `contrib/prices/list-prices.ts` makes the file.
 */
export function readListPrices(): ListPrices {
  const parse = createEntryParser();
  const entries: FeedEntry[] = [];
  const models: { readonly [name: string]: ListedModel } = snapshot.models;
  for (const [model, { source: _, price_variants: variants = [], ...standard }] of Object.entries(models)) {
    for (const { when, pricing } of [{ when: undefined, pricing: standard }, ...variants]) {
      for (const [unit, price] of Object.entries(pricing)) {
        // TypeScript takes each variant to have the units of all.
        if (price !== undefined)
          entries.push(parse({ model, unit, when, price_per_million: price }, entries.length));
      }
    }
  }
  const { source, source_url: sourceUrl, as_of: asOf } = snapshot;
  const sources = [...new Set(Object.values(models).flatMap((model) => model.source ?? []))];
  return { version: `${LIST_PRICES_LABEL} ${asOf}`, source, sourceUrl, sources, asOf, entries };
}

type ListedPrices = { readonly [unit in Unit]?: number | undefined };

/** A model of the file: its standard prices, and beside them. */
type ListedModel = ListedPrices & {
  /** The vendor's page. */
  readonly source?: string;
  readonly price_variants?: readonly { readonly when: object; readonly pricing: ListedPrices }[];
};

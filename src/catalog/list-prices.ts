import { createEntryParser, type FeedEntry, LIST_PRICES_LABEL } from "./feed.ts";
import { isUnit } from "#kernel/units.ts";
import snapshot from "./list-prices.json" with { type: "json" };

/** A dated copy of public list prices. Nothing applies it unasked. */
export interface ListPrices {
  /** The version that its entries are loaded as; that of another snapshot begins with the same words. */
  readonly version: string;
  readonly source: string;
  readonly sourceUrl: string;
  /** The day on which the source was published: vendors change prices without notice. */
  readonly asOf: string;
  readonly entries: readonly FeedEntry[];
}

/**
 * Public list prices in US dollars of 75 models, under the names that their makers serve them by: standard processing, short
 * prompts, no regional surcharge. Models that several hosts sell at prices of their own are not among them.
 */
export function readListPrices(): ListPrices {
  const parse = createEntryParser();
  const entries: FeedEntry[] = [];
  for (const [model, prices] of Object.entries(snapshot.models)) {
    for (const [unit, price] of Object.entries(prices)) {
      if (isUnit(unit)) entries.push(parse({ model, unit, price_per_million: price }, entries.length));
    }
  }
  const { source, source_url: sourceUrl, as_of: asOf } = snapshot;
  return { version: `${LIST_PRICES_LABEL} ${asOf}`, source, sourceUrl, asOf, entries };
}

import { type Actor, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type FeedDraft, parseFeed } from "./feed.ts";
import type { LoadedFeed, PriceRow } from "./pricing.ts";
import type { CatalogPicture } from "./snapshot.ts";
import type { CatalogPlan, CatalogWrite } from "./store.ts";

/**
 * Rows of the whole price book that a load may leave behind. The serving thread reads all of them after each change of a price
 * (some 35 ms, as measured on two cores) and lists them in one answer (20 ms, 5 MB). Prices written with models count, and
 * are not refused because of it.
 */
export const PRICES_MAX = 40_000;

/** What a load answers. */
export interface FeedLoad extends LoadedFeed {
  /** How many the feed has, whether or not they changed a price. */
  readonly entryCount: number;
}

export interface FeedArrival {
  readonly loadedAtUs: InstantUs;
  readonly actor: Actor;
}

/**
 * Sets the (model, unit) pairs that the feed names, also over prices and "no price" marks written with a model, and leaves
 * all others as they are. Throws at once what `parseFeed` throws; the plan throws `invalid_pricing`, param `entries`, for one
 * that would make the price book longer than PRICES_MAX.
 */
export function planFeedLoad(draft: FeedDraft, { loadedAtUs, actor }: FeedArrival): CatalogPlan<FeedLoad> {
  const { version, entries } = parseFeed(draft);
  const rows = entries.map((entry): PriceRow => ({ ...entry, feedVersion: version }));
  const entry = toAuditEntry(actor, {
    action: "pricing.load",
    targetKind: "pricing_feed",
    targetRef: version,
  });
  return (current) => {
    refuseTooManyPrices(current, rows, "entries");
    return {
      writes: [...planFeedRows(current, rows), { kind: "put_feed", feed: { version, loadedAtUs } }],
      audit: entry === null ? [] : [entry],
      result: () => ({ version, loadedAtUs, entryCount: entries.length }),
    };
  };
}

/** Puts the rows that are not there as they are. */
export function planFeedRows(current: CatalogPicture, rows: readonly PriceRow[]): readonly CatalogWrite[] {
  const changed = rows.filter((row) => {
    const there = current.findPrice(row.name, row.unit);
    return there?.pricePico !== row.pricePico || there.feedVersion !== row.feedVersion;
  });
  return changed.map((price): CatalogWrite => ({ kind: "put_price", price }));
}

/** Throws `invalid_pricing`. A load that only changes prices that are there is never too many. */
export function refuseTooManyPrices(current: CatalogPicture, rows: readonly PriceRow[], param: string): void {
  const added = rows.filter((row) => current.findPrice(row.name, row.unit) === null).length;
  const total = current.priceCount + added;
  if (added === 0 || total <= PRICES_MAX) return;
  throw new ProxyError(
    "invalid_pricing",
    `At most ${PRICES_MAX} prices are kept; with this feed there would be ${total}.`,
    { param },
  );
}

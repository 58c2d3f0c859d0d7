import type { FeedEntry } from "#catalog/feed.ts";
import { toPricePerMillion, type Unit } from "#kernel/units.ts";
import type { Pricing } from "../../../api/catalog.ts";

const LINE_KINDS = ["changed", "added", "unchanged"] as const;
export type LineKind = (typeof LINE_KINDS)[number];

/** One price of a file beside the one that is kept now. */
export interface FeedLine {
  readonly id: string;
  readonly kind: LineKind;
  readonly entry: FeedEntry;
  readonly newPerMillion: number;
  /** Null: the pair has no price now. */
  readonly oldPerMillion: number | null;
  /** The change as a share of the old price; null when there is none, or the old price is 0. */
  readonly ratio: number | null;
  /** Where the price of now came from; null also when there is none. */
  readonly oldVersion: string | null;
  /** Whether it is the name of a model here, or one that was called lately. */
  readonly isUsed: boolean;
}

export interface FeedDiff {
  readonly lines: readonly FeedLine[];
  readonly counts: { readonly [kind in LineKind]: number };
  readonly unusedCount: number;
}

/** What loading these entries would do. */
export function toFeedDiff(
  entries: readonly FeedEntry[],
  kept: Pricing["entries"],
  usedNames: ReadonlySet<string>,
): FeedDiff {
  const now = new Map(kept.map((price) => [toPairId(price.model, price.unit), price]));
  const counts = { changed: 0, added: 0, unchanged: 0 };
  let unusedCount = 0;
  const lines = entries.map((entry): FeedLine => {
    const id = toPairId(entry.name, entry.unit);
    const old = now.get(id);
    const newPerMillion = toPricePerMillion(entry.pricePico);
    const isUsed = usedNames.has(entry.name);
    // Both sides are exact prices and made by the same division.
    const kind =
      old === undefined ? "added" : old.price_per_million === newPerMillion ? "unchanged" : "changed";
    counts[kind] += 1;
    if (!isUsed) unusedCount += 1;
    return {
      id,
      kind,
      entry,
      newPerMillion,
      oldPerMillion: old?.price_per_million ?? null,
      ratio: toRatio(old?.price_per_million, newPerMillion),
      oldVersion: old?.version ?? null,
      isUsed,
    };
  });
  return { lines, counts, unusedCount };
}

/** Names may hold anything but control characters. */
export function toPairId(name: string, unit: Unit): string {
  return `${unit}\n${name}`;
}

function toRatio(oldPrice: number | undefined, newPrice: number): number | null {
  return oldPrice === undefined || oldPrice === 0 ? null : (newPrice - oldPrice) / oldPrice;
}

import { FEED_ENTRIES_MAX, parseFeedVersion, type FeedEntry } from "#catalog/feed.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toPricePerMillion } from "#kernel/units.ts";
import type { PricingFeed } from "../../../api/catalog.ts";
import { formatCount } from "../../../text/format.ts";
import type { FeedProblem, FeedReading } from "./feed-file.ts";
import { findPricesInUse, type NamesInUse } from "#interchange/prices-in-use.ts";

export interface LoadChoices {
  readonly version: string;
  readonly leavesOutBad: boolean;
  readonly onlyUsed: boolean;
}

/** What would be sent, and what still stands in its way. */
export interface LoadPlan {
  readonly entries: readonly FeedEntry[];
  readonly versionError: string | null;
  readonly problems: readonly FeedProblem[];
}

/** The entries that were chosen of a file. A feed is loaded whole or not at all, so that one problem stops it. */
export function planLoad(
  reading: FeedReading,
  { version, leavesOutBad, onlyUsed }: LoadChoices,
  inUse: NamesInUse,
): LoadPlan {
  const entries = onlyUsed ? takeUsed(reading, inUse) : reading.entries;
  return {
    entries,
    versionError: findVersionError(version),
    problems: [
      ...reading.problems,
      ...(leavesOutBad ? [] : reading.badEntries),
      ...(entries.length > FEED_ENTRIES_MAX ? [toTooMany(entries.length)] : []),
    ],
  };
}

/**
 * The prices of names in use. Those of a public list get the names that they are kept under here, by the rule of the command
 * line: an alias that is bound to another model would else get the price of what it is called.
 */
export function takeUsed({ entries, lookup }: FeedReading, inUse: NamesInUse): readonly FeedEntry[] {
  if (lookup === null) {
    const names = toUsedNames(inUse);
    return entries.filter(({ name }) => names.has(name));
  }
  const listed = Map.groupBy(entries, ({ name }) => name);
  return findPricesInUse(inUse, lookup).flatMap((source) =>
    (listed.get(source.listed) ?? []).map((entry) => Object.assign({}, entry, { name: source.name })),
  );
}

/** Aliases, upstream names and every called name. */
export function toUsedNames({ models, others }: NamesInUse): ReadonlySet<string> {
  return new Set([...models.flatMap(({ alias, upstreamName }) => [alias, upstreamName]), ...others]);
}

/** Both are the same exact price: the server reads back the number that the file meant. */
export function toFeed(entries: readonly FeedEntry[], version: string): PricingFeed {
  return {
    version,
    entries: entries.map(({ name, unit, pricePico }) => ({
      model: name,
      unit,
      price_per_million: toPricePerMillion(pricePico),
    })),
  };
}

function findVersionError(version: string): string | null {
  try {
    parseFeedVersion(version);
    return null;
  } catch (failure) {
    if (failure instanceof ProxyError) return failure.message;
    throw failure;
  }
}

function toTooMany(count: number): FeedProblem {
  return {
    param: "entries",
    message: `A feed has at most ${formatCount(FEED_ENTRIES_MAX)} entries, and this would be ${formatCount(count)}. Load only the names in use, or split the file.`,
  };
}

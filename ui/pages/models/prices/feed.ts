import {
  createEntryParser,
  FEED_ENTRIES_MAX,
  type FeedEntry,
  parseFeedVersion,
  isListVersion,
} from "#catalog/feed.ts";
import {
  createPriceMapReader,
  isPriceMap,
  type SkippedPrice,
  type UnreadField,
} from "#interchange/price-map.ts";
import {
  createListLookup,
  createMapLookup,
  findPricesInUse,
  type NamesInUse,
  type PriceLookup,
} from "#interchange/prices-in-use.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toPricePerMillion, type Unit, UNITS } from "#kernel/units.ts";
import { isJsonObject } from "#kernel/json.ts";
import { toConditionsView } from "#catalog/price-fields.ts";
import type { Pricing, PricingFeed } from "../../../api/catalog.ts";
import { toIso } from "../../../search/window.ts";
import { formatCount, formatInstant } from "../../../text/format.ts";

/** Something in a feed that the server would refuse; its own rule says so, here as there. */
export interface FeedProblem {
  /** `entries[3].unit`, or a field of the feed. */
  readonly param: string;
  readonly message: string;
}

/** A file as far as it can be loaded. Nothing of it has been sent. */
export interface FeedReading {
  readonly kind: "feed" | "price_map";
  /** As it stands in the file, which may be no text at all; undefined when it has none. */
  readonly version: unknown;
  readonly entries: readonly FeedEntry[];
  /** Entries that would have the server refuse all of it. */
  readonly badEntries: readonly FeedProblem[];
  /** What is wrong with the feed itself, and cannot be left out. */
  readonly problems: readonly FeedProblem[];
  /** Entries that a price map has and a feed does not. */
  readonly skipped: readonly SkippedPrice[];
  /** Fields of a price map that have no unit and no condition here. */
  readonly unread: readonly UnreadField[];
  /** Models of a price map without a price of cached input under some condition. */
  readonly uncachedCount: number;
  /** Finds the name that a public list has for a model; null for a feed, which says by itself what it names. */
  readonly lookup: PriceLookup | null;
}

interface ReadOptions {
  /** Called with a share of one as the reading goes on. */
  readonly onProgress?: ((ratio: number) => void) | undefined;
  /** Throws its reason once it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** The text is neither a feed nor a price map; the message says what it is. */
export class FeedTextError extends Error {
  override readonly name = "FeedTextError";
}

/** Reads a feed, or LiteLLM's price map, with pauses in which the page stays alive. Throws `FeedTextError`. */
export async function readFeedText(text: string, options: ReadOptions = {}): Promise<FeedReading> {
  const parsed = parseJson(text);
  if (isJsonObject(parsed) && Array.isArray(parsed["entries"])) {
    const { version, entries: _, ...rest } = parsed;
    const entries: readonly unknown[] = parsed["entries"];
    const read = await readFeed(entries, options);
    const isList = typeof version === "string" && isListVersion(version);
    const lookup = isList ? createListLookup(read.entries.map(({ name }) => name)) : null;
    return { ...read, version, lookup, problems: toProblems(Object.keys(rest)) };
  }
  if (isPriceMap(parsed)) {
    const reader = createPriceMapReader();
    await inSteps(Object.entries(parsed), ([name, spec]) => reader.read(name, spec), options);
    return {
      ...reader.finish(),
      kind: "price_map",
      version: undefined,
      badEntries: [],
      problems: [],
      lookup: createMapLookup(parsed),
    };
  }
  throw new FeedTextError(
    "This is neither a pricing feed (an object with version and entries) nor LiteLLM's price map (an object of models with prices per token).",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FeedTextError(
      `This is not JSON: ${cause instanceof Error ? cause.message : "it cannot be read"}.`,
    );
  }
}

async function readFeed(drafts: readonly unknown[], options: ReadOptions) {
  const parse = createEntryParser();
  const entries: FeedEntry[] = [];
  const badEntries: FeedProblem[] = [];
  await inSteps(
    drafts,
    (draft, index) => {
      try {
        entries.push(parse(draft, index));
      } catch (failure) {
        if (!(failure instanceof ProxyError)) throw failure;
        badEntries.push({ param: failure.param ?? `entries[${index}]`, message: failure.message });
      }
    },
    options,
  );
  return { kind: "feed" as const, entries, badEntries, skipped: [], unread: [], uncachedCount: 0 };
}

function toProblems(unknownFields: readonly string[]): readonly FeedProblem[] {
  return unknownFields.map((field) => ({
    param: field,
    message: "A feed has a version and entries, and no other field.",
  }));
}

const STEP_ITEMS = 2000;

async function inSteps<Item>(
  items: readonly Item[],
  read: (item: Item, index: number) => void,
  { onProgress, signal }: ReadOptions,
): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index % STEP_ITEMS === 0) {
      onProgress?.(index / items.length);
      // A task of its own, so that drawing and input come in between.
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    read(item, index);
  }
}

/** A file's own label, to be changed or not; a price map has none and gets the day. */
export function toFirstVersion({ kind, version }: FeedReading, nowMs: number): string {
  if (kind === "price_map") return `litellm ${formatInstant(toIso(nowMs), "date")}`;
  return typeof version === "string" ? version : "";
}

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

/** A price that is kept now, also one under conditions. */
interface KeptPrice {
  readonly price_per_million: number;
  /** Null: it was written with a model. */
  readonly version: string | null;
}

function toKeptPrices({ entries, variants = [] }: KeptPrices): ReadonlyMap<string, KeptPrice> {
  const kept = new Map<string, KeptPrice>(
    entries.map((price) => [toPriceId({ name: price.model, unit: price.unit }), price]),
  );
  for (const { model: name, when, pricing, version } of variants) {
    for (const unit of UNITS) {
      const price = pricing[unit];
      if (price !== undefined)
        kept.set(toPriceId({ name, unit, when }), { price_per_million: price, version });
    }
  }
  return kept;
}

/** What is kept, as the server tells it. */
export type KeptPrices = Pick<Pricing, "entries" | "variants">;

/** What loading these entries would do. */
export function toFeedDiff(
  entries: readonly FeedEntry[],
  kept: KeptPrices,
  usedNames: ReadonlySet<string>,
): FeedDiff {
  const now = toKeptPrices(kept);
  const counts = { changed: 0, added: 0, unchanged: 0 };
  let unusedCount = 0;
  const lines = entries.map((entry): FeedLine => {
    const when = entry.when === undefined ? undefined : toConditionsView(entry.when);
    const id = toPriceId({ name: entry.name, unit: entry.unit, when });
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

interface PricePlace {
  readonly name: string;
  readonly unit: Unit;
  /** Its members are in one order, wherever they are from. */
  readonly when?: object | undefined;
}

/** Names may hold anything but control characters. */
function toPriceId({ name, unit, when }: PricePlace): string {
  return `${unit}\n${when === undefined ? "" : JSON.stringify(when)}\n${name}`;
}

function toRatio(oldPrice: number | undefined, newPrice: number): number | null {
  return oldPrice === undefined || oldPrice === 0 ? null : (newPrice - oldPrice) / oldPrice;
}

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
    entries: entries.map(({ name, unit, when, pricePico }) => ({
      model: name,
      unit,
      ...(when !== undefined && { when: toConditionsView(when) }),
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

import { createEntryParser, type FeedEntry } from "#catalog/feed.ts";
import { ProxyError } from "#kernel/errors.ts";
import { isJsonObject } from "#usage/json.ts";
import { toIso } from "../../../search/window.ts";
import { formatInstant } from "../../../text/format.ts";
import { isListVersion } from "#catalog/list-prices-label.ts";
import { createPriceMapReader, isPriceMap, type SkippedPrice } from "#interchange/price-map.ts";
import { createListLookup, createMapLookup, type PriceLookup } from "#interchange/prices-in-use.ts";

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
  readonly partialCount: number;
  /** Finds the name that a public list has for a model; null for a feed, which says by itself what it names. */
  readonly lookup: PriceLookup | null;
}

export interface ReadOptions {
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
  return { kind: "feed" as const, entries, badEntries, skipped: [], partialCount: 0 };
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

/** The label of a feed that one person typed. */
export function toHandVersion(nowMs: number): string {
  return `by hand ${formatInstant(toIso(nowMs), "date")}`;
}

/** A file's own label, to be changed or not; a price map has none and gets the day. */
export function toFirstVersion({ kind, version }: FeedReading, nowMs: number): string {
  if (kind === "price_map") return `litellm ${formatInstant(toIso(nowMs), "date")}`;
  return typeof version === "string" ? version : "";
}

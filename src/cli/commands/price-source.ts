import { parseFeed, type FeedDraft, type FeedEntry } from "#catalog/feed.ts";
import { isListVersion } from "#catalog/list-prices-label.ts";
import {
  createListLookup,
  createMapLookup,
  findPricesInUse,
  type NamesInUse,
} from "#interchange/prices-in-use.ts";
import { createPriceMapReader, isPriceMap, type JsonObject } from "#interchange/price-map.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toCounted } from "#kernel/text.ts";
import { toPricePerMillion, type Unit } from "#kernel/units.ts";
import { isObject, type Client } from "#cli/installation/client.ts";
import { CommandError } from "#cli/screen/failure.ts";

/** What a price list would set, and what has to be known of it. */
export interface PriceList {
  readonly version: string;
  readonly entries: readonly PriceEntry[];
  readonly notes: readonly string[];
  /** Whether a price of this feed came from an earlier list of the same kind, and so gives way. */
  readonly isEarlier: (version: string | null) => boolean;
}

export interface PriceEntry {
  readonly model: string;
  readonly unit: Unit;
  readonly price_per_million: number;
}

/** A file as it was parsed: a feed, sent as it is, or LiteLLM's public price map. Throws a `CommandError`. */
export function parsePriceText(
  text: string,
): { readonly kind: "feed"; readonly feed: FeedDraft } | { readonly kind: "map"; readonly map: JsonObject } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CommandError("failure", "The feed is not JSON: lockport pricing load --help shows one.");
  }
  if (isObject(parsed) && !Array.isArray(parsed["entries"]) && isPriceMap(parsed)) {
    return { kind: "map", map: parsed };
  }
  if (!isObject(parsed) || !Array.isArray(parsed["entries"])) {
    throw new ProxyError("invalid_pricing", "A feed must have a version and a list of entries.", {
      param: "entries",
    });
  }
  const { version, entries, ...rest } = parsed;
  const [unknownField] = Object.keys(rest);
  if (unknownField !== undefined) {
    throw new ProxyError("invalid_request", "A feed can have a version and entries, and no other field.", {
      param: unknownField,
    });
  }
  return { kind: "feed", feed: { version, entries: Array.isArray(entries) ? entries : [] } };
}

/** A feed as a list whose prices take the place of all. Throws what loading it would throw. */
export function readFeed(feed: FeedDraft): PriceList {
  const { version, entries } = parseFeed(feed);
  return { version, entries: entries.map(toPriceEntry), notes: [], isEarlier: () => true };
}

const MAP_LABEL = "litellm";

/** What a map has for the names in use, or all that it has; it has no version, and gets the day. */
export function readMap(map: JsonObject, inUse: NamesInUse | null, nowUs: InstantUs): PriceList {
  const reader = createPriceMapReader();
  const sources =
    inUse === null
      ? Object.keys(map).map((name) => ({ name, listed: name }))
      : findPricesInUse(inUse, createMapLookup(map));
  for (const { name, listed } of sources) reader.read(name, map[listed]);
  const { entries, skipped, partialCount } = reader.finish();
  const failed = skipped.filter(({ name }) => name !== "sample_spec");
  return {
    version: `${MAP_LABEL} ${formatInstant(nowUs).slice(0, 10)}`,
    entries: entries.map(toPriceEntry),
    notes: [
      ...(failed.length === 0
        ? []
        : [`${toCounted(failed.length, "price")} of the map cannot be kept here.`]),
      ...(partialCount === 0
        ? []
        : [
            `${toCounted(partialCount, "model")} of these have more prices (long prompts, batches, images), which have no unit here.`,
          ]),
    ],
    isEarlier: (version) => version?.startsWith(`${MAP_LABEL} `) === true,
  };
}

/** The list prices that the installation has with it. */
export async function readList(api: Client, inUse: NamesInUse | null): Promise<PriceList> {
  const { version, source, as_of: asOf, entries } = await api.call("GET /admin/v1/pricing/list");
  const names = new Set(entries.map(({ model }) => model));
  const sources =
    inUse === null
      ? [...names].map((name) => ({ name, listed: name }))
      : findPricesInUse(inUse, createListLookup(names));
  return {
    version,
    entries: sources.flatMap(({ name, listed }) =>
      entries
        .filter(({ model }) => model === listed)
        .map((entry) => Object.assign({}, entry, { model: name })),
    ),
    notes: [
      `List prices of ${asOf}, from ${source}: short prompts, standard processing. Compare them with your contract.`,
    ],
    isEarlier: isListVersion,
  };
}

function toPriceEntry({ name, unit, pricePico }: FeedEntry): PriceEntry {
  return { model: name, unit, price_per_million: toPricePerMillion(pricePico) };
}

import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { ALIAS_LENGTH_MAX, ALIAS_PATTERN } from "#kernel/text.ts";
import type { PriceVariant } from "#kernel/price-variants.ts";
import type { Unit } from "#kernel/units.ts";
import {
  isUpstreamName,
  parseOrigin,
  type ModelDraft,
  type PricingDraft,
  type VariantsDraft,
} from "./model.ts";
import { parseDraftRoute } from "./model-plan.ts";
import { parseFeedVersion } from "./feed.ts";
import { parsePricing, type WrittenPrices } from "./price-plan.ts";
import { countPrices, type PriceRow, PRICES_MAX, type VariantRow } from "./pricing.ts";
import { parseProviderDraft, type ParsedProviderDraft, type ProviderDraft } from "./provider.ts";
import { type DraftedPricesToCome, parseEffectiveFrom } from "./scheduled-prices.ts";
import { parsePriceVariants } from "./variant-list.ts";

/**
 * The rule for resources that are there already. `keep`: what the catalog does not have stays. `prune`: it is removed. `add`: what
 * both have stays as it is, but for a provider's key that was missing, and has to be the same route or address.
 */
export type CatalogMode = "keep" | "prune" | "add";

/** A whole catalog as a client wrote it (decisions, "A catalog in one transaction"), with its JSON types already checked. */
export interface CatalogDraft {
  readonly providers: readonly CatalogProviderDraft[];
  /** Each with its alias; `pricing` left out leaves a model to its upstream name, or to its target. */
  readonly models: readonly (ModelDraft & { readonly alias: string })[];
  /** The newest last. */
  readonly feeds: readonly CatalogFeedDraft[];
  /** Entries of one moment stand in the order in which they take force. */
  readonly pricesToCome: readonly PricesToComeDraft[];
}

interface CatalogProviderDraft extends ProviderDraft {
  readonly enabled?: boolean | undefined;
  /** Says that the provider has a key, whether or not `apiKey` brings it. */
  readonly needsCredential?: boolean | undefined;
  readonly needsCa?: boolean | undefined;
}

interface CatalogFeedDraft {
  readonly version: string;
  /** By alias or upstream name. */
  readonly prices: { readonly [name: string]: PricingDraft };
  /** As `prices`, the lists of prices under conditions. */
  readonly variants?: { readonly [name: string]: VariantsDraft } | undefined;
}

export interface PricesToComeDraft {
  readonly effectiveFrom: unknown;
  /** An alias, or with a feed also an upstream name. */
  readonly model: string;
  /** The version of the feed that has them, which leaves all others; absent: whole sets, as a write of the model has. */
  readonly feed?: string | undefined;
  readonly pricing?: PricingDraft | undefined;
  readonly priceVariants?: VariantsDraft | undefined;
}

export interface ParsedCatalogDraft {
  readonly providers: readonly ParsedCatalogProvider[];
  readonly models: readonly ParsedCatalogModel[];
  /** The newest last. */
  readonly feedVersions: readonly string[];
  /** Each (name, unit) once. */
  readonly feedPrices: readonly PriceRow[];
  /** Each name once. */
  readonly feedLists: readonly VariantRow[];
  readonly pricesToCome: readonly DraftedPricesToCome[];
}

export interface ParsedCatalogProvider extends ParsedProviderDraft {
  readonly place: string;
  readonly draft: CatalogProviderDraft;
}

export interface ParsedCatalogModel {
  readonly place: string;
  readonly draft: ModelDraft & { readonly alias: string };
  readonly kind: "binding" | "name";
  /** Null leaves the model to its upstream name, or to its target. */
  readonly pricing: WrittenPrices | null;
  /** As `pricing`; an empty list leaves a binding without variants. */
  readonly variants: readonly PriceVariant[] | null;
}

/** The number that a file of this shape begins with (`lockport_catalog`); one of another number is refused, never guessed at. */
export const CATALOG_FORMAT = 1;

/** Ten times what an installation is known to have. The serving thread plans and writes them: 0.6 s for the first write of 1,000 models and 20,000 prices (measured). */
export const CATALOG_ENTRIES_MAX = 10_000;

/**
 * Reads what can be judged without the catalog that it is for. Throws what the drafts of a provider, a model and a feed
 * throw, and `invalid_date` for prices to come that are not to come at `nowUs`, with a `param` that leads into the file:
 * `models.gpt.prices.input_tokens`, `feeds[0].version`.
 */
export function parseCatalogDraft(
  { providers, models, feeds, pricesToCome }: CatalogDraft,
  nowUs: InstantUs,
): ParsedCatalogDraft {
  for (const [field, { length }] of Object.entries({ providers, models, feeds })) {
    if (length <= CATALOG_ENTRIES_MAX) continue;
    throw new ProxyError("invalid_request", `A catalog has at most ${CATALOG_ENTRIES_MAX} ${field}.`, {
      param: field,
    });
  }
  const feedPrices = parseFeedPrices(feeds);
  const feedLists = parseFeedLists(feeds);
  if (feedLists.reduce((sum, list) => sum + countPrices(list), feedPrices.length) > PRICES_MAX)
    throw refusePrice("feeds", `At most ${PRICES_MAX} prices are kept.`);
  return {
    providers: providers.map((draft) => {
      const place = toPlace("providers", draft.name);
      return { place, draft, ...within(place, () => parseProviderDraft(draft)) };
    }),
    models: models.map((draft) => {
      const place = toPlace("models", draft.alias);
      return { place, draft, ...within(place, () => parseModel(draft)) };
    }),
    feedVersions: feeds.map(({ version }, index) =>
      within(`feeds[${index}]`, () => parseFeedVersion(version)),
    ),
    feedPrices,
    feedLists,
    pricesToCome: pricesToCome.map((draft, index) =>
      within(`prices_to_come[${index}]`, () => parsePricesToCome(draft, nowUs)),
    ),
  };
}

/** Reads prices to come. Throws `invalid_date`, also for a moment that is not after `nowUs`, and what a model or a feed throws. */
export function parsePricesToCome(
  { effectiveFrom, model, feed, pricing, priceVariants }: PricesToComeDraft,
  nowUs: InstantUs,
): DraftedPricesToCome {
  const atUs = parseEffectiveFrom(effectiveFrom, "effective_from");
  if (atUs <= nowUs) {
    throw new ProxyError(
      "invalid_date",
      "This moment has passed, and prices to come begin later. If they hold now, move them to the model's prices or to a feed; else take the entry out.",
      { param: "effective_from" },
    );
  }
  const version = feed === undefined ? null : parseFeedVersion(feed, "feed");
  if (version !== null && !isUpstreamName(model))
    throw refusePrice("model", "Prices stand under an alias or an upstream name, and this is neither.");
  const prices = pricing === undefined ? null : Object.fromEntries(parsePricing(pricing));
  const variants = priceVariants === undefined ? null : parsePriceVariants(priceVariants);
  const count = Object.keys(prices ?? {}).length + (variants ?? []).length;
  if (version === null ? prices === null && variants === null : count === 0)
    throw refusePrice("", "An entry has prices, price_variants, or both.");
  return { atUs, name: model, version, prices, variants };
}

function parseModel(draft: CatalogDraft["models"][number]): Omit<ParsedCatalogModel, "place" | "draft"> {
  const { pricing, priceVariants, target = "" } = draft;
  parseDraftRoute(draft);
  parseOrigin(draft.origin ?? "declared");
  const kind = target === "" ? "binding" : "name";
  const written = pricing === undefined ? null : parsePricing(pricing);
  const list = priceVariants === undefined ? null : parsePriceVariants(priceVariants);
  // A name without a price of its own is one that inherits all of them.
  const isOwn = (count: number | undefined) => kind === "binding" || count !== 0;
  return {
    kind,
    pricing: isOwn(written?.size) ? written : null,
    variants: isOwn(list?.length) ? list : null,
  };
}

function parseFeedPrices(feeds: readonly CatalogFeedDraft[]): readonly PriceRow[] {
  const rows: PriceRow[] = [];
  const priced = new Map<string, Set<Unit>>();
  for (const [index, { version, prices }] of feeds.entries()) {
    for (const [name, pricing] of Object.entries(prices)) {
      const place = toPlace(`feeds[${index}].prices`, name);
      if (!isUpstreamName(name))
        throw refusePrice(place, "Prices stand under an alias or an upstream name, and this is neither.");
      const ofName = priced.get(name) ?? new Set();
      priced.set(name, ofName);
      for (const [unit, pricePico] of within(place, () => parsePricing(pricing))) {
        if (ofName.has(unit))
          throw refusePrice(`${place}.${unit}`, "Another feed of this catalog has a price of this unit.");
        ofName.add(unit);
        rows.push({ name, unit, pricePico, feedVersion: version });
      }
    }
  }
  return rows;
}

function parseFeedLists(feeds: readonly CatalogFeedDraft[]): readonly VariantRow[] {
  const lists = new Map<string, VariantRow>();
  for (const [index, { version, variants = {} }] of feeds.entries()) {
    for (const [name, draft] of Object.entries(variants)) {
      const place = toPlace(`feeds[${index}].variants`, name);
      if (!isUpstreamName(name))
        throw refusePrice(place, "Prices stand under an alias or an upstream name, and this is neither.");
      if (lists.has(name)) {
        throw new ProxyError(
          "invalid_price_variants",
          "Another feed of this catalog has variants of this name.",
          {
            param: place,
          },
        );
      }
      lists.set(name, { name, variants: parsePriceVariants(draft, place), feedVersion: version });
    }
  }
  return [...lists.values()];
}

/** A name that is none is not repeated. */
function toPlace(field: string, name: string): string {
  return name.length <= ALIAS_LENGTH_MAX && ALIAS_PATTERN.test(name) ? `${field}.${name}` : field;
}

/** A refusal of one entry names its place in the file: a model's `pricing` is called `prices` there, and its alias is its key. */
export function within<Value>(place: string, run: () => Value): Value {
  try {
    return run();
  } catch (cause) {
    if (!(cause instanceof ProxyError)) throw cause;
    const field = (cause.param ?? "").replace(/^pricing\b/, place.startsWith("feeds") ? "" : "prices");
    const isKey = field === "" || field === "name" || field === "alias" || field === "model";
    const param = isKey ? place : `${place}.${field.replace(/^\./, "")}`;
    throw new ProxyError(cause.code, cause.message, { param });
  }
}

function refusePrice(param: string, message: string): ProxyError {
  return new ProxyError("invalid_pricing", message, { param });
}

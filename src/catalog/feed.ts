import { ProxyError } from "#kernel/errors.ts";
import { isJsonObject } from "#kernel/json.ts";
import { UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import {
  type PricePico,
  type Unit,
  isSamePrice,
  isUnit,
  parsePricePerMillion,
  PICO_PER_WHOLE,
  PRICE_PER_MILLION_MAX,
  toPricePerUnit,
  UNITS,
} from "#kernel/units.ts";
import { isUpstreamName, fieldParam } from "./model.ts";
import type { PriceConditions } from "#kernel/price-variants.ts";
import { type Actor, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Backdating } from "./held-price.ts";
import { type LoadedFeed, type PriceRow, PRICES_MAX, type VariantRow } from "./pricing.ts";
import type { CatalogPicture } from "./snapshot.ts";
import type { CatalogPlan, CatalogWrite } from "./store.ts";
import {
  parseEffectiveFrom,
  type PriceSchedule,
  refuseTooManySchedules,
  type ScheduledEntry,
} from "./scheduled-prices.ts";
import {
  mergePrice,
  parseConditions,
  toConditionsKey,
  toPriceKey,
  VARIANTS_MAX,
  withoutPrice,
} from "./variant-list.ts";
import { createWorkingCopy } from "./working-copy.ts";

/** A pricing feed as a client wrote it (specification, section 2.9); only that its entries are a list is known. */
export interface FeedDraft {
  readonly version?: unknown;
  readonly entries: readonly unknown[];
  readonly removed?: readonly unknown[] | undefined;
}

interface Feed {
  readonly version: string;
  /** Each (name, unit, conditions) once, here and in `removed`. */
  readonly entries: readonly FeedEntry[];
  /** Prices that are kept no longer: their names inherit, or have none. */
  readonly removed: readonly PricePlace[];
}

/** One price among all that are kept. */
type PricePlace = Pick<FeedEntry, "name" | "unit" | "when">;

export interface FeedEntry {
  /** An alias or an upstream model name, which need not exist yet. */
  readonly name: string;
  readonly unit: Unit;
  readonly pricePico: PricePico;
  /** Absent: the standard price. */
  readonly when?: PriceConditions;
  /** Absent: it holds from the load on. */
  readonly effectiveFromUs?: InstantUs;
}

/** A load works on the serving thread: 10 ms to read as many, 40 to 70 ms to write them and to read the price book again, as measured on two cores. */
export const FEED_ENTRIES_MAX = 20_000;

/** The largest body of a request with a feed: as many entries as a feed may have, with names of usual length. */
export const FEED_BODY_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Throws `invalid_pricing` for the first thing that is wrong, param `version`, `entries`, `entries[n]` or a field of it
 * (`entries[3].unit`), `invalid_price_variants` for conditions, and `invalid_request` for a field that an entry does not have.
 */
export function parseFeed({ version, entries, removed = [] }: FeedDraft): Feed {
  const parsedVersion = parseFeedVersion(version);
  if (entries.length + removed.length > FEED_ENTRIES_MAX)
    throw refuse("entries", `A feed has at most ${FEED_ENTRIES_MAX} entries.`);
  const check = createPlaceCheck();
  const within =
    <Place extends PricePlace>(list: string, parse: (draft: unknown, param: string) => Place) =>
    (draft: unknown, index: number) =>
      check(parse(draft, `${list}[${index}]`), `${list}[${index}]`);
  return {
    version: parsedVersion,
    entries: entries.map(within("entries", parseEntry)),
    removed: removed.map(within("removed", parsePlace)),
  };
}

/** Throws `invalid_pricing`. */
export function parseFeedVersion(version: unknown, param = "version"): string {
  if (typeof version !== "string" || !isUpstreamName(version)) {
    throw refuse(
      param,
      `A feed has a version of 1 to ${UPSTREAM_NAME_LENGTH_MAX} characters, without control characters.`,
    );
  }
  return version;
}

/**
 * Reads the entries of one feed, each with its place in it from 0, and throws for an entry what `parseFeed` throws: also for
 * the second price of one unit of one model.
 */
export function createEntryParser(): (entry: unknown, index: number) => FeedEntry {
  const check = createPlaceCheck();
  return (entry, index) => check(parseEntry(entry, `entries[${index}]`), `entries[${index}]`);
}

/** Refuses the second of two that are of one unit of one model under the same conditions. */
function createPlaceCheck(): <Place extends PricePlace>(place: Place, param: string) => Place {
  const seen = new Map<string, string>();
  return (place, param) => {
    const key = `${toPriceKey(place.unit, place.when)} ${place.name}`;
    const first = seen.get(key);
    if (first !== undefined) throw refuse(param, `${first} prices the same unit of the same model already.`);
    seen.set(key, param);
    return place;
  };
}

const PLACE_FIELDS = ["model", "unit", "when"];
const ENTRY_FIELDS = [...PLACE_FIELDS, "effective_from", "price_per_unit", "price_per_million"];

function parseEntry(draft: unknown, param: string): FeedEntry {
  const entry = parseFields(draft, {
    param,
    names: ENTRY_FIELDS,
    shape: "An entry is an object with model, unit and one price.",
    more: "An entry has a model, a unit and one price, perhaps when and effective_from, and no other field.",
  });
  const { effective_from: from } = entry;
  const place = toPlace(entry, param);
  const pricePico = parsePrice(entry, param);
  return {
    ...place,
    pricePico,
    ...(from !== undefined && { effectiveFromUs: parseEffectiveFrom(from, `${param}.effective_from`) }),
  };
}

function parsePlace(draft: unknown, param: string): PricePlace {
  const more = "A price to remove has a model and a unit, perhaps when, and no other field.";
  return toPlace(parseFields(draft, { param, names: PLACE_FIELDS, shape: more, more }), param);
}

interface FieldsRule {
  readonly param: string;
  readonly names: readonly string[];
  /** Says what is wrong with a draft that is no object. */
  readonly shape: string;
  /** Says what is wrong with a field of another name. */
  readonly more: string;
}

function parseFields(draft: unknown, { param, names, shape, more }: FieldsRule): Fields {
  if (!isJsonObject(draft)) throw refuse(param, shape);
  const unknownField = Object.keys(draft).find((field) => !names.includes(field));
  if (unknownField === undefined) return draft;
  throw new ProxyError("invalid_request", more, { param: fieldParam(param, unknownField) });
}

function toPlace({ model, unit, when }: Fields, param: string): PricePlace {
  if (typeof model !== "string" || !isUpstreamName(model)) {
    throw refuse(
      `${param}.model`,
      `A model is named by 1 to ${UPSTREAM_NAME_LENGTH_MAX} characters, without control characters.`,
    );
  }
  if (!isUnit(unit)) throw refuse(`${param}.unit`, `The units are ${UNITS.join(", ")}.`);
  return { name: model, unit, ...(when !== undefined && { when: parseConditions(when, `${param}.when`) }) };
}

function parsePrice(entry: Fields, param: string): PricePico {
  const { price_per_unit: pricePerUnit, price_per_million: pricePerMillion } = entry;
  if ((pricePerUnit === undefined) === (pricePerMillion === undefined))
    throw refuse(param, "An entry has exactly one of price_per_unit and price_per_million.");
  return pricePerUnit === undefined
    ? parsePricePerMillion(pricePerMillion, `${param}.price_per_million`)
    : parsePricePerUnit(pricePerUnit, `${param}.price_per_unit`);
}

const PRICE_PER_UNIT_MAX = PRICE_PER_MILLION_MAX / 1e6;

/** As `parsePricePerMillion`, for a price per single unit: exact to 10⁻¹², or `invalid_pricing`. */
export function parsePricePerUnit(pricePerUnit: unknown, param: string): PricePico {
  if (typeof pricePerUnit !== "number" || !(pricePerUnit >= 0) || pricePerUnit > PRICE_PER_UNIT_MAX)
    throw refuse(param, `A price must be a number from 0 to ${PRICE_PER_UNIT_MAX} per unit.`);
  // Off by less than a quarter up to the largest price, so that rounding finds the whole number that was meant.
  const pico = Math.round(pricePerUnit * PICO_PER_WHOLE);
  if (!isSamePrice(toPricePerUnit(pico), pricePerUnit))
    throw refuse(param, "A price is exact to twelve decimals per unit; this one is finer.");
  // Not the -0 that a client may write.
  return pico === 0 ? 0 : pico;
}

type Fields = { readonly [field: string]: unknown };

function refuse(param: string, message: string): ProxyError {
  return new ProxyError("invalid_pricing", message, { param });
}

/** The answer to a load. */
export interface FeedLoad extends LoadedFeed {
  /** Entries of the feed, whether or not they changed a price. */
  readonly entryCount: number;
}

interface FeedArrival {
  readonly loadedAtUs: InstantUs;
  readonly actor: Actor;
}

/**
 * Sets or removes the (model, unit) pairs that the feed names, also prices and "no price" marks written with a model, and
 * leaves all others as they are. A price under conditions goes into the variant of the name that has the same, or makes a new one.
 * Throws at once what `parseFeed` throws; the plan throws `invalid_pricing`, param `entries`, for one that would make the
 * price book longer than PRICES_MAX, and `invalid_price_variants` for one that would make a list longer
 * than VARIANTS_MAX, and `too_many_schedules`.
 */
export function planFeedLoad(draft: FeedDraft, { loadedAtUs, actor }: FeedArrival): CatalogPlan<FeedLoad> {
  const { version, entries, removed } = parseFeed(draft);
  const isToCome = ({ effectiveFromUs }: FeedEntry) => (effectiveFromUs ?? 0) > loadedAtUs;
  const entry = toAuditEntry(actor, {
    action: "pricing.load",
    targetKind: "pricing_feed",
    targetRef: version,
  });
  return (current) => {
    const onFull = (index: number) => {
      throw new ProxyError(
        "invalid_price_variants",
        `A model has at most ${VARIANTS_MAX} price variants; with this entry there would be one more.`,
        { param: `entries[${index}].when` },
      );
    };
    const held = planFeedEntries(current, { version, entries, removed, isLeftOut: isToCome, onFull });
    const toCome = toSchedules(version, entries.filter(isToCome));
    refuseTooManySchedules(current, toCome, "entries");
    // Those to come must find room as well: what takes it away later is told when they come.
    if (toCome.length > 0) planFeedEntries(current, { version, entries, onFull });
    const writes = [...held, ...toCome.map((schedule): CatalogWrite => ({ kind: "put_schedule", schedule }))];
    refuseTooManyPrices(current, writes, "entries");
    return {
      writes: [...writes, { kind: "put_feed", feed: { version, loadedAtUs } }],
      prices: { backdated: toBackdatings(entries.filter((each) => !isToCome(each))) },
      audit: entry === null ? [] : [entry],
      result: () => ({ version, loadedAtUs, entryCount: entries.length }),
    };
  };
}

/** One for each moment and name: the prices of a name can be taken back alone. */
function toSchedules(version: string, entries: readonly FeedEntry[]): readonly PriceSchedule[] {
  const byMoment = Map.groupBy(entries, ({ effectiveFromUs = 0 }) => effectiveFromUs);
  return [...byMoment].flatMap(([atUs, ofMoment]) =>
    [...Map.groupBy(ofMoment, ({ name }) => name).values()].map((ofName): PriceSchedule => {
      const change = { kind: "feed", version, entries: ofName.map(toScheduledEntry) } as const;
      return { atUs, change };
    }),
  );
}

function toScheduledEntry({ name, unit, pricePico, when }: FeedEntry): ScheduledEntry {
  return { name, unit, pricePico, ...(when !== undefined && { when }) };
}

/** One for each name and moment. */
export function toBackdatings(entries: readonly FeedEntry[]): readonly Backdating[] {
  const dated = entries.filter(({ effectiveFromUs }) => effectiveFromUs !== undefined);
  return [...Map.groupBy(dated, ({ name }) => name)].flatMap(([name, ofName]) =>
    [...Map.groupBy(ofName, ({ effectiveFromUs = 0 }) => effectiveFromUs)].map(([fromUs, ofMoment]) => {
      const keys = new Set(ofMoment.map(({ unit, when }) => toPriceKey(unit, when)));
      return {
        name,
        fromUs,
        covers: (unit, when) => keys.has(toPriceKey(unit, when)),
        hasVariants: ofMoment.some(({ when }) => when !== undefined),
      } satisfies Backdating;
    }),
  );
}

interface FeedEntries {
  readonly version: string;
  readonly entries: readonly FeedEntry[];
  readonly removed?: readonly PricePlace[];
  readonly isLeftOut?: (entry: FeedEntry) => boolean;
  /** Called for an entry that finds no room in the list of its name: it is left out. */
  readonly onFull: (index: number, entry: FeedEntry) => void;
}

/** Puts the prices that are not there as they are. */
export function planFeedEntries(
  current: CatalogPicture,
  { version, entries, removed = [], isLeftOut = () => false, onFull }: FeedEntries,
): readonly CatalogWrite[] {
  const rows: PriceRow[] = [];
  const lists = new Map<string, VariantRow>();
  const findList = (name: string) => lists.get(name) ?? current.findVariants(name) ?? { variants: [] };
  for (const [index, entry] of entries.entries()) {
    const { name, unit, pricePico, when } = entry;
    if (isLeftOut(entry)) continue;
    if (when === undefined) {
      rows.push({ name, unit, pricePico, feedVersion: version });
      continue;
    }
    const merged = mergePrice(findList(name).variants, { when, unit, pricePico });
    if (merged.length > VARIANTS_MAX) onFull(index, entry);
    else lists.set(name, { name, variants: merged, feedVersion: version });
  }
  const gone: CatalogWrite[] = [];
  for (const { name, unit, when } of removed) {
    if (when !== undefined) {
      const { variants } = findList(name);
      const left = withoutPrice(variants, { when, unit });
      if (left !== variants) lists.set(name, { name, variants: left, feedVersion: version });
    } else if (current.findPrice(name, unit) !== null) {
      gone.push({ kind: "delete_price", name, unit, feedVersion: version });
    }
  }
  const { empty = [], full = [] } = Object.groupBy(lists.values(), ({ variants }) =>
    variants.length === 0 ? "empty" : "full",
  );
  return [
    ...gone,
    ...empty.map(({ name }): CatalogWrite => ({ kind: "delete_variants", name, feedVersion: version })),
    ...planFeedRows(current, rows),
    ...planFeedLists(current, full),
  ];
}

/** Puts the lists that are not there as they are. */
export function planFeedLists(
  current: CatalogPicture,
  lists: readonly VariantRow[],
): readonly CatalogWrite[] {
  const changed = lists.filter((list) => !Bun.deepEquals(current.findVariants(list.name), list, true));
  return changed.map((list): CatalogWrite => ({ kind: "put_variants", list }));
}

/** Puts the rows that are not there as they are. */
export function planFeedRows(current: CatalogPicture, rows: readonly PriceRow[]): readonly CatalogWrite[] {
  const changed = rows.filter((row) => {
    const there = current.findPrice(row.name, row.unit);
    return there?.pricePico !== row.pricePico || there.feedVersion !== row.feedVersion;
  });
  return changed.map((price): CatalogWrite => ({ kind: "put_price", price }));
}

/** Throws `invalid_pricing`. A load that only changes prices that are there is never too many; prices to come of feeds count. */
export function refuseTooManyPrices(
  current: CatalogPicture,
  writes: readonly CatalogWrite[],
  param: string,
): void {
  const after = createWorkingCopy(current);
  after.write(writes);
  const total = after.priceCount + countToCome(after);
  if (total <= PRICES_MAX || total <= current.priceCount + countToCome(current)) return;
  throw new ProxyError(
    "invalid_pricing",
    `At most ${PRICES_MAX} prices are kept; with this feed there would be ${total}, those to come included.`,
    { param },
  );
}

/** Prices that feeds to come will add. */
function countToCome(current: CatalogPicture): number {
  const added = current.schedules.flatMap(({ change }) =>
    change.kind === "model" ? [] : change.entries.filter((entry) => !hasPrice(current, entry)),
  );
  return new Set(added.map(({ name, unit, when }) => `${toPriceKey(unit, when)} ${name}`)).size;
}

function hasPrice(current: CatalogPicture, { name, unit, when }: ScheduledEntry): boolean {
  if (when === undefined) return current.findPrice(name, unit) !== null;
  const key = toConditionsKey(when);
  const list = current.findVariants(name)?.variants ?? [];
  return list.some((variant) => toConditionsKey(variant.when) === key && (variant[unit] ?? null) !== null);
}

/** The versions of list prices begin with it, whatever their day. */
export const LIST_PRICES_LABEL = "list prices";

/** True when a price came from list prices of some day: those of another day may take its place. */
export function isListVersion(version: string | null): boolean {
  return version?.startsWith(`${LIST_PRICES_LABEL} `) === true;
}

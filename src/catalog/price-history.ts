import type { InstantUs } from "#kernel/clock.ts";
import type { ModelPrices, PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import { byUnit, type Unit, UNITS } from "#kernel/units.ts";
import { isListVersion } from "./feed.ts";
import type { Backdating, BegunPrice, HeldPrice, PriceSource, PriceSpan, PriceStamp } from "./held-price.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";
import { toConditionsKey, toPriceKey } from "./variant-list.ts";

/** The steps that bring the history of names to the prices of a changed catalog. */
export interface HistorySteps {
  /** Prices that end at the moment of the change. */
  readonly ended: readonly Pick<HeldPrice, "name" | "unit" | "when">[];
  readonly begun: readonly BegunPrice[];
  /** Names with what was known of them from a moment on and no longer is. */
  readonly superseded: readonly Backdating[];
}

interface HistoryChange {
  readonly writes: readonly CatalogWrite[];
  readonly stamp: PriceStamp;
  readonly atUs: InstantUs;
}

type SheetPrice = Omit<BegunPrice, "fromUs">;
type Sheet = ReadonlyMap<string, SheetPrice>;

/** Compares the prices in force of every name that a change may have touched. */
export function planHistory(
  before: CatalogPicture,
  after: CatalogPicture,
  { writes, stamp, atUs }: HistoryChange,
): HistorySteps {
  // A copy puts its models together each time that it is asked for them.
  const models = new Map(after.models.map((resolved) => [resolved.model.alias, resolved]));
  const backdated = findBackdated(after, indexHeirs(models.values()), stamp.backdated ?? []);
  const dated = new Set(backdated.map(({ name }) => name));
  const names = [...listTouched(before, models, writes)].filter(
    (name) => dated.has(name) || !hasSamePrices(before.findModel(name), models.get(name)),
  );
  return compareSheets(names, {
    was: readSheets(before, names, stamp),
    is: readSheets(after, names, stamp),
    backdated,
    atUs,
  });
}

interface SheetChange {
  readonly was: ReadonlyMap<string, Sheet>;
  readonly is: ReadonlyMap<string, Sheet>;
  readonly backdated: readonly Backdating[];
  readonly atUs: InstantUs;
}

/** The steps that lead from some prices of names to others. */
export function compareSheets(
  names: readonly string[],
  { was, is, backdated, atUs }: SheetChange,
): HistorySteps {
  const ended: HeldPrice[] = [];
  const begun: BegunPrice[] = [];
  const dated = Map.groupBy(backdated, ({ name }) => name);
  for (const name of names) {
    const ofName = dated.get(name) ?? [];
    const findDate = ({ unit, when }: SheetPrice) => ofName.find(({ covers }) => covers(unit, when));
    const [sheetBefore, sheet] = [was.get(name) ?? NO_PRICES, is.get(name) ?? NO_PRICES];
    for (const [key, price] of sheetBefore) {
      if (!isSame(price, sheet.get(key)) && findDate(price) === undefined)
        ended.push({ ...price, fromUs: atUs, untilUs: atUs });
    }
    for (const [key, price] of sheet) {
      const date = findDate(price);
      if (date !== undefined) begun.push({ ...price, fromUs: date.fromUs });
      else if (!isSame(price, sheetBefore.get(key))) begun.push({ ...price, fromUs: atUs });
    }
  }
  return { ended, begun, superseded: backdated };
}

const NO_PRICES: Sheet = new Map();

export function readSheets(
  picture: CatalogPicture,
  names: readonly string[],
  stamp: PriceStamp = {},
): ReadonlyMap<string, Sheet> {
  return new Map(names.map((name) => [name, toSheet(picture, name, stamp)]));
}

/** The aliases that look for their prices under a name, without its own. */
export type Heirs = ReadonlyMap<string, readonly string[]>;

export function indexHeirs(models: Iterable<ResolvedModel>): Heirs {
  const heirs = new Map<string, string[]>();
  for (const { model, bound, upstreamName } of models) {
    for (const name of new Set([bound.alias, upstreamName]))
      if (name !== model.alias) heirs.getOrInsertComputed(name, () => []).push(model.alias);
  }
  return heirs;
}

/** The prices of before there was a history: they begin with their model, those of the relay at no known moment. */
export function planFirstHistory(picture: CatalogPicture): readonly BegunPrice[] {
  const names = new Set([
    ...picture.models.map(({ model }) => model.alias),
    ...picture.prices.map(({ name }) => name),
    ...picture.variantRows.map(({ name }) => name),
  ]);
  return [...names].flatMap((name) => {
    const fromUs = picture.findModel(name)?.model.createdAtUs ?? 0;
    return [...toSheet(picture, name, {}).values()].map((price) => Object.assign({ fromUs }, price));
  });
}

function listTouched(
  before: CatalogPicture,
  after: ReadonlyMap<string, ResolvedModel>,
  writes: readonly CatalogWrite[],
): ReadonlySet<string> {
  const names = new Set([...before.models.map(({ model }) => model.alias), ...after.keys()]);
  for (const write of writes) {
    if (write.kind === "put_price") names.add(write.price.name);
    else if (write.kind === "put_variants") names.add(write.list.name);
    else if (write.kind === "delete_price" || write.kind === "delete_variants") names.add(write.name);
  }
  return names;
}

/** Each for the names as well whose price is the one that was written. */
function findBackdated(
  after: CatalogPicture,
  heirs: Heirs,
  backdated: readonly Backdating[],
): readonly Backdating[] {
  return backdated.flatMap((each) => {
    const ofHeirs = (heirs.get(each.name) ?? []).map((alias): Backdating => {
      const names = listPricedNames(after, alias);
      const isInherited = (unit: Unit, when: PriceConditions | null) => {
        const row =
          when === null ? findFirst(names, (name) => after.findPrice(name, unit)) : findList(after, names);
        return row?.name === each.name && each.covers(unit, when);
      };
      return { name: alias, fromUs: each.fromUs, covers: isInherited };
    });
    return [each, ...ofHeirs];
  });
}

/** The names whose prices are dated back, those that inherit them included, each with the first of its dates. */
export function listRepriced(
  after: CatalogPicture,
  dated: readonly Backdating[],
): ReadonlyMap<string, InstantUs> {
  const own = new Set(dated);
  const first = new Map<string, InstantUs>();
  for (const each of findBackdated(after, indexHeirs(after.models), dated)) {
    const { name, fromUs, covers } = each;
    if (own.has(each) || isCovered(after, name, covers))
      first.set(name, Math.min(first.get(name) ?? fromUs, fromUs));
  }
  return first;
}

/** Marks count as well: they take a price away. */
function isCovered(picture: CatalogPicture, name: string, covers: Backdating["covers"]): boolean {
  if (UNITS.some((unit) => covers(unit, null))) return true;
  const list = findList(picture, listPricedNames(picture, name));
  return (list?.variants ?? []).some(({ when }) => UNITS.some((unit) => covers(unit, when)));
}

function hasSamePrices(was: ResolvedModel | null, is: ResolvedModel | undefined): boolean {
  return (
    was !== null &&
    is !== undefined &&
    UNITS.every((unit) => was.prices[unit] === is.prices[unit]) &&
    Bun.deepEquals(was.variants, is.variants, true)
  );
}

function isSame(price: SheetPrice, other: SheetPrice | undefined): boolean {
  return price.pricePico === other?.pricePico && price.ordinal === other.ordinal;
}

/** The prices of a name, by unit and conditions. */
function toSheet(picture: CatalogPicture, name: string, { source }: PriceStamp): Sheet {
  const names = listPricedNames(picture, name);
  const toSource = (version: string | null): PriceSource => {
    if (version === null) return source ?? "model";
    return isListVersion(version) ? "list" : "feed";
  };
  const sheet = new Map<string, SheetPrice>();
  const add = (
    unit: Unit,
    when: PriceConditions | null,
    of: Pick<SheetPrice, "pricePico" | "ordinal" | "version">,
  ) => void sheet.set(toPriceKey(unit, when), { name, unit, when, ...of, source: toSource(of.version) });
  for (const unit of UNITS) {
    const row = findFirst(names, (each) => picture.findPrice(each, unit));
    if (row !== null && row.pricePico !== null)
      add(unit, null, { pricePico: row.pricePico, ordinal: 0, version: row.feedVersion });
  }
  const list = findList(picture, names);
  for (const [ordinal, { when, ...prices }] of (list?.variants ?? []).entries()) {
    for (const unit of UNITS) {
      const pricePico = prices[unit] ?? null;
      if (pricePico !== null) add(unit, when, { pricePico, ordinal, version: list?.feedVersion ?? null });
    }
  }
  return sheet;
}

/** The names under which the prices of one are looked for: of what is no model itself alone. */
export function listPricedNames(picture: CatalogPicture, name: string): readonly string[] {
  const resolved = picture.findModel(name);
  return resolved === null ? [name] : [name, resolved.bound.alias, resolved.upstreamName];
}

function findFirst<Row>(names: readonly string[], find: (name: string) => Row | null): Row | null {
  for (const name of names) {
    const row = find(name);
    if (row !== null) return row;
  }
  return null;
}

function findList(picture: CatalogPicture, names: readonly string[]) {
  return findFirst(names, (name) => picture.findVariants(name));
}

/** The spans of one name; between two of them nothing changed. */
export function toPriceSpans(held: readonly HeldPrice[]): readonly PriceSpan[] {
  const moments = new Set(
    held.flatMap(({ fromUs, untilUs }) => (untilUs === null ? [fromUs] : [fromUs, untilUs])),
  );
  return [...moments]
    .toSorted((left, right) => left - right)
    .map((fromUs) => ({
      fromUs,
      prices: toModelPrices(
        held.filter((price) => price.fromUs <= fromUs && (price.untilUs === null || fromUs < price.untilUs)),
      ),
    }));
}

function toModelPrices(held: readonly HeldPrice[]): ModelPrices {
  const toPrices = (of: readonly HeldPrice[]) =>
    byUnit(UNITS, (unit) => of.find((price) => price.unit === unit)?.pricePico);
  const lists = Map.groupBy(
    held.filter(({ when }) => when !== null),
    ({ when }) => (when === null ? "" : toConditionsKey(when)),
  );
  const variants = [...lists.values()]
    .toSorted((left, right) => (left[0]?.ordinal ?? 0) - (right[0]?.ordinal ?? 0))
    .map((of): PriceVariant => Object.assign({ when: of[0]?.when ?? {} }, toPrices(of)));
  return { prices: toPrices(held.filter(({ when }) => when === null)), variants };
}

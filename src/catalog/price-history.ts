import type { InstantUs } from "#kernel/clock.ts";
import type { ModelPrices, PriceVariant } from "#kernel/price-variants.ts";
import { byUnit, UNITS } from "#kernel/units.ts";
import { type CorrectedPrice, type CutPrice, type KnownPast, planCorrection } from "./backdating.ts";
import type { BegunPrice, HeldPrice, PriceSpan, PriceStamp } from "./held-price.ts";
import {
  type InheritanceChange,
  listNames,
  type PriceInheritance,
  toInheritance,
  toWrittenName,
} from "./price-inheritance.ts";
import { isSamePrice, type PriceSheet, readSheets } from "./price-sheet.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";
import { toConditionsKey } from "./variant-list.ts";

/** The steps that bring the history of names to the prices of a changed catalog. */
export interface HistorySteps {
  /** Prices that end at the moment of the change. */
  readonly ended: readonly Pick<HeldPrice, "name" | "unit" | "when">[];
  /** Prices whose end another date of theirs has moved. */
  readonly cut: readonly CutPrice[];
  readonly begun: readonly CorrectedPrice[];
  readonly inherited: readonly PriceInheritance[];
}

interface HistoryChange extends InheritanceChange {
  readonly stamp: PriceStamp;
  readonly inherited: readonly PriceInheritance[];
  /** The past of the names that dates reach, `inherited` included; null where no price is dated back. */
  readonly known: KnownPast | null;
}

/** Compares the prices in force of every name that a change may have touched. */
export function planHistory(
  before: CatalogPicture,
  after: CatalogPicture,
  { writes, models, stamp, inherited, known, atUs }: HistoryChange,
): HistorySteps {
  const { backdated = [] } = stamp;
  const corrected = known && planCorrection(after, { backdated, known, stamp, atUs });
  const names = [...listTouched(before, models, writes)].filter(
    (name) => corrected?.names.has(name) !== true && !hasSamePrices(before.findModel(name), models.get(name)),
  );
  const { ended, begun } = compareSheets(names, {
    was: readSheets(before, names, stamp),
    is: readSheets(after, names, stamp),
    atUs,
  });
  return {
    ended,
    cut: corrected?.cut ?? [],
    begun: [...(corrected?.begun ?? []), ...begun],
    inherited: [...inherited, ...(corrected?.inherited ?? [])],
  };
}

interface SheetChange {
  readonly was: ReadonlyMap<string, PriceSheet>;
  readonly is: ReadonlyMap<string, PriceSheet>;
  readonly atUs: InstantUs;
}

/** The steps that lead from some prices of names to others. */
export function compareSheets(
  names: readonly string[],
  { was, is, atUs }: SheetChange,
): { readonly ended: readonly HeldPrice[]; readonly begun: readonly BegunPrice[] } {
  const ended: HeldPrice[] = [];
  const begun: BegunPrice[] = [];
  for (const name of names) {
    const [sheetBefore, sheet] = [was.get(name) ?? NO_PRICES, is.get(name) ?? NO_PRICES];
    for (const [key, price] of sheetBefore)
      if (!isSamePrice(price, sheet.get(key))) ended.push({ ...price, fromUs: atUs, untilUs: atUs });
    for (const [key, price] of sheet)
      if (!isSamePrice(price, sheetBefore.get(key))) begun.push({ ...price, fromUs: atUs });
  }
  return { ended, begun };
}

const NO_PRICES: PriceSheet = new Map();

/** The prices of before there was a history: they begin with their model, those of the relay at no known moment. */
export function planFirstHistory(picture: CatalogPicture): readonly BegunPrice[] {
  const sheets = readSheets(picture, listNames(picture));
  return [...sheets].flatMap(([name, sheet]) => {
    const fromUs = toBegin(picture, name);
    return [...sheet.values()].map((price) => Object.assign({ fromUs }, price));
  });
}

/** What names inherit of before that was kept: what they inherit now. */
export function planFirstInheritance(picture: CatalogPicture): readonly PriceInheritance[] {
  return listNames(picture).map((name) => toInheritance(picture, name, toBegin(picture, name)));
}

function toBegin(picture: CatalogPicture, name: string): InstantUs {
  return picture.findModel(name)?.model.createdAtUs ?? 0;
}

function listTouched(
  before: CatalogPicture,
  after: ReadonlyMap<string, ResolvedModel>,
  writes: readonly CatalogWrite[],
): ReadonlySet<string> {
  const names = new Set([...before.models.map(({ model }) => model.alias), ...after.keys()]);
  for (const write of writes) {
    const name = toWrittenName(write);
    if (name !== null) names.add(name);
  }
  return names;
}

function hasSamePrices(was: ResolvedModel | null, is: ResolvedModel | undefined): boolean {
  return (
    was !== null &&
    is !== undefined &&
    UNITS.every((unit) => was.prices[unit] === is.prices[unit]) &&
    Bun.deepEquals(was.variants, is.variants, true)
  );
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

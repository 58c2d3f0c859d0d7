import type { PriceConditions } from "#kernel/price-variants.ts";
import { type Unit, UNITS } from "#kernel/units.ts";
import { isListVersion } from "./feed.ts";
import type { BegunPrice, PriceSource, PriceStamp } from "./held-price.ts";
import type { CatalogPicture } from "./snapshot.ts";
import { toPriceKey } from "./variant-list.ts";

/** The prices of a name, by `toPriceKey`. */
export type PriceSheet = ReadonlyMap<string, SheetPrice>;
export type SheetPrice = Omit<BegunPrice, "fromUs">;

/** The prices in force of each name, with all that it inherits. */
export function readSheets(
  picture: CatalogPicture,
  names: readonly string[],
  stamp: PriceStamp = {},
): ReadonlyMap<string, PriceSheet> {
  return new Map(names.map((name) => [name, toSheet(picture, listPricedNames(picture, name), stamp)]));
}

/** The prices that are looked for under some names, the first of which they are for. */
export function toSheet(
  picture: CatalogPicture,
  names: readonly string[],
  { source }: PriceStamp = {},
): PriceSheet {
  const [name = ""] = names;
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
  const list = findFirst(names, (each) => picture.findVariants(each));
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

type ComparedPrice = Pick<SheetPrice, "pricePico" | "ordinal">;

export function isSamePrice(price: ComparedPrice | undefined, other: ComparedPrice | undefined): boolean {
  return price?.pricePico === other?.pricePico && price?.ordinal === other?.ordinal;
}

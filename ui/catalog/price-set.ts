import { UNITS, type Unit } from "#kernel/units.ts";
import type { Model, Pricing } from "../api/catalog.ts";

/** Prices per million units as they stand in fields; null is an empty field. */
export type PriceFields = { readonly [unit in Unit]: number | null };
/** Prices per million units; a unit that is absent has none. */
export type Prices = { readonly [unit in Unit]?: number | undefined };

export const NO_PRICES: PriceFields = {
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  audio_seconds: null,
};

const UNITS_ALWAYS_SHOWN: ReadonlySet<Unit> = new Set([
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
]);

/** The units that a table of prices has columns for: the usual ones, and those that a row has a price of. */
export function toShownUnits(rows: readonly { readonly [unit in Unit]?: unknown }[]): readonly Unit[] {
  return UNITS.filter(
    (unit) => UNITS_ALWAYS_SHOWN.has(unit) || rows.some((prices) => prices[unit] !== undefined),
  );
}

export type PriceState =
  /** Kept under the model's own name. */
  | { readonly kind: "own"; readonly pricePerMillion: number }
  /** In force, and kept under the target's or the upstream model's name. */
  | { readonly kind: "inherited"; readonly pricePerMillion: number }
  /** None is known, which is not the same as nothing to pay. */
  | { readonly kind: "unpriced" }
  /** None is known, and none is missed: no request to such a model uses the unit. */
  | { readonly kind: "unused" };

/** The prices that are kept under each name. */
export function toOwnPrices(entries: Pricing["entries"]): ReadonlyMap<string, Prices> {
  const own = new Map<string, { [unit in Unit]?: number }>();
  for (const { model, unit, price_per_million: price } of entries) {
    const prices = own.get(model) ?? {};
    prices[unit] = price;
    own.set(model, prices);
  }
  return own;
}

/** `own`: what is kept under the model's own name; `used`: what its requests did use, whatever it is declared to do. */
export function toPriceState(
  model: Pick<Model, "pricing" | "capabilities">,
  { own, used }: { readonly own: Prices; readonly used: ReadonlySet<Unit> },
  unit: Unit,
): PriceState {
  const inForce = model.pricing[unit];
  if (inForce === undefined)
    return { kind: used.has(unit) || canBePriced(model, unit) ? "unpriced" : "unused" };
  return { kind: own[unit] === undefined ? "inherited" : "own", pricePerMillion: inForce };
}

/** Whether a request to such a model can use the unit: an embedding model gives no output, and caches nothing. */
export function canBePriced({ capabilities }: Pick<Model, "capabilities">, unit: Unit): boolean {
  if (unit === "audio_seconds") return capabilities.includes("transcription");
  const isTextual = capabilities.some((capability) => capability === "chat" || capability === "completions");
  return isTextual || (unit === "input_tokens" && capabilities.includes("embeddings"));
}

/**
 * What stands in the fields of a model. A write of prices is the whole set, so that a model with a binding of its own
 * shows every price in force, and keeps them all as its own when one is changed. A name for a target shows only what
 * it overrides; the rest stays its target's.
 */
export function toPriceFields(model: Pick<Model, "pricing" | "target">, own: Prices): PriceFields {
  const shown = model.target === null ? model.pricing : own;
  return toFields((unit) => shown[unit]);
}

/** The write for these fields: what is empty is left out. */
export function toPricing(fields: PriceFields): { [unit: string]: number } {
  return Object.fromEntries(
    UNITS.flatMap((unit) => {
      const price = fields[unit];
      return price === null ? [] : [[unit, price] as const];
    }),
  );
}

export function isSamePrices(left: PriceFields, right: PriceFields): boolean {
  return UNITS.every((unit) => left[unit] === right[unit]);
}

/** Units of a binding whose price is another name's now, and becomes its own with the next write. */
export function toPinnedUnits(model: Pick<Model, "pricing" | "target">, own: Prices): readonly Unit[] {
  if (model.target !== null) return [];
  return UNITS.filter((unit) => model.pricing[unit] !== undefined && own[unit] === undefined);
}

function toFields(find: (unit: Unit) => number | undefined): PriceFields {
  return {
    input_tokens: find("input_tokens") ?? null,
    output_tokens: find("output_tokens") ?? null,
    cached_input_tokens: find("cached_input_tokens") ?? null,
    audio_seconds: find("audio_seconds") ?? null,
  };
}

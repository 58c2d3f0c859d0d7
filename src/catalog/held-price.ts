import type { InstantUs } from "#kernel/clock.ts";
import type { ModelPrices, PriceConditions } from "#kernel/price-variants.ts";
import type { PricePico, Unit } from "#kernel/units.ts";

/** Where a price came from: a write of its model, a feed, a catalog file, or list prices. */
export const PRICE_SOURCES = ["model", "feed", "import", "list"] as const;
export type PriceSource = (typeof PRICE_SOURCES)[number];

/** A price as it was in force for a name: an alias, with all that it inherits, or a name that only the relay knows. */
export interface HeldPrice {
  readonly name: string;
  readonly unit: Unit;
  /** Null: the standard price. */
  readonly when: PriceConditions | null;
  /** Place of its variant in the list. */
  readonly ordinal: number;
  readonly pricePico: PricePico;
  readonly fromUs: InstantUs;
  /** Null: it holds. */
  readonly untilUs: InstantUs | null;
  readonly source: PriceSource;
  /** The feed's version; null where a model set it. */
  readonly version: string | null;
  /** Absent or null: it counts. Else the moment at which prices that were dated back took its place. */
  readonly supersededUs?: InstantUs | null;
}

/** A price of the history as a store has it. */
export interface KnownPrice extends HeldPrice {
  readonly id: number;
}

/** A price that begins to hold. */
export type BegunPrice = Omit<HeldPrice, "untilUs" | "supersededUs">;

/** Prices that hold from a moment on, until the next ones of the name do. */
export interface PriceSpan {
  readonly fromUs: InstantUs;
  readonly prices: ModelPrices;
}

/** The part of a change of prices that is dated back: these prices of a name, and of what inherited them, held from then on. */
export interface Backdating {
  readonly name: string;
  readonly fromUs: InstantUs;
  /** The model that was written, whatever its alias was then; absent: a feed's, which is of the name. */
  readonly modelId?: string;
  readonly covers: (unit: Unit, when: PriceConditions | null) => boolean;
  /** True where it has prices under conditions. */
  readonly hasVariants: boolean;
}

/** A time in which a name had prices that are dated back. */
export interface RepricedSpan {
  readonly name: string;
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
}

/** What a plan says of the prices that it writes. */
export interface PriceStamp {
  /** Absent: a write of a model. Prices of feeds say it themselves. */
  readonly source?: "import";
  readonly backdated?: readonly Backdating[];
}

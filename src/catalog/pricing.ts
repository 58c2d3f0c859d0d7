import type { InstantUs } from "#kernel/clock.ts";
import type { PricePico, Unit } from "#kernel/units.ts";

/** One price, kept by (name, unit); the name is an alias or an upstream model name (decisions, "Usage and prices"). */
export interface PriceRow {
  readonly name: string;
  readonly unit: Unit;
  /** Per unit; null is the mark "this unit has no price", which a complete write leaves and which ends the lookup. */
  readonly pricePico: PricePico | null;
  /** The feed that set it; null for a price written with a model. */
  readonly feedVersion: string | null;
}

/** The newest load of a pricing feed (specification, section 2.9). */
export interface LoadedFeed {
  /** The feed's own label; loads may repeat it. */
  readonly version: string;
  readonly loadedAtUs: InstantUs;
}

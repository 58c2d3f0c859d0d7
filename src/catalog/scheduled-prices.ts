import { type InstantUs, parseInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import type { PricePico, Unit } from "#kernel/units.ts";

/** Prices with a moment to come, from which they hold. */
export interface PriceSchedule {
  readonly atUs: InstantUs;
  readonly change: ScheduledChange;
}

/** As a store keeps it. */
export interface KeptSchedule extends PriceSchedule {
  readonly id: number;
}

export type ScheduledChange =
  | {
      readonly kind: "model";
      /** Stable over renames. */
      readonly modelId: string;
      /** The complete set; null leaves prices. */
      readonly prices: readonly (readonly [Unit, PricePico])[] | null;
      /** The whole list; null leaves it. */
      readonly variants: readonly PriceVariant[] | null;
    }
  | { readonly kind: "feed"; readonly version: string; readonly entries: readonly ScheduledEntry[] };

export interface ScheduledEntry {
  readonly name: string;
  readonly unit: Unit;
  readonly pricePico: PricePico;
  readonly when?: PriceConditions;
}

/** A moment from which prices hold. Throws `invalid_date`. */
export function parseEffectiveFrom(text: unknown, param: string): InstantUs {
  const atUs = typeof text === "string" ? parseInstant(text) : null;
  if (atUs === null) {
    throw new ProxyError(
      "invalid_date",
      "effective_from is a date in UTC, such as 2026-12-01 or 2026-12-01T12:00:00Z.",
      { param },
    );
  }
  return atUs;
}

import { type InstantUs, parseInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import { type PricePico, type PriceSet, type Unit, UNITS } from "#kernel/units.ts";
import { countPrices, PRICES_MAX } from "./pricing.ts";

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

/** Prices of one name that hold from a moment to come on. */
export interface PricesToCome {
  /** A feed of before prices were kept by name may have several names under one. */
  readonly id: number;
  readonly atUs: InstantUs;
  /** An alias, or a name that prices are kept by. */
  readonly name: string;
  /** The feed's, whose prices leave all others of the name; null of a write of the model, which has whole sets. */
  readonly version: string | null;
  /** Null leaves prices. */
  readonly prices: PriceSet | null;
  /** Null leaves variants. */
  readonly variants: readonly PriceVariant[] | null;
}

/** Prices to come that are in no store. */
export type DraftedPricesToCome = Omit<PricesToCome, "id">;

/** The prices of a set, in the order of units. */
export function toPricePairs(prices: PriceSet): readonly (readonly [Unit, PricePico])[] {
  return UNITS.flatMap((unit) => {
    const price = prices[unit] ?? null;
    return price === null ? [] : [[unit, price] as const];
  });
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

/** Moments to come. Each is a pass over the prices of its names whenever a history or a list of prices to come is read. */
export const MOMENTS_MAX = 1_000;

/** Throws `too_many_schedules`, before anything is kept: the prices to come are read with every change of the catalog. */
export function refuseTooManySchedules(
  { schedules }: { readonly schedules: readonly KeptSchedule[] },
  added: readonly PriceSchedule[],
  param: string,
): void {
  if (added.length === 0) return;
  const all = [...schedules, ...added];
  const moments = new Set(all.map(({ atUs }) => atUs)).size;
  const prices = all.reduce((sum, { change }) => sum + countScheduled(change), 0);
  const excess =
    moments > MOMENTS_MAX
      ? `at up to ${MOMENTS_MAX} moments; with these there would be ${moments}`
      : prices > PRICES_MAX
        ? `up to ${PRICES_MAX} prices; with these there would be ${prices}`
        : null;
  if (excess === null) return;
  throw new ProxyError(
    "too_many_schedules",
    `Prices to come are kept ${excess}. Take some back first: lockport pricing schedule lists them.`,
    { param },
  );
}

function countScheduled(change: ScheduledChange): number {
  if (change.kind === "feed") return change.entries.length;
  const { prices, variants } = change;
  return Math.max(1, (prices?.length ?? 0) + countPrices(variants && { variants }));
}

import type { PriceSet } from "./units.ts";

/** Prices of what has none. */
export const NO_PRICES: ModelPrices = { prices: {}, variants: [] };

/** The prices of a model: those of standard requests, and those that hold under conditions. */
export interface ModelPrices {
  readonly prices: PriceSet;
  /** In the order in which they were written, which decides between equals. */
  readonly variants: readonly PriceVariant[];
}

/** A complete price set, of at least one price, for the requests that meet every condition (specification of money, section 1). */
export type PriceVariant = PriceSet & { readonly when: PriceConditions };

/** At least one condition, in this order. */
export interface PriceConditions {
  /** The service tier that an answer tells (`toConditionName`). */
  readonly tier?: string;
  /** Holds for a request whose whole input, cached and written tokens included, has more tokens. From 1. */
  readonly inputOver?: number;
  /** The region of inference that an answer tells (`toConditionName`). */
  readonly geo?: string;
  /** `HH:MM-HH:MM`, hours of the day in UTC by the end of a request. They may pass midnight, and the end is outside. */
  readonly hours?: string;
}

/** The prices that a request was billed at. None where the answer tells a tier or a region that no price names. */
export type AppliedPrices = PriceSet & {
  /** The conditions of the variant that priced it; absent: the standard prices did. */
  readonly when?: PriceConditions;
  /** The kind of condition that no price names. */
  readonly lacks?: "tier" | "geo";
};

const NAME_LENGTH_MAX = 32;
const FAST = "fast";
/** Ends the name of a tier beside which an answer tells the speed `fast`. */
const BESIDE_FAST = `+${FAST}`;

/** The name of a tier or region, as answers and conditions are compared by it: lower case, `[a-z0-9_-]`, at most 32. */
export function toConditionName(told: string): string {
  return (
    told
      // An answer may tell a name of any length.
      .slice(0, 2 * NAME_LENGTH_MAX)
      .toLowerCase()
      .replace(/[^a-z0-9_-]/gu, "_")
      .slice(0, NAME_LENGTH_MAX)
  );
}

/** The name in reports of what was answered at no tier of its own. */
export const STANDARD_TIER = "standard";
/** Service tiers that have the standard prices. */
export const STANDARD_TIERS: ReadonlySet<string> = new Set(["default", STANDARD_TIER, "auto", "on_demand"]);
/** Regions that have the standard prices. */
export const STANDARD_GEOS: ReadonlySet<string> = new Set(["global", "not_available"]);

/**
 * The name of a service tier, undefined for a standard one. The speed `fast` is the tier `fast`, and beside another tier it
 * ends that one's name: `priority+fast`, which is read back as what it is.
 */
export function toTierName(told: string | null, isFast = false): string | undefined {
  if (told?.toLowerCase().endsWith(BESIDE_FAST) === true)
    return toTierName(told.slice(0, -BESIDE_FAST.length), true);
  const name = told === null ? "" : toConditionName(told);
  const isStandard = name === "" || STANDARD_TIERS.has(name);
  if (!isFast) return isStandard ? undefined : name;
  return isStandard || name === FAST
    ? FAST
    : name.slice(0, NAME_LENGTH_MAX - BESIDE_FAST.length) + BESIDE_FAST;
}

/** The name of a region of inference; undefined for a standard one. */
export function toGeoName(told: string | null): string | undefined {
  const name = told === null ? "" : toConditionName(told);
  return name === "" || STANDARD_GEOS.has(name) ? undefined : name;
}

const MINUTES_PER_HOUR = 60;

/** The minutes of the day at which hours start and end. */
export function toMinutes(hours: string): readonly [start: number, end: number] {
  const toMinute = (from: number) =>
    Number(hours.slice(from, from + 2)) * MINUTES_PER_HOUR + Number(hours.slice(from + 3, from + 5));
  return [toMinute(0), toMinute("HH:MM-".length)];
}

/**
 * Conditions as people read them, on the page and on the command line: `flex, input over 272,000, region us, 01:00-04:00 UTC`.
 * Takes them as they are kept and as they are told (`input_over`).
 */
export function toConditionWords({ tier, inputOver, input_over, geo, hours }: ToldConditions): string {
  const over = inputOver ?? input_over;
  return [
    ...(tier === undefined ? [] : [tier]),
    ...(over === undefined ? [] : [`input over ${over.toLocaleString("en-US")}`]),
    ...(geo === undefined ? [] : [`region ${geo}`]),
    ...(hours === undefined ? [] : [`${hours} UTC`]),
  ].join(", ");
}

type ToldConditions = { readonly [name in keyof PriceConditions]?: PriceConditions[name] | undefined } & {
  readonly input_over?: number | undefined;
};

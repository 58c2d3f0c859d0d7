import type { PriceSet } from "#kernel/units.ts";

const TIER_LENGTH_MAX = 32;
/** What providers call the service that has the usual price. */
const STANDARD_TIERS: ReadonlySet<string> = new Set(["default", "standard", "auto", "on_demand"]);
const FAST = "fast";

/** What an answer tells of its service tier; null for what it tells nothing of. */
export interface ToldTier {
  /** `service_tier` of the answer, or of its `response`. */
  readonly own: string | null;
  /** `service_tier` of its usage. */
  readonly ofUsage: string | null;
  /** `speed` of its usage. */
  readonly speed: string | null;
}

/**
 * The tier that an answer was served at (specification of money, section 1); undefined for the standard one. The speed `fast`
 * is the tier `fast`: a service tier that is told beside it is not kept.
 */
export function toTier({ own, ofUsage, speed }: ToldTier): string | undefined {
  return speed !== null && toName(speed) === FAST ? FAST : toName(own ?? ofUsage);
}

function toName(told: string | null): string | undefined {
  if (told === null) return undefined;
  const name = told
    .slice(0, 2 * TIER_LENGTH_MAX)
    .toLowerCase()
    .replace(/[^a-z0-9_-]/gu, "_")
    .slice(0, TIER_LENGTH_MAX);
  return STANDARD_TIERS.has(name) ? undefined : name;
}

/** A member that may tell a tier; null when it tells nothing. */
export function readTier(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

const NO_PRICES: PriceSet = {};

/** The prices that hold for a tier: prices are kept for the standard one alone, and no other is billed at them. */
export function toTierPrices(prices: PriceSet, tier: string | undefined): PriceSet {
  return tier === undefined ? prices : NO_PRICES;
}

/** Why a request has no price although its model may have one. */
export function toUnpricedReason(tier: string): string {
  return `tier: ${tier}`;
}

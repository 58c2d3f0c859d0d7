import * as fc from "fast-check";
import type { AppliedPrices, ModelPrices, PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import type { PriceSet, Quantities } from "#kernel/units.ts";
import type { ReportedUsage, UsageEvent } from "#usage/event.ts";

/**
 * Section 1 of the specification of money, by brute force: which prices a request is billed at. It shares nothing with the product
 * but the shape of prices.
 */

/** What decides, as an answer tells it. */
export interface Answered {
  readonly tier?: string | undefined;
  readonly geo?: string | undefined;
  readonly usage: ReportedUsage | null;
  readonly endedAtUs: number;
}

/**
 * The variant that holds with the most conditions wins, then the higher `input_over`, then the first. Where none holds, the
 * standard prices do. What prices it must itself name the tier and the region.
 */
export function toApplied(model: ModelPrices, answered: Answered): AppliedPrices {
  const holding = model.variants.filter(({ when }) =>
    Object.entries(HOLDS).every(([name, holds]) => !(name in when) || holds(when, answered)),
  );
  const most = Math.max(0, ...holding.map(({ when }) => Object.keys(when).length));
  const widest = holding.filter(({ when }) => Object.keys(when).length === most);
  const over = Math.max(0, ...widest.map(({ when }) => when.inputOver ?? 0));
  const variant = widest.find(({ when }) => (when.inputOver ?? 0) === over);
  for (const kind of ["tier", "geo"] as const)
    if (answered[kind] !== undefined && variant?.when[kind] !== answered[kind]) return { lacks: kind };
  return variant ?? model.prices;
}

const HOLDS: {
  readonly [name in keyof PriceConditions]-?: (when: PriceConditions, answered: Answered) => boolean;
} = {
  tier: (when, { tier }) => when.tier === tier,
  geo: (when, { geo }) => when.geo === geo,
  inputOver: (when, { usage }) => countInput(usage) > (when.inputOver ?? 0),
  hours: (when, { endedAtUs }) => isWithin(when.hours ?? "", endedAtUs),
};

/** All of it, once: read from a cache, written to one, audio and images included. */
function countInput(usage: ReportedUsage | null): number {
  if (usage === null) return 0;
  const parts = toParts(usage);
  const ofInput = PARTS.flatMap(([part, whole]) => (whole === "input_tokens" ? (parts[part] ?? 0) : 0));
  return (
    ofInput.reduce((sum, quantity) => sum + quantity, parts.input_tokens ?? 0) +
    (parts.cached_input_tokens ?? 0)
  );
}

/** Minute by minute from the start on, around midnight, until the end comes. */
function isWithin(hours: string, endedAtUs: number): boolean {
  const time = new Date(endedAtUs / 1000).toISOString().slice(11, 16);
  const [start = "", end = ""] = hours.split("-");
  const last = end === "24:00" ? "00:00" : end;
  let at = start;
  do {
    if (at === time) return true;
    at = toNextMinute(at);
  } while (at !== last);
  return false;
}

function toNextMinute(time: string): string {
  return new Date(Date.parse(`2026-01-01T${time}:00Z`) + 60_000).toISOString().slice(11, 16);
}

const TIERS = ["flex", "priority+fast"] as const;
const GEOS = ["us"] as const;
/** With the largest of the quantities of events still an amount that the ledger keeps exactly. */
const PRICE_SETS: readonly PriceSet[] = [
  { input_tokens: 2_500_000, output_tokens: 10_000_000, cached_input_tokens: 250_000, audio_seconds: 1 },
  { input_tokens: 3, output_tokens: null },
  { input_tokens: 3_000_000, cache_write_tokens: 3_750_000, cache_write_1h_tokens: 6_000_000 },
  { cache_write_1h_tokens: 6_000_000 },
  { input_tokens: 5, input_audio_tokens: 7, input_image_tokens: 11, output_audio_tokens: 13 },
  { images: 40_000_000_000, search_units: 2_000_000_000, requests: 1_000_000 },
  { requests: 2_500_000_000 },
  { web_searches: 10_000_000_000, requests: null },
  { input_tokens: 0, output_tokens: 0 },
  { input_tokens: 1_000_000_007 },
  { audio_seconds: 6_000_000_123 },
];
export const arbitraryPrices = fc.constantFrom<PriceSet>({}, ...PRICE_SETS);

const conditions: fc.Arbitrary<PriceConditions> = fc
  .record(
    {
      tier: fc.constantFrom(...TIERS),
      inputOver: fc.constantFrom(1, 100, 20_000, 40_000),
      geo: fc.constantFrom(...GEOS),
      hours: fc.constantFrom("01:00-04:00", "22:30-06:00", "12:00-24:00", "00:00-24:00", "23:00-00:30"),
    },
    { requiredKeys: [] },
  )
  .filter((when) => Object.keys(when).length > 0);

/** The prices of a model: in the half of all cases without a variant. No two variants are alike. */
export const arbitraryModelPrices: fc.Arbitrary<ModelPrices> = fc.record({
  prices: arbitraryPrices,
  variants: fc.oneof(
    fc.constant([]),
    fc.uniqueArray(
      fc
        .tuple(fc.constantFrom(...PRICE_SETS), conditions)
        .map(([prices, when]): PriceVariant => Object.assign({}, prices, { when })),
      { minLength: 1, maxLength: 10, selector: ({ when }) => JSON.stringify(when) },
    ),
  ),
});

/** A tier and a region that an answer tells; most tell none. */
export const arbitraryConditions: fc.Arbitrary<Pick<Answered, "tier" | "geo">> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.record(
      { tier: fc.constantFrom(...TIERS), geo: fc.constantFrom(...GEOS) },
      { requiredKeys: [] },
    ),
  },
);

/** Parts, and what each is a part of, in the order in which they are taken out of it. */
export const PARTS = [
  ["cache_write_tokens", "input_tokens"],
  ["cache_write_1h_tokens", "input_tokens"],
  ["input_audio_tokens", "input_tokens"],
  ["input_image_tokens", "input_tokens"],
  ["output_audio_tokens", "output_tokens"],
] as const;
const WHOLE_OF = new Map<string, "input_tokens" | "output_tokens">(PARTS);
export const COUNTED_UNITS = [
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "audio_seconds",
  "images",
  "search_units",
  "web_searches",
  "requests",
] as const;
const BILLED_UNITS = [...COUNTED_UNITS, ...PARTS.map(([part]) => part)];

/**
 * Each token once. An inclusive input contains what was read from a cache, unless that is more, and its parts, as far as the
 * rest goes: the last of them gives way first. So does the output.
 */
export function toParts({ shape, quantities }: ReportedUsage): Quantities {
  const { input_tokens: input, cached_input_tokens: cached = 0 } = quantities;
  if (shape === "exclusive") return quantities;
  const left: { -readonly [unit in keyof Quantities]: number } = { ...quantities };
  if (input !== undefined && cached <= input) left.input_tokens = input - cached;
  for (const [part, whole] of PARTS) {
    const [wanted, rest] = [left[part], left[whole]];
    if (wanted === undefined || rest === undefined) continue;
    left[part] = Math.min(wanted, rest);
    left[whole] = rest - left[part];
  }
  return left;
}

/** The units that are billed, each with its price; null where it has none. */
export function priceUnits(reported: ReportedUsage | null, inForce: PriceSet) {
  const quantities = reported === null ? {} : toParts(reported);
  return BILLED_UNITS.flatMap((unit) => {
    const quantity = quantities[unit];
    // A part costs as much as what it is a part of where it has no price of its own.
    const whole = WHOLE_OF.get(unit);
    const price = inForce[unit] ?? (whole === undefined ? null : inForce[whole]) ?? null;
    return quantity === undefined || (quantity === 0 && whole !== undefined)
      ? []
      : [{ unit, quantity, price }];
  });
}

/** Returns what a request costs: each quantity to a millionth, the sum rounded half up to whole pico. */
export function toMoney({ usage: reported, prices: inForce }: Pick<UsageEvent, "usage" | "prices">) {
  let micros: bigint | null = null;
  let unpriced = false;
  for (const { quantity, price } of priceUnits(reported, inForce)) {
    if (price === null) unpriced ||= quantity > 0;
    else micros = (micros ?? 0n) + toMicros(quantity) * BigInt(price);
  }
  return { costPico: micros === null ? null : (micros + 500_000n) / 1_000_000n, unpriced };
}

export function toMicros(quantity: number): bigint {
  const whole = Math.trunc(quantity);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((quantity - whole) * 1e6));
}

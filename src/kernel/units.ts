import { ProxyError } from "./errors.ts";

/** The metered units, in the order in which they are listed. */
export const UNITS = ["input_tokens", "output_tokens", "cached_input_tokens", "audio_seconds"] as const;
export type Unit = (typeof UNITS)[number];

/** Those that are counted in tokens. */
export const TOKEN_UNITS = UNITS.filter((unit) => unit.endsWith("_tokens"));

export function isUnit(value: unknown): value is Unit {
  return UNITS.some((unit) => unit === value);
}

/** Quantities by unit; an absent unit was not reported, which is not the same as zero. */
export type Quantities = { readonly [unit in Unit]?: number };

/**
 * Exact money: whole numbers of 10⁻¹² of the currency unit ("pico"). Prices are kept per unit, sums are exact,
 * and a JSON number appears only at the edge.
 */
export type Pico = bigint;

/** Price per unit, in pico: a safe integer, so that it is also an exact `number`. */
export type PricePico = number;

/** `null` is the mark "this unit has no price", which stops the lookup; an absent unit says nothing. */
export type PriceSet = { readonly [unit in Unit]?: PricePico | null };

/** 10⁹ currency units per million: far above any price, and its pico are still a safe integer. */
export const PRICE_PER_MILLION_MAX = 1e9;
const PICO_PER_MILLIONTH = 1e6;
/** Pico in one currency unit. */
export const PICO_PER_WHOLE = 1e12;

/**
 * A price per million units, as a client wrote it, in pico per unit.
 * Exact to 10⁻¹² per unit, that is six decimals per million; a finer, negative or absurd one throws `invalid_pricing`.
 */
export function parsePricePerMillion(pricePerMillion: unknown, param: string): PricePico {
  if (
    typeof pricePerMillion !== "number" ||
    !(pricePerMillion >= 0) ||
    pricePerMillion > PRICE_PER_MILLION_MAX
  ) {
    throw new ProxyError(
      "invalid_pricing",
      `A price must be a number from 0 to ${PRICE_PER_MILLION_MAX} per million units.`,
      {
        param,
      },
    );
  }
  const pico = Math.round(pricePerMillion * PICO_PER_MILLIONTH);
  if (!isSamePrice(toPricePerMillion(pico), pricePerMillion)) {
    throw new ProxyError(
      "invalid_pricing",
      "A price is exact to six decimals per million units; this one is finer.",
      { param },
    );
  }
  // Not the -0 that a client may write.
  return pico === 0 ? 0 : pico;
}

/** What a client's own arithmetic leaves behind (`0.1 / 1e6`): two units in the last place, far below any finer price. */
const ROUNDING_MAX = 2 * Number.EPSILON;

/** Whether a number that was written is the one of an exact price, give or take the rounding of doubles. */
export function isSamePrice(exact: number, written: number): boolean {
  return Math.abs(exact - written) <= exact * ROUNDING_MAX;
}

export function toPricePerMillion(pricePico: PricePico): number {
  return pricePico / PICO_PER_MILLIONTH;
}

/** The price of a single unit: both sides of the division are exact, so that the result is the nearest JSON number. */
export function toPricePerUnit(pricePico: PricePico): number {
  return pricePico / PICO_PER_WHOLE;
}

const PICO_DIGITS = 12;

/** The JSON number nearest to an exact amount: made from its decimal text, never by floating-point division. */
export function picoToNumber(amount: Pico): number {
  const negative = amount < 0n;
  const digits = (negative ? -amount : amount).toString().padStart(PICO_DIGITS + 1, "0");
  const text = `${digits.slice(0, -PICO_DIGITS)}.${digits.slice(-PICO_DIGITS)}`;
  return negative ? -Number(text) : Number(text);
}

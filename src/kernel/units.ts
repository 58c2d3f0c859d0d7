import { ProxyError } from "./errors.ts";

interface UnitRow {
  /** What is counted, as in "price per million tokens", and one of it, as in "$0.04 an image". */
  readonly measure: string;
  readonly each: string;
  /** The page's words: for a quantity of it, for the heading of a column, and after a number. */
  readonly label: string;
  readonly heading: string;
  readonly short: string;
  /** Capabilities of the models whose requests use it: forms ask for its price, others fold it away. */
  readonly usedBy: readonly string[];
  /** Lists, tables and files name it only where it occurs: most installations use none of it. */
  readonly isRare?: true;
}

/** A unit of the reports. Tables of totals keep it in `column`, in whole multiples of 1 / `scale` where that is not 1. */
interface ReportUnitRow extends UnitRow {
  readonly detailOf: null;
  readonly column: string;
  readonly scale: number;
}

/**
 * A part of a report's unit that may have a price of its own. Reports count it in `detailOf`, and without a price of its
 * own it costs what `detailOf` costs.
 */
interface DetailUnitRow extends UnitRow {
  readonly detailOf: "input_tokens" | "output_tokens";
}

const TEXTUAL = ["chat", "completions", "responses", "messages"] as const;
/** Requests to these may be told in tokens, or in a unit of their own. */
const TOLD_EITHER_WAY = ["transcription", "images"] as const;
const TOKENS = { measure: "tokens", each: "a token" } as const;

/**
 * The metered units by their wire names, in the order in which they are listed. Columns, sums, prices, JSON, CSV, metrics,
 * the command line and the page come from this table; `usage/usage-accumulator.ts` says where a response tells each.
 */
export const UNIT_TABLE = {
  input_tokens: {
    detailOf: null,
    column: "input_tokens",
    scale: 1,
    ...TOKENS,
    label: "Input tokens",
    heading: "Input",
    short: "in",
    usedBy: [...TEXTUAL, "embeddings", ...TOLD_EITHER_WAY, "speech", "rerank"],
  },
  output_tokens: {
    detailOf: null,
    column: "output_tokens",
    scale: 1,
    ...TOKENS,
    label: "Output tokens",
    heading: "Output",
    short: "out",
    usedBy: [...TEXTUAL, ...TOLD_EITHER_WAY, "speech"],
  },
  cached_input_tokens: {
    detailOf: null,
    column: "cached_input_tokens",
    scale: 1,
    ...TOKENS,
    label: "Cached input tokens",
    heading: "Cached",
    short: "cached",
    usedBy: TEXTUAL,
  },
  audio_seconds: {
    detailOf: null,
    column: "audio_us",
    scale: 1e6,
    measure: "seconds",
    each: "a second",
    label: "Audio seconds",
    heading: "Audio",
    short: "s audio",
    usedBy: ["transcription"],
  },
  cache_write_tokens: {
    detailOf: "input_tokens",
    ...TOKENS,
    label: "Cache write tokens",
    heading: "Cache write",
    short: "cache write",
    usedBy: TEXTUAL,
  },
  cache_write_1h_tokens: {
    detailOf: "input_tokens",
    ...TOKENS,
    label: "Cache write tokens (1 hour)",
    heading: "1h cache write",
    short: "1h cache write",
    usedBy: TEXTUAL,
  },
  input_audio_tokens: {
    detailOf: "input_tokens",
    ...TOKENS,
    label: "Input audio tokens",
    heading: "Audio in",
    short: "audio in",
    usedBy: ["transcription"],
    isRare: true,
  },
  input_image_tokens: {
    detailOf: "input_tokens",
    ...TOKENS,
    label: "Input image tokens",
    heading: "Image in",
    short: "image in",
    usedBy: ["images"],
    isRare: true,
  },
  output_audio_tokens: {
    detailOf: "output_tokens",
    ...TOKENS,
    label: "Output audio tokens",
    heading: "Audio out",
    short: "audio out",
    usedBy: ["speech"],
    isRare: true,
  },
  images: {
    detailOf: null,
    column: "images",
    scale: 1,
    measure: "images",
    each: "an image",
    label: "Images",
    heading: "Images",
    short: "img",
    usedBy: ["images"],
    isRare: true,
  },
  search_units: {
    detailOf: null,
    column: "search_units",
    scale: 1,
    measure: "search units",
    each: "a search unit",
    label: "Search units",
    heading: "Search units",
    short: "search",
    usedBy: ["rerank"],
    isRare: true,
  },
  web_searches: {
    detailOf: null,
    column: "web_searches",
    scale: 1,
    measure: "web searches",
    each: "a web search",
    label: "Web searches",
    heading: "Web searches",
    short: "web search",
    usedBy: ["messages"],
    isRare: true,
  },
  requests: {
    detailOf: null,
    // Every table of totals has a column `requests`: it counts those without a price too.
    column: "priced_by_request",
    scale: 1,
    measure: "requests",
    each: "a request",
    label: "Requests",
    heading: "By request",
    short: "req",
    usedBy: ["speech", "moderation"],
    isRare: true,
  },
} as const satisfies { readonly [unit: string]: ReportUnitRow | DetailUnitRow };

type Table = typeof UNIT_TABLE;
export type Unit = keyof Table;
type DetailUnit = {
  [unit in Unit]: Table[unit] extends DetailUnitRow ? unit : never;
}[Unit];
export type ReportUnit = Exclude<Unit, DetailUnit>;
/** The columns of `ReportUnit`s in tables of totals. */
type UnitColumn = Table[ReportUnit]["column"];

export function isUnit(value: unknown): value is Unit {
  return typeof value === "string" && Object.hasOwn(UNIT_TABLE, value);
}

function isDetailUnit(unit: Unit): unit is DetailUnit {
  return UNIT_TABLE[unit].detailOf !== null;
}

export function isReportUnit(unit: Unit): unit is ReportUnit {
  return !isDetailUnit(unit);
}

export function isRareUnit(unit: Unit): boolean {
  return "isRare" in UNIT_TABLE[unit];
}

/** The report's unit that counts it. */
export function toReportUnit(unit: Unit): ReportUnit {
  return isDetailUnit(unit) ? UNIT_TABLE[unit].detailOf : unit;
}

export const UNITS: readonly Unit[] = Object.keys(UNIT_TABLE).filter(isUnit);
export const REPORT_UNITS: readonly ReportUnit[] = UNITS.filter(isReportUnit);
/** The report's units that count tokens. */
export const TOKEN_UNITS = REPORT_UNITS.filter((unit) => UNIT_TABLE[unit].measure === "tokens");
export const DETAIL_UNITS: readonly DetailUnit[] = UNITS.filter(isDetailUnit);
/** Parts by the report's unit that counts them. */
export const DETAILS_OF: { readonly [unit in ReportUnit]?: readonly DetailUnit[] } = Object.fromEntries(
  REPORT_UNITS.map((unit) => [unit, DETAIL_UNITS.filter((detail) => toReportUnit(detail) === unit)]),
);
export const RARE_UNITS: readonly Unit[] = UNITS.filter(isRareUnit);
export const UNIT_COLUMNS: readonly UnitColumn[] = REPORT_UNITS.map((unit) => UNIT_TABLE[unit].column);

/** Quantities by unit; an absent unit was not reported, which is not the same as zero. */
export type Quantities = { readonly [unit in Unit]?: number };
export type ReportQuantities = { readonly [unit in ReportUnit]?: number };
/** Sums as tables of totals keep them; null when nothing reported the unit. */
export type UnitTotals = { readonly [column in UnitColumn]: number | null };

/** The result of `find` for each of the columns. */
export function toUnitTotals(find: (column: UnitColumn) => number | null): UnitTotals {
  return {
    input_tokens: find("input_tokens"),
    output_tokens: find("output_tokens"),
    cached_input_tokens: find("cached_input_tokens"),
    audio_us: find("audio_us"),
    images: find("images"),
    search_units: find("search_units"),
    web_searches: find("web_searches"),
    priced_by_request: find("priced_by_request"),
  };
}

/** The result of `find` for each of the units, in their order; without those for which it gives undefined. */
export function byUnit<Name extends Unit, Value>(
  units: readonly Name[],
  find: (unit: Name) => Value | undefined,
): { [unit in Name]?: Value } {
  const found: { [unit in Name]?: Value } = {};
  for (const unit of units) {
    const value = find(unit);
    if (value !== undefined) found[unit] = value;
  }
  return found;
}

/** The sum of rows of totals. They are scaled last, since sums of whole numbers do not depend on their order. */
export function toReportQuantities(rows: readonly UnitTotals[]): ReportQuantities {
  return byUnit(REPORT_UNITS, (unit) => {
    const { column, scale } = UNIT_TABLE[unit];
    let sum: number | null = null;
    for (const { [column]: total } of rows) if (total !== null) sum = (sum ?? 0) + total;
    return sum === null ? undefined : sum / scale;
  });
}

/**
 * Exact money: whole numbers of 10⁻¹² of the currency unit ("pico"). Prices are kept per unit, sums are exact,
 * and a JSON number appears only at the edge.
 */
export type Pico = bigint;

/** Price per unit, in pico: a safe integer, so that it is also an exact `number`. */
export type PricePico = number;

/** `null` is the mark "this unit has no price", which stops the lookup; an absent unit says nothing. */
export type PriceSet = { readonly [unit in Unit]?: PricePico | null };

/** The price that a quantity of the unit is multiplied by; null for an unpriced one. A detail falls back to its unit's. */
export function findUnitPrice(prices: PriceSet, unit: Unit): PricePico | null {
  const { detailOf } = UNIT_TABLE[unit];
  return prices[unit] ?? (detailOf === null ? null : (prices[detailOf] ?? null));
}

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

/** True when a number that was written is the one of an exact price, give or take the rounding of doubles. */
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

/** The exact amount that a JSON number from 0 on spells, by its decimal text; rounded half up to whole pico. */
export function numberToPico(amount: number): Pico {
  const [digits = "", exponent = "0"] = String(amount).split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  const places = PICO_DIGITS + Number(exponent) - fraction.length;
  const coefficient = BigInt(whole + fraction);
  if (places >= 0) return coefficient * 10n ** BigInt(places);
  const divisor = 10n ** BigInt(-places);
  return (coefficient + divisor / 2n) / divisor;
}

/** The JSON number nearest to an exact amount: made from its decimal text, never by floating-point division. */
export function picoToNumber(amount: Pico): number {
  return amount < 0n ? -Number(toDecimals(-amount)) : Number(toDecimals(amount));
}

/** The exact amount, from 0 on, as a decimal without an exponent and without trailing zeros: `0.00042`. */
export function picoToDecimal(amount: Pico): string {
  const digits = amount.toString().padStart(PICO_DIGITS + 1, "0");
  const pointAt = digits.length - PICO_DIGITS;
  let end = digits.length;
  while (end > pointAt && digits[end - 1] === "0") end -= 1;
  const whole = digits.slice(0, pointAt);
  return end === pointAt ? whole : `${whole}.${digits.slice(pointAt, end)}`;
}

function toDecimals(amount: Pico): string {
  const digits = amount.toString().padStart(PICO_DIGITS + 1, "0");
  return `${digits.slice(0, -PICO_DIGITS)}.${digits.slice(-PICO_DIGITS)}`;
}

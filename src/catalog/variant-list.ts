import { ProxyError } from "#kernel/errors.ts";
import { isJsonObject } from "#kernel/json.ts";
import {
  type PriceConditions,
  type PriceVariant,
  toGeoName,
  toMinutes,
  toTierName,
} from "#kernel/price-variants.ts";
import { byUnit, type PricePico, type Unit, UNITS } from "#kernel/units.ts";
import { fieldParam, type VariantsDraft } from "./model.ts";
import { parsePricing } from "./price-plan.ts";

/** Each costs a request to the model one comparison. */
export const VARIANTS_MAX = 32;

/**
 * The prices under conditions that a client wrote (specification of money, section 1), with normalized conditions. Throws
 * `invalid_price_variants` and, for a price within, `invalid_pricing`; `param` leads there (`price_variants[1].when.hours`).
 */
export function parsePriceVariants(draft: VariantsDraft, field = "price_variants"): readonly PriceVariant[] {
  const drafts = draft ?? [];
  if (drafts.length > VARIANTS_MAX)
    throw refuse(field, `A model has at most ${VARIANTS_MAX} price variants.`);
  const seen = new Map<string, number>();
  return drafts.map((each, index) => {
    const param = `${field}[${index}]`;
    const variant = parseVariant(each, param);
    const key = toConditionsKey(variant.when);
    const first = seen.get(key);
    if (first !== undefined)
      throw refuse(`${param}.when`, `${field}[${first}] has the same conditions already.`);
    seen.set(key, index);
    return variant;
  });
}

function parseVariant(draft: unknown, param: string): PriceVariant {
  const { when, pricing } = parseMembers(draft, {
    param,
    names: ["when", "pricing"],
    message: "A price variant is an object with when and pricing.",
  });
  const conditions = parseConditions(when, `${param}.when`);
  const prices = parseMembers(pricing, {
    param: `${param}.pricing`,
    message: "pricing is an object of prices.",
  });
  const written = parsePricing(prices, `${param}.pricing`);
  if (written.size === 0) throw refuse(`${param}.pricing`, "A price variant has at least one price.");
  return { when: conditions, ...byUnit(UNITS, (unit) => written.get(unit)) };
}

/**
 * The conditions of a variant or of a feed line: at least one, normalized as what answers tell is. Throws
 * `invalid_price_variants`, param the one that is wrong.
 */
export function parseConditions(draft: unknown, param: string): PriceConditions {
  const { tier, input_over, geo, hours } = parseMembers(draft, {
    param,
    names: ["tier", "input_over", "geo", "hours"],
    message: "when is an object with one or more of tier, input_over, geo and hours.",
  });
  const conditions: PriceConditions = {
    ...(tier !== undefined && {
      tier: parseName(tier, { param: `${param}.tier`, toName: toTierName }),
    }),
    ...(input_over !== undefined && { inputOver: parseInputOver(input_over, `${param}.input_over`) }),
    ...(geo !== undefined && { geo: parseName(geo, { param: `${param}.geo`, toName: toGeoName }) }),
    ...(hours !== undefined && { hours: parseHours(hours, `${param}.hours`) }),
  };
  if (Object.keys(conditions).length === 0)
    throw refuse(param, "At least one condition is needed: tier, input_over, geo or hours.");
  return conditions;
}

interface NameRule {
  readonly param: string;
  /** Undefined for a name that has the standard prices. */
  readonly toName: (told: string) => string | undefined;
}

function parseName(told: unknown, { param, toName }: NameRule): string {
  if (typeof told !== "string" || told === "")
    throw refuse(param, "A tier or a geo is a text that is not empty.");
  const name = toName(told);
  if (name === undefined) throw refuse(param, "Requests of this one have the standard prices: leave it out.");
  return name;
}

function parseInputOver(told: unknown, param: string): number {
  if (typeof told !== "number" || !Number.isSafeInteger(told) || told < 1)
    throw refuse(param, "input_over is a whole number of tokens from 1.");
  return told;
}

/** `24:00` is an end alone. */
const HOURS_PATTERN = /^(?:[01]\d|2[0-3]):[0-5]\d-(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;

function parseHours(told: unknown, param: string): string {
  if (typeof told !== "string" || !HOURS_PATTERN.test(told))
    throw refuse(param, "hours are two times of the day in UTC, such as 22:00-04:00; 24:00 may be the end.");
  const [start, end] = toMinutes(told);
  if (start === end) throw refuse(param, "hours end at another time than they start.");
  return told;
}

const MINUTES_PER_DAY = 1440;

/** Conditions that hold for the same requests have equal keys: hours to `24:00` are hours to `00:00`. */
export function toConditionsKey({ tier, inputOver, geo, hours }: PriceConditions): string {
  const [start, end] = hours === undefined ? [] : toMinutes(hours);
  return JSON.stringify([tier, inputOver, geo, start, end === undefined ? end : end % MINUTES_PER_DAY]);
}

/** Returns what tells the prices of one name apart: by unit and conditions, and the standard ones without any. */
export function toPriceKey(unit: Unit, when: PriceConditions | null | undefined): string {
  return `${unit} ${when === null || when === undefined ? "" : toConditionsKey(when)}`;
}

/** A list in which a variant with these conditions has the price: one that is there, or a new one behind the others. */
export function mergePrice(
  variants: readonly PriceVariant[],
  {
    when,
    unit,
    pricePico,
  }: { readonly when: PriceConditions; readonly unit: Unit; readonly pricePico: PricePico },
): readonly PriceVariant[] {
  const key = toConditionsKey(when);
  const at = variants.findIndex((variant) => toConditionsKey(variant.when) === key);
  const there = variants[at];
  return there === undefined
    ? [...variants, { when, [unit]: pricePico }]
    : variants.with(at, { ...there, [unit]: pricePico });
}

/** The list without this price, and without a variant that has no other; the same list where it has none. */
export function withoutPrice(
  variants: readonly PriceVariant[],
  { when, unit }: { readonly when: PriceConditions; readonly unit: Unit },
): readonly PriceVariant[] {
  const key = toConditionsKey(when);
  const at = variants.findIndex((variant) => toConditionsKey(variant.when) === key);
  const there = variants[at];
  if (there === undefined || (there[unit] ?? null) === null) return variants;
  const prices = byUnit(UNITS, (other) => (other === unit ? undefined : there[other]));
  return Object.keys(prices).length === 0
    ? variants.toSpliced(at, 1)
    : variants.with(at, { when: there.when, ...prices });
}

type Members = { readonly [name: string]: unknown };

interface MembersRule {
  readonly param: string;
  /** Absent: any. */
  readonly names?: readonly string[];
  readonly message: string;
}

function parseMembers(draft: unknown, { param, names, message }: MembersRule): Members {
  if (!isJsonObject(draft)) throw refuse(param, message);
  const unknown = names === undefined ? undefined : Object.keys(draft).find((name) => !names.includes(name));
  if (unknown !== undefined) throw refuse(fieldParam(param, unknown), message);
  return draft;
}

function refuse(param: string, message: string): ProxyError {
  return new ProxyError("invalid_price_variants", message, { param });
}

import { CONNECTION_FAILURES, type ConnectionFailure } from "#kernel/connection-failure.ts";
import { type Outcome, type UsageShape, OUTCOMES, USAGE_SHAPES } from "./event.ts";
import { type PriceSet, type Quantities, byUnit, UNITS } from "#kernel/units.ts";

/** Fields of a journal's lines, each taken for something that can be stored, whatever stands there. */

/** In the year 2255: leaves room below 2^53 for ids that count on from a shared instant. */
const ARRIVAL_US_MAX = 9e15;
/** 115 days, longer than an answer in the background is waited for: 900,000 of them still add up to an INTEGER. */
export const DURATION_US_MAX = 1e13;

export function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function toTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

/** Whole and not negative: what an INTEGER column takes, whatever a caller handed in. */
export function toCount(value: unknown): number {
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
}

export function toArrival(value: unknown): number {
  return Math.min(toCount(value), ARRIVAL_US_MAX);
}

export function toDuration(value: unknown): number {
  return Math.min(toCount(value), DURATION_US_MAX);
}

export function toOutcome(value: unknown): Outcome {
  return OUTCOMES.find((outcome) => outcome === value) ?? "unreachable";
}

export function toFailure(value: unknown): ConnectionFailure | undefined {
  return CONNECTION_FAILURES.find((failure) => failure === value);
}

export function toShape(value: unknown): UsageShape | null {
  return USAGE_SHAPES.find((shape) => shape === value) ?? null;
}

type Members = ReadonlyMap<string, unknown>;

export function toMembers(value: unknown): Members | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : null;
}

export function toQuantities(members: Members): Quantities {
  return byUnit(UNITS, (unit) => {
    const quantity = members.get(unit);
    return typeof quantity === "number" && quantity >= 0 ? quantity : undefined;
  });
}

/** In the order of UNITS, so that equal sets have equal texts. Also reads a price set back from its stored JSON text. */
export function toPrices(value: unknown): PriceSet {
  const members = toMembers(value);
  return byUnit(UNITS, (unit) => {
    const price = members?.get(unit);
    return price === null || typeof price === "number" ? price : undefined;
  });
}

import { type PriceSet, type Unit, UNITS } from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";

const isPriced = (prices: PriceSet, unit: Unit) => (prices[unit] ?? null) !== null;

/** Whether prices are by the request and by nothing else: what its answer tells is then not asked for. */
export function isPricedByRequestAlone(prices: PriceSet): boolean {
  return isPriced(prices, "requests") && !UNITS.some((unit) => unit !== "requests" && isPriced(prices, unit));
}

/**
 * The usage with the request itself, where `prices` has a price for it: of one metered request that its upstream answered
 * 2xx. An answer that told nothing else stays without its usage, unless nothing else has a price; one that is still to be
 * told is counted with what settles it.
 */
export function withBilledRequest(usage: ReportedUsage | null, prices: PriceSet): ReportedUsage | null {
  if (!isPriced(prices, "requests") || usage?.shape === "pending") return usage;
  const shape = usage?.shape ?? (isPricedByRequestAlone(prices) ? "inclusive" : "begun");
  return { shape, quantities: { ...usage?.quantities, requests: 1 } };
}

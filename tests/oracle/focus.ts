import { expect } from "bun:test";
import Papa from "papaparse";
import { formatInstant } from "#kernel/clock.ts";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import { type Answered, priceUnits } from "./pricing.ts";

/** A request as it is priced by now. */
export interface BilledRequest extends Pick<Answered, "tier" | "geo" | "usage"> {
  readonly model: string;
  readonly beganAtUs: number;
  readonly applied: AppliedPrices;
}

interface Billed {
  readonly quantity: number;
  /** In pico; null where there is no price, which `reason` then says. */
  readonly cost: bigint | null;
  readonly reason: string;
}

/** Compares a file of FOCUS with what is known of the requests of its month, by day, model, unit, tier and reason: to the pico. */
export function expectFocus(csv: string, requests: readonly BilledRequest[]): void {
  const { data } = Papa.parse<{ readonly [column: string]: string }>(csv.trimEnd(), { header: true });
  const told = data.map((row) => ({
    place: [row["ChargePeriodStart"]?.slice(0, 10), row["ServiceName"], row["x_Unit"], row["x_Tier"]],
    quantity: Number(row["ConsumedQuantity"]),
    cost: row["BilledCost"] === "" ? null : toPico(row["BilledCost"] ?? ""),
    reason: row["x_UnpricedReason"] ?? "",
  }));
  const known = requests.flatMap(({ model, beganAtUs, applied, ...answered }) => {
    const { tier, usage } = answered;
    const { lacks } = applied;
    const lacking = lacks === undefined ? "no price" : `${lacks}: ${answered[lacks]}`;
    return priceUnits(usage, applied)
      .filter(({ quantity }) => quantity > 0)
      .map(({ unit, quantity, price }) => ({
        place: [formatInstant(beganAtUs).slice(0, 10), model, unit, tier ?? ""],
        quantity,
        cost: price === null ? null : BigInt(quantity) * BigInt(price),
        reason: price === null ? lacking : "",
      }));
  });
  expect(toSums(told)).toEqual(toSums(known));
}

function toSums(rows: readonly (Billed & { readonly place: readonly unknown[] })[]) {
  const sums = new Map<string, Billed>();
  for (const { place, reason, quantity, cost } of rows) {
    const key = [...place, reason].join(" ");
    const sum = sums.get(key) ?? { quantity: 0, cost: cost === null ? null : 0n, reason };
    sums.set(key, {
      reason,
      quantity: sum.quantity + quantity,
      cost: cost === null || sum.cost === null ? null : sum.cost + cost,
    });
  }
  return sums;
}

function toPico(decimal: string): bigint {
  const [whole = "0", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
}

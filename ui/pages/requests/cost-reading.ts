import { picoToNumber, type Unit, UNITS } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import { toBilledUnits } from "#views/request-units.ts";
import type { RequestRow } from "../../api/reports.ts";

type Metered = Pick<RequestRow, "units" | "unit_prices" | "unit_details" | "cost">;

/** One product of the sum that makes a cost. */
export interface CostLine {
  readonly unit: Unit;
  readonly quantity: number;
  /** Null: the unit has no price, and no part in the sum. */
  readonly pricePerMillion: number | null;
  /** In the currency unit, nearest to the exact product; null without a price. */
  readonly amount: number | null;
}

/** How a row's cost comes out of its quantities and prices: the amounts add up to it. */
export function readCost(row: Metered): readonly CostLine[] {
  const billed = toBilledUnits(row);
  return UNITS.flatMap((unit) => {
    const line = billed[unit];
    if (line === undefined) return [];
    const { quantity, price: pricePerMillion } = line;
    return [{ unit, quantity, pricePerMillion, amount: toAmount(unit, quantity, pricePerMillion) }];
  });
}

/** Whether something of it has no price beside what has one: the cost is then too low. */
export function isPartlyPriced(row: Metered): boolean {
  const isUnpriced = ({ quantity, pricePerMillion }: CostLine) => quantity > 0 && pricePerMillion === null;
  return row.cost !== null && readCost(row).some(isUnpriced);
}

const PICO_PER_MILLIONTH = 1e6;

/** As the server prices it: a price in JSON is per million, and in pico per unit it is whole. */
function toAmount(unit: Unit, quantity: number, pricePerMillion: number | null): number | null {
  if (pricePerMillion === null) return null;
  const prices = { [unit]: Math.round(pricePerMillion * PICO_PER_MILLIONTH) };
  const { costPico } = priceUsage({ shape: "exclusive", quantities: { [unit]: quantity } }, prices);
  return costPico === null ? null : picoToNumber(costPico);
}

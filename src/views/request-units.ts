import {
  byUnit,
  findUnitPrice,
  isReportUnit,
  REPORT_UNITS,
  toPricePerMillion,
  toReportUnit,
  UNITS,
  type PriceSet,
  type ReportQuantities,
  type Unit,
} from "#kernel/units.ts";
import { toBilledQuantities } from "#usage/cost.ts";
import type { ReportedUsage } from "#usage/event.ts";

/** Quantities and prices of a row of the request log, as its JSON tells them and as a reader of it takes them. */
export interface RequestUnits {
  /** As the upstream reported them. */
  readonly units: ReportQuantities;
  /** Per million; null for a unit without a price. */
  readonly unit_prices: { readonly [unit in Unit]?: number | null };
  /** Units that were billed otherwise than the other two tell; absent when there are none. */
  readonly unit_details?: UnitDetails;
}

type UnitDetails = { readonly [unit in Unit]?: BilledUnit };

export interface BilledUnit {
  readonly quantity: number;
  /** Per million; null for none. */
  readonly price: number | null;
}

export function toRequestUnits(usage: ReportedUsage | null, prices: PriceSet) {
  const reported = usage?.quantities ?? {};
  const billed = usage === null ? {} : toBilledQuantities(usage);
  const toPrice = (unit: Unit) => {
    const pricePico = findUnitPrice(prices, unit);
    return pricePico === null ? null : toPricePerMillion(pricePico);
  };
  const units = byUnit(REPORT_UNITS, (unit) => reported[unit]);
  const details = byUnit(UNITS, (unit): BilledUnit | undefined => {
    const quantity = billed[unit] ?? 0;
    const isTold = isReportUnit(unit) ? quantity === (reported[unit] ?? 0) : quantity === 0;
    return isTold ? undefined : { quantity, price: toPrice(unit) };
  });
  return {
    units,
    unit_prices: byUnit(REPORT_UNITS, (unit) => (units[unit] === undefined ? undefined : toPrice(unit))),
    ...(Object.keys(details).length > 0 && { unit_details: details }),
  };
}

/** The units that a row was billed for: quantity × price, summed over these, is its cost. */
export function toBilledUnits(row: RequestUnits): UnitDetails {
  const { units, unit_prices: prices, unit_details: details = {} } = row;
  const reported = byUnit(REPORT_UNITS, (unit) => {
    const quantity = units[unit];
    return quantity === undefined ? undefined : { quantity, price: prices[unit] ?? null };
  });
  return byUnit(UNITS, (unit) => details[unit] ?? (isReportUnit(unit) ? reported[unit] : undefined));
}

/** The quantities as reports count them: input at the full rate with what was written to a cache, cache reads beside it. */
export function toReportUnits(row: RequestUnits): ReportQuantities {
  const sums: { [unit in Unit]?: number } = {};
  const billed = toBilledUnits(row);
  for (const unit of UNITS) {
    const quantity = billed[unit]?.quantity;
    const counted = toReportUnit(unit);
    if (quantity !== undefined) sums[counted] = (sums[counted] ?? 0) + quantity;
  }
  return byUnit(REPORT_UNITS, (unit) => sums[unit]);
}

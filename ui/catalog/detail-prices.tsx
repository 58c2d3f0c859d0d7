import type { ReactNode } from "react";
import { DETAIL_UNITS, type Unit, UNIT_TABLE } from "#kernel/units.ts";
import { formatMoney, formatMoneyExact } from "../text/format.ts";
import type { Prices } from "./price-set.ts";

export interface WithDetailPricesProps {
  readonly unit: Unit;
  /** Those in force. */
  readonly prices: Prices;
  /** The price of the unit itself. */
  readonly children: ReactNode;
}

/** A cell with the price of a unit, and below it the prices of its details: cache writes stand below input. */
export function WithDetailPrices({ unit, prices, children }: WithDetailPricesProps) {
  const details = DETAIL_UNITS.flatMap((detail) => {
    const price = prices[detail];
    return price === undefined || UNIT_TABLE[detail].detailOf !== unit ? [] : [{ detail, price }];
  });
  if (details.length === 0) return children;
  return (
    <span className="flex flex-col items-end gap-0.5">
      {children}
      {details.map(({ detail, price }) => (
        <span
          key={detail}
          className="text-xs leading-4 whitespace-normal text-ink-faint"
          title={`${UNIT_TABLE[detail].label}, dollars per million: ${formatMoneyExact(price)}`}
        >
          {formatMoney(price)} {UNIT_TABLE[detail].short}
        </span>
      ))}
    </span>
  );
}

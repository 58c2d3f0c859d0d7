import type { ReactNode } from "react";
import { toConditionWords } from "#kernel/price-variants.ts";
import { UNIT_TABLE } from "#kernel/units.ts";
import { Cost } from "../components/cost.tsx";
import { WithDetailPrices } from "./detail-prices.tsx";
import { type PriceVariants, toShownUnits } from "./price-set.ts";

export interface VariantTableProps {
  readonly label: string;
  readonly variants: PriceVariants;
  /** Stands at the end of a row. */
  readonly action?: ((index: number, words: string) => ReactNode) | undefined;
}

/** A variant that is being written. */
export const NO_CONDITION = "no condition yet";

/** The prices of each variant, with details below the unit that counts them. */
export function VariantTable({ label, variants, action }: VariantTableProps) {
  const units = toShownUnits(variants.map(({ pricing }) => pricing)).filter((unit) =>
    variants.some(({ pricing }) => pricing[unit] !== undefined),
  );
  return (
    <div role="region" aria-label={label} tabIndex={0} className="overflow-x-auto">
      <table className="w-full text-left text-xs">
        <caption className="sr-only">{label}, per million</caption>
        <thead className="text-ink-soft">
          <tr className="border-b border-line">
            <th scope="col" className="py-1.5 pr-2 font-medium">
              When
            </th>
            {units.map((unit) => (
              <th
                key={unit}
                scope="col"
                className="px-2 py-1.5 text-right font-medium whitespace-nowrap"
                title={`${UNIT_TABLE[unit].label}, dollars per million`}
              >
                {UNIT_TABLE[unit].heading}
              </th>
            ))}
            {action !== undefined && (
              <th scope="col" className="py-1.5 pl-2">
                <span className="sr-only">Change</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {variants.map(({ when, pricing }, index) => {
            const words = toConditionWords(when) || NO_CONDITION;
            return (
              <tr key={index} className="border-b border-line">
                <th scope="row" className="min-w-24 py-1.5 pr-2 font-normal break-words text-ink">
                  {words}
                </th>
                {units.map((unit) => (
                  <td key={unit} className="px-2 py-1.5 text-right whitespace-nowrap">
                    <WithDetailPrices unit={unit} prices={pricing}>
                      <Cost value={pricing[unit] ?? null} />
                    </WithDetailPrices>
                  </td>
                ))}
                {action !== undefined && <td className="py-1 pl-2 text-right">{action(index, words)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

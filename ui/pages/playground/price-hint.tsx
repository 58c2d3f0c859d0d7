import { UNITS } from "#kernel/units.ts";
import { Unpriced } from "../../components/money.tsx";
import { UNIT_LABEL } from "../../components/units.tsx";
import { formatMoney } from "../../text/format.ts";
import type { ModelChoice } from "./model-choice.ts";

/** What a model costs, before one asks it. */
export function PriceHint({ pricing }: Pick<ModelChoice, "pricing">) {
  const prices = UNITS.flatMap((unit) => {
    const price = pricing[unit];
    return price === undefined ? [] : [`${UNIT_LABEL[unit].toLowerCase()} ${formatMoney(price)}`];
  });
  if (prices.length === 0) {
    return (
      <>
        <Unpriced /> Its requests are recorded without a cost.
      </>
    );
  }
  return `Per million: ${prices.join(", ")}.`;
}

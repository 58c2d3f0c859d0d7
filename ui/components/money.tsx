import { type ReactNode } from "react";
import { formatMoney, formatMoneyExact } from "../text/format.ts";
import { Badge } from "./chip.tsx";

export interface MoneyProps {
  /** Null when nothing was priced, which is not a cost of nothing. */
  readonly value: number | null;
  /** Unpriced units beside priced ones: the sum is too low, and says so. */
  readonly isPartial?: boolean | undefined;
}

/** An amount of money, its exact value in the title; `unpriced` is a state of its own. */
export function Money({ value, isPartial = false }: MoneyProps): ReactNode {
  if (value === null) return <Unpriced />;
  return (
    <span
      className="whitespace-nowrap"
      title={
        isPartial
          ? `${formatMoneyExact(value)}, without the units that have no price`
          : formatMoneyExact(value)
      }
    >
      {formatMoney(value)}
      {isPartial && <span className="text-warn">+</span>}
    </span>
  );
}

/** The mark of a unit, a model or a request that has no price. */
export function Unpriced(): ReactNode {
  return (
    <Badge tone="warn" title="No price is set, which is not the same as $0">
      unpriced
    </Badge>
  );
}

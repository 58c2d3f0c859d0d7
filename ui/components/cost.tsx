import { type ReactNode } from "react";
import { REPORT_UNITS, type ReportQuantities, UNIT_TABLE } from "#kernel/units.ts";
import {
  formatCents,
  formatCount,
  formatCountCompact,
  formatMoney,
  formatMoneyExact,
} from "../text/format.ts";
import { Badge } from "./chip.tsx";
import { classNames } from "./class-names.ts";
import { Absent } from "./empty.tsx";

export interface CostProps {
  /** Dollars. Null when nothing was priced, which is not a cost of nothing. */
  readonly value: number | null;
  /** Unpriced units beside priced ones: the sum is too low, and says so. */
  readonly unpriced?: boolean | undefined;
  /** False: nothing was used at all, which has no cost and needs no price. */
  readonly used?: boolean | undefined;
  /** Always two decimals, beside amounts of dollars. */
  readonly inCents?: boolean | undefined;
  /** Why prices do not hold for it, such as `tier: flex`, where that is what it lacks. */
  readonly reason?: string | undefined;
}

/**
 * An amount of money, its exact value in the title. In a column of a table (`costColumn`) the decimal points stand under one
 * another. `Unpriced` is a state of its own, never $0.
 */
export function Cost({
  value,
  unpriced: isPartial = false,
  used = true,
  inCents = false,
  reason,
}: CostProps): ReactNode {
  if (value === null) return used ? <Unpriced reason={reason} /> : <Absent />;
  const [dollars, decimals = ""] = (inCents ? formatCents : formatMoney)(value).split(".");
  const exact = formatMoneyExact(value);
  return (
    <span
      className="whitespace-nowrap"
      title={isPartial ? `${exact}, without the units that have no price` : exact}
    >
      {dollars}.
      <span
        className={classNames(
          "cost-decimals",
          isPartial && "after:absolute after:text-warn after:content-['+']",
        )}
        // Inline, and no box of that width: a screen reader would read the amount in two.
        style={{ paddingRight: `calc(var(--decimals) * 0.64em - ${decimals.length}ch)` }}
      >
        {decimals}
      </span>
    </span>
  );
}

/** The mark of a unit, a model or a request that has no price. */
export function Unpriced({ reason }: Pick<CostProps, "reason">): ReactNode {
  const title =
    reason === undefined
      ? "No price is set, which is not the same as $0"
      : `Prices do not hold for it (${reason}), which is not the same as $0`;
  return (
    <Badge tone="warn" title={title}>
      Unpriced
    </Badge>
  );
}

/** The number of decimals that `Cost` writes; none where it writes no amount. */
export function countDecimals(value: number | null): number {
  return value === null ? 0 : (formatMoney(value).split(".")[1]?.length ?? 0);
}

/** Quantities in one line, `12.3k in · 840 out`; the whole numbers are in the title. None at all is a dash. */
export function Units({ units }: { readonly units: ReportQuantities }): ReactNode {
  const parts = REPORT_UNITS.flatMap((unit) => {
    const quantity = units[unit];
    return quantity === undefined ? [] : [{ unit, quantity }];
  });
  if (parts.length === 0) return <Absent />;
  return (
    <span
      className="whitespace-nowrap"
      title={parts
        .map(({ unit, quantity }) => `${UNIT_TABLE[unit].label}: ${formatCount(quantity)}`)
        .join("\n")}
    >
      {parts.map(({ unit, quantity }, index) => (
        <span key={unit}>
          {index > 0 && <span className="text-ink-faint"> · </span>}
          {formatCountCompact(quantity)} <span className="text-ink-faint">{UNIT_TABLE[unit].short}</span>
        </span>
      ))}
    </span>
  );
}

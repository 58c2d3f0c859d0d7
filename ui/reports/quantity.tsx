import { Absent } from "../components/empty.tsx";
import { Money } from "../components/money.tsx";
import { formatCount, formatCountCompact } from "../text/format.ts";

/** Tokens in a narrow cell, the whole number in its title; a dash where no provider reported any. */
export function Quantity({ value }: { readonly value: number | null | undefined }) {
  if (value === null || value === undefined) return <Absent />;
  return <span title={formatCount(value)}>{formatCountCompact(value)}</span>;
}

interface UsageCostProps {
  readonly cost: number | null;
  /** Used without a price, beside what is in `cost` or instead of it. */
  readonly hasUnpriced: boolean;
}

/** Nothing used at all has no cost, which is not the same as a missing price. */
export function UsageCost({ cost, hasUnpriced }: UsageCostProps) {
  if (cost === null && !hasUnpriced) return <Absent />;
  return <Money value={cost} isPartial={hasUnpriced} />;
}

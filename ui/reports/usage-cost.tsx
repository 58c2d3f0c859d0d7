import { Absent } from "../components/absent.tsx";
import { Money } from "../components/money.tsx";

export interface UsageCostProps {
  readonly cost: number | null;
  /** Used without a price, beside what is in `cost` or instead of it. */
  readonly hasUnpriced: boolean;
}

/** Nothing used at all has no cost, which is not the same as a missing price. */
export function UsageCost({ cost, hasUnpriced }: UsageCostProps) {
  if (cost === null && !hasUnpriced) return <Absent />;
  return <Money value={cost} isPartial={hasUnpriced} />;
}

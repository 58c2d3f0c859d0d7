import { toFailedShare } from "#stats/failed-share.ts";
import { Cost } from "../../components/cost.tsx";
import type { Companion } from "../../reports/companions.ts";
import type { Group } from "../../reports/groups.ts";
import { toCost } from "../../reports/totals.ts";
import { formatCountCompact, formatPercent } from "../../text/format.ts";

interface GroupCardProps {
  readonly group: Group;
  readonly companion: Companion | undefined;
}

/** A group in two lines, where there is no room for columns. */
export function GroupCard({ group, companion }: GroupCardProps) {
  const failed = toFailedShare(group);
  return (
    <span className="flex min-w-0 flex-col gap-0.5">
      <span className="flex min-w-0 items-baseline justify-between gap-3">
        <span className="truncate" title={group.label}>
          {group.label}
        </span>
        <Cost {...toCost(group)} />
      </span>
      <span className="flex min-w-0 justify-between gap-3 text-xs font-normal text-ink-soft">
        <span className="truncate" title={companion?.name}>
          {companion?.name}
        </span>
        <span className="shrink-0">
          {formatCountCompact(group.requests)} requests
          {failed !== null && failed > 0 && ` · ${formatPercent(failed)} failed`}
        </span>
      </span>
    </span>
  );
}

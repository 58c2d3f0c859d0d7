import { useRouter, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { EmptyState } from "../../components/empty.tsx";
import { useIsWide } from "../../components/room.ts";
import { DataTable } from "../../components/table.tsx";
import type { Companion } from "../../reports/companions.ts";
import { toFigureSums } from "../../reports/figure-columns.tsx";
import { type Group, toGroupSearch } from "../../reports/groups.ts";
import type { Stack } from "../../reports/stack.ts";
import { toTotals } from "../../reports/totals.ts";
import { BREAKDOWN_LABELS, type Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { readSort, toSort, toSortSearch } from "../../search/sort.ts";
import { GroupCard } from "./group-card.tsx";
import type { Speeds } from "./use-speeds.ts";
import { toBreakdownColumns } from "./breakdown-columns.tsx";

export interface BreakdownTableProps {
  readonly stack: Stack;
  readonly companions: ReadonlyMap<string, Companion>;
  readonly speeds: Speeds;
  readonly report: Report;
  readonly busy: boolean;
}

/** From this width of the window each kind of token has a column, and the share has one. */
const ROOMY_PX = 1500;

/** The groups with their figures, the largest first; a row narrows the page to its group, and cuts that by something else. */
export function BreakdownTable({ stack, companions, speeds, report, busy }: BreakdownTableProps) {
  const { groups, measure, cut, totals } = stack;
  const isRoomy = useIsWide(ROOMY_PX);
  const columns = useMemo(
    () => toBreakdownColumns({ stack, companions, speeds, isRoomy }),
    [stack, companions, speeds, isRoomy],
  );
  const card = useCallback(
    (group: Group) => <GroupCard group={group} companion={companions.get(group.id)} />,
    [companions],
  );
  const router = useRouter();
  const here = useSearch({ strict: false });
  const rowHref = useCallback(
    (group: Group) => {
      const search = toGroupSearch(group, cut);
      return search === null ? null : router.buildLocation({ to: ".", search: { ...here, ...search } }).href;
    },
    [cut, router, here],
  );
  const sums = useMemo(() => toTotals(totals), [totals]);
  const chosen = toSort(readSort(here));
  const isColumn = columns.some(({ id }) => id === chosen?.id);
  const sort = isColumn ? chosen : { id: toFirstSort(measure, isRoomy), descending: true };
  return (
    <DataTable
      caption={`Usage by ${BREAKDOWN_LABELS[cut.by].toLowerCase()}`}
      columns={columns}
      rows={groups}
      getRowId={toId}
      sort={sort}
      onSort={(next) => report.change(toSortSearch(next))}
      busy={busy}
      hasFixedColumns
      rowHref={rowHref}
      rowLabel={toRowLabel}
      onRowActivate={(group) => {
        const search = toGroupSearch(group, cut);
        if (search !== null) report.change(search);
      }}
      card={card}
      empty={<EmptyState icon="usage" title="Nothing was used in this window" />}
      footer={{
        name: "Total",
        ...toFigureSums(sums, speeds.total),
      }}
    />
  );
}

/** The measure's own column; the tokens of all kinds have none where each kind has one. */
function toFirstSort(measure: Measure, isRoomy: boolean): string {
  return measure === "tokens" && isRoomy ? "share" : measure;
}

function toId({ id }: Group): string {
  return id;
}

function toRowLabel(): string {
  return "alone";
}

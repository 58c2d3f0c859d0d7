import { useMemo } from "react";
import { byUnit, type ReportUnit, TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { OTHER_ID } from "../../charts/series.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { Cost } from "../../components/cost.tsx";
import { Absent, EmptyState } from "../../components/empty.tsx";
import type { Column } from "../../components/column.ts";
import { ShareBar } from "../../components/share-bar.tsx";
import { DataTable } from "../../components/table.tsx";
import { BREAKDOWN_LABELS } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { formatCount, formatPercent } from "../../text/format.ts";
import { Quantity } from "../../reports/quantity.tsx";
import type { Group } from "../../reports/groups.ts";
import { addKnown, MEASURE_LABELS, toMeasured } from "../../reports/measure.ts";
import { toTrend, type Stack } from "../../reports/stack.ts";
import { toTotals } from "../../reports/totals.ts";

export interface BreakdownTableProps {
  readonly stack: Stack;
  readonly report: Report;
  readonly busy: boolean;
}

/** The groups with their figures, the largest first; a name adds its filter. */
export function BreakdownTable({ stack, report, busy }: BreakdownTableProps) {
  const { groups, measure, cut, totals } = stack;
  const columns = useMemo(() => toColumns(stack, report), [stack, report]);
  const sums = useMemo(() => toTotals(totals), [totals]);
  const name = BREAKDOWN_LABELS[cut.by].toLowerCase();
  return (
    <DataTable
      // Another measure is another order to begin with.
      key={measure}
      caption={`Usage by ${name}`}
      columns={columns}
      rows={groups}
      getRowId={toId}
      sort={{
        id: measure === "cost" ? "cost" : measure === "requests" ? "requests" : "share",
        descending: true,
      }}
      busy={busy}
      hasFixedColumns
      empty={<EmptyState icon="usage" title="Nothing was used in this window" />}
      footer={{
        name: "Total",
        requests: formatCount(sums.requests),
        cancelled: formatCount(sums.cancelled),
        failed: formatCount(sums.failed),
        ...byUnit(TOKEN_UNITS, (unit) => <Quantity value={sums.units[unit]} />),
        cost: <GroupCost cost={sums.cost} unpriced_requests={sums.unpricedRequests} />,
      }}
    />
  );
}

function toId({ id }: Group): string {
  return id;
}

function toColumns({ groups, measure, cut }: Stack, report: Report): readonly Column<Group>[] {
  const total = groups.reduce<number | null>((sum, group) => addKnown(sum, toMeasured(group, measure)), null);
  const toShare = (group: Group) => {
    const value = toMeasured(group, measure);
    return value === null || total === null || total === 0 ? null : value / total;
  };
  return [
    {
      id: "name",
      header: BREAKDOWN_LABELS[cut.by],
      rowHeader: true,
      width: "w-40",
      cell: (group) => <Name group={group} report={report} />,
      sortValue: ({ label }) => label,
    },
    toCountColumn("requests", "Requests", ({ requests }) => requests),
    toCountColumn("cancelled", "Cancelled", ({ cancelled }) => cancelled),
    toCountColumn("failed", "Failed", ({ failed }) => failed),
    ...TOKEN_UNITS.map(toUnitColumn),
    {
      id: "cost",
      header: "Cost",
      align: "end",
      width: "w-24",
      amount: ({ cost }) => cost,
      cell: GroupCost,
      sortValue: exceptOther(({ cost }) => cost),
    },
    {
      id: "share",
      header: "Share",
      headerTitle: `Of the ${MEASURE_LABELS[measure].toLowerCase()} in this table`,
      align: "end",
      width: "w-27",
      cell: (group) => <Share share={toShare(group)} />,
      sortValue: exceptOther(toShare),
    },
    {
      id: "trend",
      header: "Trend",
      headerTitle: `${MEASURE_LABELS[measure]} over the window`,
      width: "w-28",
      cell: (group) => <Sparkline values={toTrend(group, measure)} width={88} height={20} />,
    },
  ];
}

/** The sum of the smallest groups comes last, whatever its size. */
function exceptOther(of: (group: Group) => number | null | undefined): (group: Group) => number | null {
  return (group) => (group.id === OTHER_ID ? null : (of(group) ?? null));
}

function GroupCost({ cost, unpriced_requests: unpriced }: Pick<Group, "cost" | "unpriced_requests">) {
  return <Cost value={cost} unpriced={unpriced > 0} used={cost !== null || unpriced > 0} />;
}

function toCountColumn(id: string, header: string, of: (group: Group) => number): Column<Group> {
  return {
    id,
    header,
    align: "end",
    width: "w-22",
    cell: (group) => formatCount(of(group)),
    sortValue: exceptOther(of),
  };
}

function toUnitColumn(unit: ReportUnit): Column<Group> {
  const { heading } = UNIT_TABLE[unit];
  return {
    id: unit,
    header: heading,
    headerTitle: `${heading} tokens`,
    align: "end",
    width: "w-19",
    cell: ({ units }) => <Quantity value={units[unit]} />,
    sortValue: exceptOther(({ units }) => units[unit]),
  };
}

function Name({ group, report }: { readonly group: Group; readonly report: Report }) {
  const { label, patch } = group;
  if (patch === null) return <span className="text-ink-soft">{label}</span>;
  return (
    <button
      type="button"
      title={`Only ${label}`}
      onClick={() => report.change(patch)}
      className="max-w-full truncate rounded text-left font-medium text-ink hover:text-accent hover:underline"
    >
      {label}
    </button>
  );
}

const BAR_PX = 40;

function Share({ share }: { readonly share: number | null }) {
  if (share === null) return <Absent />;
  return (
    <span className="flex items-center justify-end gap-2">
      <ShareBar share={share} widthPx={BAR_PX} />
      <span className="w-11">{formatPercent(share)}</span>
    </span>
  );
}

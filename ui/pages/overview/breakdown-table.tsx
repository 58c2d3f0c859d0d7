import { useMemo } from "react";
import { Sparkline } from "../../charts/sparkline.tsx";
import { Absent } from "../../components/absent.tsx";
import { EmptyState } from "../../components/empty.tsx";
import type { Column } from "../../components/column.ts";
import { ShareBar } from "../../components/share-bar.tsx";
import { LateVirtualBody } from "../../components/late-virtual-body.tsx";
import { DataTable, ROWS_DRAWN_MAX } from "../../components/table.tsx";
import { BREAKDOWN_LABELS } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { formatCount, formatPercent } from "../../text/format.ts";
import { Quantity } from "../../reports/quantity.tsx";
import type { Group } from "./groups.ts";
import { addKnown, MEASURE_LABELS, toMeasured } from "../../reports/measure.ts";
import type { Stack } from "./stack.ts";
import { UsageCost } from "../../reports/usage-cost.tsx";

export interface BreakdownTableProps {
  readonly stack: Stack;
  readonly report: Report;
  readonly busy: boolean;
}

/** The groups with their figures, the largest first; a name adds its filter. */
export function BreakdownTable({ stack, report, busy }: BreakdownTableProps) {
  const { groups, measure, cut } = stack;
  const columns = useMemo(() => toColumns(stack, report), [stack, report]);
  const sums = useMemo(() => toSums(groups), [groups]);
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
      body={groups.length > ROWS_DRAWN_MAX ? LateVirtualBody : undefined}
      empty={
        <EmptyState
          icon="usage"
          title="Nothing was answered in this window"
          body="Requests that failed are not in this table: they are on the page Errors."
        />
      }
      footer={{
        name: "Together",
        requests: formatCount(sums.requests),
        cancelled: formatCount(sums.cancelled),
        input: <Quantity value={sums.input} />,
        output: <Quantity value={sums.output} />,
        cached: <Quantity value={sums.cached} />,
        cost: <UsageCost cost={sums.cost} hasUnpriced={sums.hasUnpriced} />,
      }}
    />
  );
}

function toId({ id }: Group): string {
  return id;
}

function toColumns({ groups, measure, cut, trends }: Stack, report: Report): readonly Column<Group>[] {
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
      width: "w-72",
      cell: (group) => <Name group={group} report={report} />,
      sortValue: ({ label }) => label,
    },
    {
      id: "requests",
      header: "Requests",
      align: "end",
      width: "w-28",
      cell: ({ requests }) => formatCount(requests),
      sortValue: ({ requests }) => requests,
    },
    {
      id: "cancelled",
      header: "Cancelled",
      align: "end",
      width: "w-28",
      cell: ({ cancelled }) => formatCount(cancelled),
      sortValue: ({ cancelled }) => cancelled,
    },
    toUnitColumn("input", "Input", ({ units }) => units.input_tokens),
    toUnitColumn("output", "Output", ({ units }) => units.output_tokens),
    toUnitColumn("cached", "Cached", ({ units }) => units.cached_input_tokens),
    {
      id: "cost",
      header: "Cost",
      align: "end",
      width: "w-28",
      cell: ({ cost, hasUnpriced }) => <UsageCost cost={cost} hasUnpriced={hasUnpriced} />,
      sortValue: ({ cost }) => cost,
    },
    {
      id: "share",
      header: "Share",
      headerTitle: `Of the ${MEASURE_LABELS[measure].toLowerCase()} in this table`,
      align: "end",
      width: "w-28",
      cell: (group) => <Share share={toShare(group)} />,
      sortValue: toShare,
    },
    {
      id: "trend",
      header: "Trend",
      headerTitle: `${MEASURE_LABELS[measure]} over the window, of those that have a colour in the chart`,
      width: "w-32",
      cell: ({ id }) => <Trend values={trends.get(id)} />,
    },
  ];
}

function toUnitColumn(id: string, header: string, of: (group: Group) => number | undefined): Column<Group> {
  return {
    id,
    header,
    headerTitle: `${header} tokens`,
    align: "end",
    width: "w-28",
    cell: (group) => <Quantity value={of(group)} />,
    sortValue: (group) => of(group) ?? null,
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

function Trend({ values }: { readonly values: readonly (number | null)[] | undefined }) {
  if (values === undefined) return <Absent />;
  return <Sparkline values={values} width={88} height={20} />;
}

function toSums(groups: readonly Group[]) {
  const add = (of: (group: Group) => number | null | undefined) =>
    groups.reduce<number | null>((sum, group) => addKnown(sum, of(group)), null);
  return {
    requests: add(({ requests }) => requests) ?? 0,
    cancelled: add(({ cancelled }) => cancelled) ?? 0,
    input: add(({ units }) => units.input_tokens),
    output: add(({ units }) => units.output_tokens),
    cached: add(({ units }) => units.cached_input_tokens),
    cost: add(({ cost }) => cost),
    hasUnpriced: groups.some(({ hasUnpriced }) => hasUnpriced),
  };
}

import type { ReactNode } from "react";
import { toCounted } from "#kernel/text.ts";
import { type ReportUnit, TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { type Paint, Swatch, toPaints } from "../../charts/paint.tsx";
import { OTHER_ID } from "../../charts/series.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { type Column, costColumn } from "../../components/column.ts";
import { Absent } from "../../components/empty.tsx";
import { ShareBar } from "../../components/share-bar.tsx";
import type { Companion } from "../../reports/companions.ts";
import type { Group } from "../../reports/groups.ts";
import { addKnown, countTokens, MEASURE_LABELS, toMeasured } from "../../reports/measure.ts";
import { Quantity } from "../../reports/quantity.tsx";
import { toTrend, type Stack } from "../../reports/stack.ts";
import { toCost, toFailedShare, type Totals } from "../../reports/totals.ts";
import { BREAKDOWN_LABELS } from "../../search/breakdown.ts";
import { formatCount, formatPercent } from "../../text/format.ts";

export interface BreakdownColumnsOptions {
  readonly stack: Stack;
  /** By group; empty while they are not known. */
  readonly companions: ReadonlyMap<string, Companion>;
  /** There is room for each kind of token, and for shares. */
  readonly isRoomy: boolean;
}

/** What the groups are told by. */
export function toBreakdownColumns({
  stack,
  companions,
  isRoomy,
}: BreakdownColumnsOptions): readonly Column<Group>[] {
  const { measure, cut } = stack;
  const toCompanionName = ({ id }: Group) => companions.get(id)?.name ?? null;
  const [header, headerTitle] =
    cut.by === "model"
      ? ["Provider", "The provider of most of it"]
      : ["Top model", "The model that cost most, of answered and cancelled requests"];
  return [
    {
      id: "name",
      header: BREAKDOWN_LABELS[cut.by],
      rowHeader: true,
      width: "w-44",
      cell: toName(stack),
      sortValue: ({ label }) => label,
    },
    {
      id: "companion",
      header,
      headerTitle,
      width: "w-32",
      cell: ({ id }) => <CompanionName companion={companions.get(id)} />,
      sortValue: toCompanionName,
    },
    figureColumn(
      { id: "requests", header: "Requests", width: "w-22", of: ({ requests }) => requests },
      formatCount,
    ),
    figureColumn(
      {
        id: "failed",
        header: "Failed",
        headerTitle: "Failed requests, of all",
        width: "w-19",
        of: toFailedShare,
        title: ({ failed, cancelled, requests }) =>
          `${formatCount(failed)} of ${formatCount(requests)} failed, ${formatCount(cancelled)} were cancelled`,
      },
      formatPercent,
    ),
    ...(isRoomy ? TOKEN_UNITS.map(toUnitColumn) : [TOKENS]),
    costColumn({
      id: "cost",
      header: "Cost",
      width: "w-26",
      value: toCost,
      sortValue: exceptOther(({ cost }) => cost),
    }),
    costColumn({
      id: "each",
      header: "Cost/request",
      headerTitle: "Cost of a request that has a cost, on average",
      width: "w-27",
      value: (group) => ({
        value: toCostPerRequest(group),
        used: group.cost === null && group.unpriced_requests > 0,
      }),
      sortValue: exceptOther(toCostPerRequest),
    }),
    ...(isRoomy ? [toShareColumn(stack)] : []),
    {
      id: "trend",
      header: "Trend",
      headerTitle: `${MEASURE_LABELS[measure]} over the window`,
      width: "w-28",
      cell: (group) => <Sparkline values={toTrend(group, measure)} width={88} height={20} />,
    },
  ];
}

/** Dollars; null where nothing has a cost. Failed and unpriced requests have none, and are not counted. */
export function toCostPerRequest({
  requests,
  failed,
  unpriced_requests: unpriced,
  cost,
}: Pick<Totals, "requests" | "failed" | "unpriced_requests" | "cost">): number | null {
  const priced = requests - failed - unpriced;
  return cost === null || priced <= 0 ? null : cost / priced;
}

/** The sum of the smallest groups comes last, whatever its size. */
function exceptOther(of: (group: Group) => number | null | undefined): (group: Group) => number | null {
  return (group) => (group.id === OTHER_ID ? null : (of(group) ?? null));
}

interface FigureOptions extends Pick<Column<Group>, "id" | "header" | "headerTitle" | "width"> {
  readonly of: (group: Group) => number | null;
  readonly title?: (group: Group) => string;
}

function figureColumn(
  { of, title, ...column }: FigureOptions,
  format: (value: number) => string,
): Column<Group> {
  return {
    ...column,
    align: "end",
    sortValue: exceptOther(of),
    cell: (group) => {
      const value = of(group);
      return value === null ? <Absent /> : <span title={title?.(group)}>{format(value)}</span>;
    },
  };
}

/** All kinds in one figure, where there is no room for each. */
const TOKENS: Column<Group> = {
  id: "tokens",
  header: "Tokens",
  headerTitle: TOKEN_UNITS.map((unit) => UNIT_TABLE[unit].heading).join(", "),
  align: "end",
  width: "w-20",
  cell: ({ units }) => <Quantity value={countTokens(units)} />,
  sortValue: exceptOther(({ units }) => countTokens(units)),
};

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

/** With the color that the name has in the chart. */
function toName({ series }: Stack): (group: Group) => ReactNode {
  const paints = new Map(toPaints(series).map((paint, index) => [series[index]?.id, paint]));
  return ({ id, label, patch }) => (
    <span className="flex min-w-0 items-center gap-2">
      <Swatch id={`row-${id}`} paint={paints.get(id) ?? NO_PAINT} />
      <span className={patch === null ? "truncate text-ink-soft" : "truncate"} title={label}>
        {label}
      </span>
    </span>
  );
}

const NO_PAINT: Paint = { colour: "none", texture: null };

function CompanionName({ companion }: { readonly companion: Companion | undefined }) {
  if (companion === undefined || companion.name === "") return <Absent />;
  const { name, moreCount } = companion;
  return (
    <span title={moreCount === 0 ? name : `${name}, and ${toCounted(moreCount, "other")}`}>
      <span className="text-ink-soft">{name}</span>
      {moreCount > 0 && <span className="text-xs text-ink-faint"> +{moreCount}</span>}
    </span>
  );
}

const BAR_PX = 40;

function toShareColumn({ groups, measure }: Stack): Column<Group> {
  const total = groups.reduce<number | null>((sum, group) => addKnown(sum, toMeasured(group, measure)), null);
  const toShare = (group: Group) => {
    const value = toMeasured(group, measure);
    return value === null || total === null || total === 0 ? null : value / total;
  };
  return {
    id: "share",
    header: "Share",
    headerTitle: `Of the ${MEASURE_LABELS[measure].toLowerCase()} in this table`,
    align: "end",
    width: "w-27",
    cell: (group) => <Share share={toShare(group)} />,
    sortValue: exceptOther(toShare),
  };
}

function Share({ share }: { readonly share: number | null }) {
  if (share === null) return <Absent />;
  return (
    <span className="flex items-center justify-end gap-2">
      <ShareBar share={share} widthPx={BAR_PX} />
      <span className="w-11">{formatPercent(share)}</span>
    </span>
  );
}

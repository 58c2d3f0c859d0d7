import type { ReactNode } from "react";
import { toCounted } from "#kernel/text.ts";
import { type ReportUnit, TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { type Paint, Swatch, toPaints } from "../../charts/paint.tsx";
import { OTHER_ID } from "../../charts/series.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { type Column, costColumn } from "../../components/column.ts";
import { Absent } from "../../components/empty.tsx";
import { Duration } from "../../components/instant.tsx";
import { ShareBar } from "../../components/share-bar.tsx";
import type { Companion } from "../../reports/companions.ts";
import type { Group } from "../../reports/groups.ts";
import { addKnown, countTokens, MEASURE_LABELS, toMeasured } from "../../reports/measure.ts";
import { Quantity } from "../../reports/quantity.tsx";
import { toTrend, type Stack } from "../../reports/stack.ts";
import { toCost, toFailedShare } from "../../reports/totals.ts";
import { BREAKDOWN_LABELS, type Measure } from "../../search/breakdown.ts";
import type { Speeds } from "./use-speeds.ts";
import { formatCount, formatPercent } from "../../text/format.ts";

export interface BreakdownColumnsOptions {
  readonly stack: Stack;
  /** By group; empty while they are not known. */
  readonly companions: ReadonlyMap<string, Companion>;
  readonly speeds: Speeds;
  /** There is room for each kind of token, for shares and for trends. */
  readonly isRoomy: boolean;
}

/** What the groups are told by. */
export function toBreakdownColumns({
  stack,
  companions,
  speeds,
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
      width: "w-40",
      cell: toName(stack),
      sortValue: ({ label }) => label,
    },
    {
      id: "companion",
      header,
      headerTitle,
      width: "w-28",
      cell: ({ id }) => <CompanionName companion={companions.get(id)} />,
      sortValue: toCompanionName,
    },
    figureColumn(
      { id: "requests", header: "Requests", width: "w-20", of: ({ requests }) => requests },
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
      width: "w-25",
      value: toCost,
      sortValue: exceptOther(({ cost }) => cost),
    }),
    costColumn({
      id: "each",
      header: "Cost/request",
      headerTitle: "Cost of a request that has a cost, on average",
      width: "w-27",
      value: ({ id }) => ({ value: speeds.groups.get(id)?.cost_per_request ?? null, used: false }),
    }),
    toSpeedColumn("p50", speeds),
    toSpeedColumn("p95", speeds),
    ...(isRoomy ? [toShareColumn(stack)] : []),
    ...(isRoomy ? [toTrendColumn(measure)] : []),
  ];
}

const SPEED_TITLES = {
  p50: "Half of the requests that were answered took no longer",
  p95: "95 of 100 requests that were answered took no longer",
} as const;

function toSpeedColumn(id: keyof typeof SPEED_TITLES, { groups, reason }: Speeds): Column<Group> {
  const of = (group: Group) => groups.get(group.id)?.duration_ms[id] ?? null;
  return {
    id,
    header: id,
    headerTitle: reason ?? SPEED_TITLES[id],
    align: "end",
    width: id === "p95" ? "w-24" : "w-20",
    sortValue: of,
    cell: (group) => <Duration durationMs={of(group)} />,
  };
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

function toTrendColumn(measure: Measure): Column<Group> {
  return {
    id: "trend",
    header: "Trend",
    headerTitle: `${MEASURE_LABELS[measure]} over the window`,
    width: "w-28",
    cell: (group) => <Sparkline values={toTrend(group, measure)} width={88} height={20} />,
  };
}

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

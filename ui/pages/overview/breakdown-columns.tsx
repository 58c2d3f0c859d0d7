import type { ReactNode } from "react";
import { toCounted } from "#kernel/text.ts";
import { type Paint, Swatch, toPaints } from "../../charts/paint.tsx";
import { OTHER_ID } from "../../charts/series.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import type { Column } from "../../components/column.ts";
import { Absent } from "../../components/empty.tsx";
import { ShareBar } from "../../components/share-bar.tsx";
import type { Companion } from "../../reports/companions.ts";
import type { Group } from "../../reports/groups.ts";
import { toFigureColumns } from "../../reports/figure-columns.tsx";
import { addKnown, MEASURE_LABELS, toMeasured } from "../../reports/measure.ts";
import { toTrend, type Stack } from "../../reports/stack.ts";
import { BREAKDOWN_LABELS, type Measure } from "../../search/breakdown.ts";
import type { Speeds } from "./use-speeds.ts";
import { formatPercent } from "../../text/format.ts";

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
    ...toFigureColumns<Group>({
      toSpeed: ({ id }) => speeds.groups.get(id) ?? null,
      reason: speeds.reason,
      isRoomy,
      isRest,
    }),
    ...(isRoomy ? [toShareColumn(stack)] : []),
    ...(isRoomy ? [toTrendColumn(measure)] : []),
  ];
}

/** The sum of the smallest groups comes last, whatever its size. */
function isRest({ id }: Group): boolean {
  return id === OTHER_ID;
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

const NO_PAINT: Paint = { color: "none", texture: null };

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
    sortValue: (group) => (isRest(group) ? null : toShare(group)),
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

import type { ReactNode } from "react";
import { byUnit, type ReportUnit, TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { toFailedShare } from "#stats/breakdown.ts";
import type { Breakdown as BreakdownReport, CacheUse } from "../api/reports.ts";
import { Swatch, toPaints } from "../charts/paint.tsx";
import { OTHER_ID } from "../charts/series.ts";
import { Sparkline } from "../charts/sparkline.tsx";
import { type Column, costColumn } from "../components/column.ts";
import { Cost } from "../components/cost.tsx";
import { Absent } from "../components/empty.tsx";
import { EntityLink } from "../components/entity-link.tsx";
import { Duration } from "../components/instant.tsx";
import { ShareBar } from "../components/share-bar.tsx";
import { BREAKDOWN_LABELS, type Measure } from "../search/breakdown.ts";
import { formatCount, formatCountCompact, formatPercent } from "../text/format.ts";
import { addKnown, countTokens, MEASURE_LABELS, toCost, toMeasured, type Totals } from "./figures.ts";
import { type Group, hasCompanions } from "./groups.ts";
import { type Scope, type Stack, toTrend } from "./stack.ts";

/** The names that go with a group, the most expensive first: providers of a model, endpoints of one's own, models of everything else. */
export type Companions = ReadonlyMap<string, readonly string[]>;

/** What a request costs on average, and how long it takes, in milliseconds; a percentile that cannot be told is null. */
type Speed = Pick<BreakdownReport["total"], "cost_per_request" | "duration_ms">;

export interface Speeds {
  /** By group; one that is not told apart is missing. */
  readonly groups: ReadonlyMap<string, Speed>;
  /** Null while it is on its way. */
  readonly total: Speed | null;
  /** Why there are no percentiles, in words; null when there are. */
  readonly reason: string | null;
  /** Answers with success that told no usage; null while it is not known. */
  readonly unmetered: number | null;
  /** What prompt caches gave and saved in all; null while it is not known. */
  readonly cache: CacheUse | null;
}

export interface ColumnsOptions {
  readonly scope: Scope;
  readonly stack: Stack;
  readonly companions: Companions;
  readonly speeds: Speeds;
  /** There is room for each kind of token, for shares and for trends. */
  readonly isRoomy: boolean;
  /** There is no room beside the usual figures, which would scroll sideways. */
  readonly isTight: boolean;
}

/** As the order stands in the address. */
export const NAME_IDS = { team: "name", own: "model" } as const;

/** The name of the groups. */
export function toColumns({
  scope,
  stack,
  companions,
  speeds,
  isRoomy,
  isTight,
}: ColumnsOptions): readonly Column<Group>[] {
  const { measure, cut, series } = stack;
  const paints = new Map(toPaints(series).map((paint, index) => [series[index]?.id, paint]));
  const [id, header, headerTitle] =
    scope === "own"
      ? ["endpoint", "Endpoint", "Where requests were answered"]
      : cut.by === "model"
        ? ["companion", "Provider", "The provider of most of it"]
        : ["companion", "Top model", "The model that cost most, of answered and cancelled requests"];
  const companion: Column<Group> = {
    id,
    header,
    headerTitle,
    width: "w-28 min-[1400px]:w-48",
    cell: (group) => <CompanionNames names={companions.get(group.id) ?? []} />,
    sortValue: (group) => companions.get(group.id)?.[0] ?? null,
  };
  const columns: readonly Column<Group>[] = [
    {
      id: NAME_IDS[scope],
      header: BREAKDOWN_LABELS[cut.by],
      rowHeader: true,
      // All that the other columns leave, where they leave enough.
      width: "max-[1250px]:w-64",
      // With the color that the name has in the chart.
      cell: (group) => (
        <span className="flex min-w-0 items-center gap-2">
          <Swatch id={`row-${group.id}`} paint={paints.get(group.id) ?? NO_PAINT} />
          <GroupName {...{ scope, group, companions }} />
        </span>
      ),
      sortValue: ({ label }) => label,
    },
    ...(hasCompanions(cut) ? [companion] : []),
    ...toFigureColumns(stack, speeds, isRoomy),
    ...(isRoomy ? [toShareColumn(stack), toTrendColumn(measure)] : []),
  ];
  return isTight ? columns.filter(({ id: of }) => ![companion.id, "each", "p95"].includes(of)) : columns;
}

const NO_PAINT = { color: "none", texture: null } as const;

/** Relayed requests ask for an upstream name, which is no alias here. */
export function GroupName({
  scope,
  group,
  companions,
}: Pick<ColumnsOptions, "scope" | "companions"> & { readonly group: Group }) {
  const { id, label, patch } = group;
  const isAlias =
    scope === "own" && companions.get(id)?.some((endpoint) => !endpoint.startsWith("/")) === true;
  return (
    <span className={patch === null ? "truncate text-ink-soft" : "truncate"} title={label}>
      {isAlias && patch !== null ? <EntityLink kind="model" name={label} /> : label}
    </span>
  );
}

function CompanionNames({ names }: { readonly names: readonly string[] }) {
  const [first = ""] = names;
  if (first === "") return <Absent />;
  return (
    <span title={names.join(", ")}>
      <span className="text-ink-soft">{first}</span>
      {names.length > 1 && <span className="text-xs text-ink-faint"> +{names.length - 1}</span>}
    </span>
  );
}

const SPEED_TITLES = {
  p50: "Half of the requests that were answered took no longer",
  p95: "95 of 100 requests that were answered took no longer",
} as const;

/** Requests, failures, tokens, cost, and how long a request takes. */
function toFigureColumns(
  stack: Stack,
  { groups, reason }: Speeds,
  isRoomy: boolean,
): readonly Column<Group>[] {
  const toUnitColumn = (unit: ReportUnit): Column<Group> => {
    const { heading } = UNIT_TABLE[unit];
    return {
      id: unit,
      header: heading,
      headerTitle: `${heading} tokens`,
      align: "end",
      width: "w-19",
      cell: ({ units }) => <Quantity value={units[unit]} />,
      sortValue: exceptRest(({ units }) => units[unit]),
    };
  };
  const toSpeedColumn = (id: keyof typeof SPEED_TITLES): Column<Group> => {
    const of = (group: Group) => groups.get(group.id)?.duration_ms[id] ?? null;
    return {
      id,
      header: id,
      headerTitle: reason ?? SPEED_TITLES[id],
      align: "end",
      width: id === "p95" ? "w-26" : "w-20",
      sortValue: of,
      cell: (group) => <Duration durationMs={of(group)} />,
    };
  };
  const tokens: Column<Group> = {
    id: "tokens",
    header: "Tokens",
    headerTitle: TOKEN_UNITS.map((unit) => UNIT_TABLE[unit].heading).join(", "),
    align: "end",
    width: "w-20",
    cell: ({ units }) => <Quantity value={countTokens(units)} />,
    sortValue: exceptRest(({ units }) => countTokens(units)),
  };
  return [
    {
      id: "requests",
      header: "Requests",
      align: "end",
      width: "w-20",
      cell: ({ requests }) => <span>{formatCount(requests)}</span>,
      sortValue: exceptRest(({ requests }) => requests),
    },
    {
      id: "failed",
      header: "Failed",
      headerTitle: "Failed requests, of those that were not cancelled",
      align: "end",
      width: "w-19",
      cell: (group) => <FailedShare group={group} />,
      sortValue: exceptRest(toFailedShare),
    },
    ...(isRoomy ? TOKEN_UNITS.map(toUnitColumn) : [tokens]),
    costColumn({
      id: "cost",
      header: "Cost",
      width: "w-25",
      inCents: stack.groups.some(({ cost }) => cost !== null && cost >= 1),
      value: toCost,
      sortValue: exceptRest(({ cost }) => cost),
    }),
    costColumn({
      id: "each",
      header: "Cost/request",
      headerTitle: "Cost of a request that has a cost, on average",
      width: "w-27",
      value: ({ id }) => ({ value: groups.get(id)?.cost_per_request ?? null, used: false }),
    }),
    toSpeedColumn("p50"),
    toSpeedColumn("p95"),
  ];
}

/** The sum of the smallest groups comes last, whatever its size. */
function exceptRest(of: (group: Group) => number | null | undefined): (group: Group) => number | null {
  return (group) => (group.id === OTHER_ID ? null : (of(group) ?? null));
}

/** Tokens in a narrow cell, the whole number in its title; a dash where no provider reported any. */
function Quantity({ value }: { readonly value: number | null | undefined }) {
  if (value === null || value === undefined) return <Absent />;
  return <span title={formatCount(value)}>{formatCountCompact(value)}</span>;
}

function FailedShare({ group }: { readonly group: Totals }) {
  const share = toFailedShare(group);
  if (share === null) return <Absent />;
  const [failed, requests, cancelled] = [group.failed, group.requests, group.cancelled].map(formatCount);
  return (
    <span title={`${failed} of ${requests} failed, ${cancelled} were cancelled`}>{formatPercent(share)}</span>
  );
}

/** The figures of all groups together, by column: the total row. */
export function toFigureSums(sums: Totals, speed: Speed | null): { readonly [columnId: string]: ReactNode } {
  const failed = toFailedShare(sums);
  return {
    requests: formatCount(sums.requests),
    failed: failed === null ? null : formatPercent(failed),
    tokens: <Quantity value={countTokens(sums.units)} />,
    ...byUnit(TOKEN_UNITS, (unit) => <Quantity value={sums.units[unit]} />),
    cost: <Cost {...toCost(sums)} />,
    each: <Cost value={speed?.cost_per_request ?? null} used={false} />,
    p50: <Duration durationMs={speed?.duration_ms.p50 ?? null} />,
    p95: <Duration durationMs={speed?.duration_ms.p95 ?? null} />,
  };
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
    sortValue: exceptRest(toShare),
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

interface GroupCardProps {
  readonly name: ReactNode;
  readonly companion: string | undefined;
  readonly p50: number | null;
  readonly group: Group;
}

/** A group in two lines, where there is no room for columns. */
export function GroupCard({ name, companion, p50, group }: GroupCardProps) {
  const failed = toFailedShare(group);
  return (
    <span className="flex min-w-0 flex-col gap-0.5">
      <span className="flex min-w-0 items-baseline justify-between gap-3">
        {name}
        <Cost {...toCost(group)} />
      </span>
      <span className="flex min-w-0 justify-between gap-3 text-xs font-normal text-ink-soft">
        <span className="truncate" title={companion}>
          {companion}
        </span>
        <span className="shrink-0">
          {formatCountCompact(group.requests)} requests
          {failed !== null && failed > 0 && ` · ${formatPercent(failed)} failed`}
          {p50 !== null && (
            <>
              {" · p50 "}
              <Duration durationMs={p50} />
            </>
          )}
        </span>
      </span>
    </span>
  );
}

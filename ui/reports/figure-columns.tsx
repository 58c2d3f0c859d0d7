import type { ReactNode } from "react";
import { byUnit, type ReportUnit, TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { toFailedShare } from "#stats/failed-share.ts";
import { type Column, costColumn } from "../components/column.ts";
import { Cost } from "../components/cost.tsx";
import { Absent } from "../components/empty.tsx";
import { Duration } from "../components/instant.tsx";
import { formatCount, formatPercent } from "../text/format.ts";
import { countTokens } from "./measure.ts";
import { Quantity } from "./quantity.tsx";
import type { Speed } from "./speed.ts";
import { toCost, type Totals } from "./totals.ts";

export interface FigureColumnsOptions<Row> {
  /** Null while it is not known. */
  readonly toSpeed: (row: Row) => Speed | null;
  /** Why there are no percentiles, in words; null when there are. */
  readonly reason: string | null;
  /** There is room for each kind of token. */
  readonly isRoomy: boolean;
  /** A row that comes last, whatever its figures. */
  readonly isRest?: ((row: Row) => boolean) | undefined;
}

/** What rows of usage are told by: requests, failures, tokens, cost, and how long a request takes. */
export function toFigureColumns<Row extends Totals>({
  toSpeed,
  reason,
  isRoomy,
  isRest = () => false,
}: FigureColumnsOptions<Row>): readonly Column<Row>[] {
  const exceptRest = (of: (row: Row) => number | null | undefined) => (row: Row) =>
    isRest(row) ? null : (of(row) ?? null);
  const toUnitColumn = (unit: ReportUnit): Column<Row> => {
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
  const toSpeedColumn = (id: keyof typeof SPEED_TITLES): Column<Row> => {
    const of = (row: Row) => toSpeed(row)?.duration_ms[id] ?? null;
    return {
      id,
      header: id,
      headerTitle: reason ?? SPEED_TITLES[id],
      align: "end",
      width: id === "p95" ? "w-24" : "w-20",
      sortValue: of,
      cell: (row) => <Duration durationMs={of(row)} />,
    };
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
      cell: (row) => <FailedShare row={row} />,
      sortValue: exceptRest(toFailedShare),
    },
    ...(isRoomy
      ? TOKEN_UNITS.map(toUnitColumn)
      : [
          {
            id: "tokens",
            header: "Tokens",
            headerTitle: TOKEN_UNITS.map((unit) => UNIT_TABLE[unit].heading).join(", "),
            align: "end",
            width: "w-20",
            cell: ({ units }: Row) => <Quantity value={countTokens(units)} />,
            sortValue: exceptRest(({ units }) => countTokens(units)),
          } as const,
        ]),
    costColumn({
      id: "cost",
      header: "Cost",
      width: "w-25",
      value: toCost,
      sortValue: exceptRest(({ cost }) => cost),
    }),
    costColumn({
      id: "each",
      header: "Cost/request",
      headerTitle: "Cost of a request that has a cost, on average",
      width: "w-27",
      value: (row) => ({ value: toSpeed(row)?.cost_per_request ?? null, used: false }),
    }),
    toSpeedColumn("p50"),
    toSpeedColumn("p95"),
  ];
}

const SPEED_TITLES = {
  p50: "Half of the requests that were answered took no longer",
  p95: "95 of 100 requests that were answered took no longer",
} as const;

function FailedShare({ row }: { readonly row: Totals }) {
  const share = toFailedShare(row);
  if (share === null) return <Absent />;
  const [failed, requests, cancelled] = [row.failed, row.requests, row.cancelled].map(formatCount);
  return (
    <span title={`${failed} of ${requests} failed, ${cancelled} were cancelled`}>{formatPercent(share)}</span>
  );
}

/** The figures of all rows together, by column: the total row. */
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

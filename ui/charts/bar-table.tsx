import { type ReactNode, useMemo } from "react";
import { toPlacedBars } from "./bar-layout.ts";
import { type BarReadingRequest, toBarReading } from "./bar-reading.ts";
import { ChartTable } from "./chart-table.tsx";
import type { Bar } from "./series.ts";

export interface BarTableProps extends Omit<BarReadingRequest, "bars" | "from" | "to"> {
  readonly label: string;
  readonly heightPx: number;
  readonly buckets: readonly Bar[];
}

/** The figures of stacked bars, the newest bucket first. */
export function BarTable({ label, heightPx, buckets, ...request }: BarTableProps): ReactNode {
  const { series, bucket, unpriced } = request;
  const bars = useMemo(() => toPlacedBars(buckets, bucket), [buckets, bucket]);
  const hasTotal = series.length > 1;
  const head = [
    "Time (UTC)",
    ...series.map((one) => one.label),
    ...(hasTotal ? ["Total"] : []),
    ...(unpriced === undefined ? [] : ["Unpriced requests"]),
  ];
  const toRow = (row: number): readonly string[] => {
    const place = bars.length - 1 - row;
    const reading = toBarReading({ ...request, bars, from: place, to: place });
    if (reading === null) return [];
    return [
      reading.title,
      ...reading.entries.map(({ value }) => value),
      ...(hasTotal ? [reading.total] : []),
      ...(unpriced === undefined ? [] : [reading.unpricedRequests.toLocaleString("en-US")]),
    ];
  };
  return <ChartTable {...{ label, heightPx, head, toRow }} rowCount={bars.length} />;
}

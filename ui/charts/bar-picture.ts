import { max } from "d3-array";
import type { Bucket } from "#stats/bucket.ts";
import { TIME_AXIS_HEIGHT_PX } from "./axis.tsx";
import type { BarSpans, PlacedBar } from "./bar-layout.ts";
import {
  isWhole,
  toBarSides,
  toBarSpans,
  toLayerPaths,
  toLayers,
  toPlacedBars,
  toStackMax,
} from "./bar-layout.ts";
import type { Bar } from "./series.ts";
import { toTextWidth } from "./text-width.ts";
import type { TimeTick } from "./time-ticks.ts";
import { toTimeTicks } from "./time-ticks.ts";
import type { ValueAxis } from "./value-axis.ts";
import { toValueAxis } from "./value-axis.ts";

/** A chart of stacked bars worked out to the pixel, before anything is drawn. */
export interface BarPicture {
  readonly bars: readonly PlacedBar[];
  readonly spans: BarSpans;
  readonly plotLeftPx: number;
  readonly plotWidthPx: number;
  readonly plotHeightPx: number;
  readonly valueAxis: ValueAxis;
  readonly timeTicks: readonly TimeTick[];
  /** One for each series. */
  readonly paths: readonly string[];
  /** A mark for each bucket with unpriced requests, to hang beneath the bars. */
  readonly unpricedPath: string;
  readonly isEmpty: boolean;
}

export interface BarPictureRequest {
  readonly buckets: readonly Bar[];
  readonly seriesCount: number;
  readonly bucket: Bucket;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly format: (value: number) => string;
  readonly unpriced: ((index: number) => number) | undefined;
}

/** Room for "UTC", and for the longest value beside the axis. */
const LEFT_PX_MIN = 34;
const LABEL_GAP_PX = 12;
/** Half a line of text stands above the highest tick. */
export const PLOT_TOP_PX = 8;
const UNPRICED_MARK_PX = 4;

export function toBarPicture(request: BarPictureRequest): BarPicture {
  const { buckets, seriesCount, bucket, widthPx, heightPx, format, unpriced } = request;
  const bars = toPlacedBars(buckets, bucket);
  const layers = toLayers(bars, seriesCount);
  const plotHeightPx = Math.max(1, heightPx - TIME_AXIS_HEIGHT_PX - PLOT_TOP_PX);
  const highest = toStackMax(layers);
  const valueAxis = toValueAxis({ max: highest, heightPx: plotHeightPx, format, isWhole: isWhole(bars) });
  const plotLeftPx = Math.max(LEFT_PX_MIN, toLabelWidth(valueAxis) + LABEL_GAP_PX);
  const plotWidthPx = Math.max(1, widthPx - plotLeftPx);
  const spans = toBarSpans(bars, bucket, plotWidthPx);
  return {
    bars,
    spans,
    plotLeftPx,
    plotWidthPx,
    plotHeightPx,
    valueAxis,
    timeTicks: toTimeTicks({
      bucket,
      starts: bars.map(({ start }) => start),
      middles: spans.spans.map(({ from, to }) => (from + to) / 2),
      widthPx: plotWidthPx,
    }),
    paths: toLayerPaths(layers, spans, valueAxis.toY),
    unpricedPath: unpriced === undefined ? "" : toMarks(bars, spans, unpriced),
    isEmpty: highest === 0,
  };
}

function toLabelWidth({ ticks }: ValueAxis): number {
  return Math.ceil(max(ticks, ({ label }) => toTextWidth(label)) ?? 0);
}

function toMarks(
  bars: readonly PlacedBar[],
  { spans }: BarSpans,
  unpriced: (index: number) => number,
): string {
  return bars
    .map(({ index }, place) => {
      const span = spans[place];
      if (span === undefined || index === null || !(unpriced(index) > 0)) return "";
      const { left, right } = toBarSides(span);
      return `M${left},0H${right}v${UNPRICED_MARK_PX}H${left}Z`;
    })
    .join("");
}

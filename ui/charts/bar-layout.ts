import { bisectRight, pairs, range } from "d3-array";
import { scaleUtc } from "d3-scale";
import { stack } from "d3-shape";
import type { Bucket } from "#stats/bucket.ts";
import {
  TIME_AXIS_HEIGHT_PX,
  type TimeTick,
  toLabelWidth,
  toTimeTicks,
  toValueAxis,
  type ValueAxis,
} from "./axis.tsx";
import { INTERVALS, toBucketEnd } from "./bucket-range.ts";
import type { Bar } from "./series.ts";

/** A chart of stacked bars worked out to the pixel, before anything is drawn. */
export interface BarPicture {
  readonly spans: BarSpans;
  readonly plotLeftPx: number;
  readonly plotWidthPx: number;
  readonly plotHeightPx: number;
  readonly valueAxis: ValueAxis;
  readonly timeTicks: readonly TimeTick[];
  /** One for each series. */
  readonly paths: readonly string[];
  readonly isEmpty: boolean;
}

export interface BarPictureRequest {
  readonly bars: readonly PlacedBar[];
  readonly seriesCount: number;
  readonly bucket: Bucket;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly format: (value: number) => string;
}

/** Room for "UTC", and for the longest value beside the axis. */
const LEFT_PX_MIN = 34;
const LABEL_GAP_PX = 12;
/** Half a line of text stands above the highest tick. */
export const PLOT_TOP_PX = 8;

export function toBarPicture(request: BarPictureRequest): BarPicture {
  const { bars, seriesCount, bucket, widthPx, heightPx, format } = request;
  const layers = toLayers(bars, seriesCount);
  const plotHeightPx = Math.max(1, heightPx - TIME_AXIS_HEIGHT_PX - PLOT_TOP_PX);
  const highest = toStackMax(layers);
  const valueAxis = toValueAxis({ max: highest, heightPx: plotHeightPx, format, isWhole: isWhole(bars) });
  const plotLeftPx = Math.max(LEFT_PX_MIN, toLabelWidth(valueAxis) + LABEL_GAP_PX);
  const plotWidthPx = Math.max(1, widthPx - plotLeftPx);
  const spans = toBarSpans(bars, bucket, plotWidthPx);
  return {
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
    isEmpty: highest === 0,
  };
}

/** A bucket as drawn; one that is missing between two others is a gap without values. */
export interface PlacedBar extends Omit<Bar, "start"> {
  readonly start: Date;
}

/** One layer of a stack: for each bucket where it ends, upwards from where the layer before ends, the first from 0. */
export type Layer = readonly number[];

/** Where the buckets lie from left to right, in pixels. */
export interface BarSpans {
  readonly spans: readonly { readonly from: number; readonly to: number }[];
  /** Bars too narrow for a space between them are drawn as one outline. */
  readonly isDense: boolean;
  /** The bucket under a point of the plot, also beyond its edges; null when there is none at all. */
  readonly toIndex: (x: number) => number | null;
}

/** A series has as many (specification, section 8); a longer list is drawn as it was given. */
const BARS_MAX = 1000;
const DENSE_BELOW_PX = 4;
/** The space between two bars, of their width, and at most. */
const SPACE_SHARE = 0.22;
const SPACE_PX_MAX = 12;
/** A bar alone in its chart would be a wall. */
const BAR_PX_MAX = 64;

/** The buckets in order, with the missing ones between the first and the last as gaps without values. */
export function toPlacedBars(buckets: readonly Bar[], bucket: Bucket): readonly PlacedBar[] {
  const placed = buckets.map((bar) => ({ ...bar, start: new Date(bar.start) }));
  const [first, last] = [placed[0], placed.at(-1)];
  if (first === undefined || last === undefined) return [];
  const interval = INTERVALS[bucket];
  const count = interval.count(interval.floor(first.start), last.start) + 1;
  if (count <= placed.length || count > BARS_MAX) return placed;
  const known = new Map(placed.map((bar) => [interval.floor(bar.start).getTime(), bar]));
  return interval
    .range(interval.floor(first.start), toBucketEnd(bucket, last.start))
    .map((start) => known.get(start.getTime()) ?? { start, values: [] });
}

/** The layers of a stack, the first series at the bottom. What is no positive number has no height. */
export function toLayers(bars: readonly Pick<PlacedBar, "values">[], seriesCount: number): readonly Layer[] {
  const toStack = stack<Pick<PlacedBar, "values">, number>()
    .keys(range(seriesCount))
    .value(({ values }, key) => toHeight(values[key]));
  return toStack(bars).map((layer) => layer.map(([, top]) => top));
}

/** The height of the highest stack. */
export function toStackMax(layers: readonly Layer[]): number {
  return layers.at(-1)?.reduce((highest, top) => Math.max(highest, top), 0) ?? 0;
}

/** True when no value has a part, so that the axis needs none either. */
export function isWhole(bars: readonly Pick<PlacedBar, "values">[]): boolean {
  return bars.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
}

export function toBarSpans(bars: readonly PlacedBar[], bucket: Bucket, widthPx: number): BarSpans {
  const starts = bars.map(({ start }) => start);
  const [first, last] = [starts[0], starts.at(-1)];
  if (first === undefined || last === undefined) return { spans: [], isDense: false, toIndex: () => null };
  const end = toBucketEnd(bucket, last);
  const x = scaleUtc([first, end], [0, widthPx]);
  return {
    spans: pairs([...starts, end].map(x), (from, to) => ({ from, to })),
    isDense: widthPx / bars.length < DENSE_BELOW_PX,
    toIndex: (at) => Math.min(starts.length - 1, Math.max(0, bisectRight(starts, x.invert(at)) - 1)),
  };
}

/** Each layer as one path whatever the number of buckets; empty for a layer without height. */
export function toLayerPaths(
  layers: readonly Layer[],
  { spans, isDense }: BarSpans,
  toY: (value: number) => number,
): readonly string[] {
  const toPath = isDense ? toOutline : toBars;
  const sides = spans.map((span) =>
    isDense ? { left: toCoordinate(span.from), right: toCoordinate(span.to) } : toBarSides(span),
  );
  const toEdge = (value: number) => toCoordinate(toY(value));
  // A layer lies on the one before: each edge is worked out once.
  let below: Layer = spans.map(() => 0);
  let bottoms = below.map(toEdge);
  return layers.map((layer) => {
    const tops = layer.map(toEdge);
    const hasHeight = layer.some((top, index) => top > (below[index] ?? 0));
    const path = hasHeight ? toPath(sides, bottoms, tops) : "";
    [below, bottoms] = [layer, tops];
    return path;
  });
}

/** The sides of a bar between the spaces, on whole pixels so that they are sharp. */
function toBarSides({ from, to }: { readonly from: number; readonly to: number }): BarSides {
  const span = to - from;
  const space = Math.max(Math.min(span * SPACE_SHARE, SPACE_PX_MAX), span - BAR_PX_MAX);
  const left = Math.round(from + space / 2);
  return { left, right: Math.max(left + 1, Math.round(to - space / 2)) };
}

interface BarSides {
  readonly left: number;
  readonly right: number;
}

function toHeight(value: number | null | undefined): number {
  return value === null || value === undefined || !Number.isFinite(value) ? 0 : Math.max(0, value);
}

function toBars(sides: readonly BarSides[], bottoms: readonly number[], tops: readonly number[]): string {
  let path = "";
  for (const [index, { left, right }] of sides.entries()) {
    const [bottom, top] = [bottoms[index], tops[index]];
    if (bottom !== top) path += `M${left},${bottom}V${top}H${right}V${bottom}Z`;
  }
  return path;
}

/** Along the tops from left to right and along the bottoms back; neighbors of one height are one step. */
function toOutline(sides: readonly BarSides[], bottoms: readonly number[], tops: readonly number[]): string {
  const last = sides.length - 1;
  let path = `M${sides[0]?.left},${tops[0]}`;
  for (let index = 1; index <= last; index += 1) {
    if (tops[index] !== tops[index - 1]) path += `H${sides[index]?.left}V${tops[index]}`;
  }
  path += `H${sides[last]?.right}V${bottoms[last]}`;
  for (let index = last - 1; index >= 0; index -= 1) {
    if (bottoms[index] !== bottoms[index + 1]) path += `H${sides[index]?.right}V${bottoms[index]}`;
  }
  return `${path}H${sides[0]?.left}Z`;
}

/** To a tenth of a pixel: more is not seen, and makes the path longer. */
function toCoordinate(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

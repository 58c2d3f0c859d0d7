import { max, pairs } from "d3-array";
import { scaleLinear } from "d3-scale";
import type { CountableTimeInterval, TimeInterval } from "d3-time";
import { unixDay, utcHour, utcMonday, utcMonth, utcYear } from "d3-time";
import { utcFormat } from "d3-time-format";
import type { ReactNode } from "react";
import type { Bucket } from "#stats/bucket.ts";
import { toTextWidth } from "./text-width.ts";

/** The upright axis of a chart: from 0 at the bottom to `domainMax` at the top. */
export interface ValueAxis {
  readonly domainMax: number;
  readonly ticks: readonly ValueTick[];
  /** Pixels from the top of the plot. */
  readonly toY: (value: number) => number;
}

interface ValueTick {
  readonly value: number;
  readonly y: number;
  readonly label: string;
}

export interface ValueAxisRequest {
  /** The highest stack. */
  readonly max: number;
  readonly heightPx: number;
  readonly format: (value: number) => string;
  /** Counts have no ticks between whole numbers. */
  readonly isWhole: boolean;
}

const TICK_DISTANCE_PX = 44;

/**
 * A nice axis with as many ticks as fit, each with a label of its own: where the format rounds two to the same text there
 * are fewer ticks. With nothing to show there is one tick, 0.
 */
export function toValueAxis({ max: highest, heightPx, format, isWhole }: ValueAxisRequest): ValueAxis {
  const isEmpty = !(highest > 0);
  let count = Math.max(1, Math.floor(heightPx / TICK_DISTANCE_PX));
  for (;;) {
    const scale = scaleLinear([0, isEmpty ? 1 : highest], [heightPx, 0]).nice(count);
    const values = scale
      .ticks(count)
      .filter((value) => (isEmpty ? value === 0 : !isWhole || Number.isInteger(value)));
    const ticks = values.map((value) => ({ value, y: scale(value), label: format(value) }));
    const isDistinct = new Set(ticks.map(({ label }) => label)).size === ticks.length;
    if (isDistinct || count === 1) {
      return { domainMax: scale.domain()[1] ?? 1, ticks: isDistinct ? ticks : ticks.slice(0, 1), toY: scale };
    }
    count -= 1;
  }
}

/** The width of its labels. */
export function toLabelWidth({ ticks }: ValueAxis): number {
  return Math.ceil(max(ticks, ({ label }) => toTextWidth(label)) ?? 0);
}

/** A label under the axis of time: `text`, and beneath it the day or year it lies in, where that begins or is new. */
export interface TimeTick {
  readonly index: number;
  /** The middle of the bucket, where the tick stands. */
  readonly x: number;
  readonly text: string;
  /** The middle of the text: moved inwards at both ends, so that nothing is cut off. */
  readonly textX: number;
  readonly context: string | null;
  /** The middle of the context, likewise. */
  readonly contextX: number;
}

export interface TimeTicksRequest {
  readonly bucket: Bucket;
  readonly starts: readonly Date[];
  /** The middle of each bucket. */
  readonly middles: readonly number[];
  readonly widthPx: number;
}

interface Rung {
  readonly interval: TimeInterval;
  /** About how long it is. */
  readonly lengthMs: number;
  readonly text: (start: Date) => string;
  readonly context: (start: Date) => string;
}

const LABEL_GAP_PX = 10;
/** The shortest label, the name of a month, with its gap. */
const LABEL_PX_MIN = toTextWidth("Jan") + LABEL_GAP_PX;

const formatTime = utcFormat("%H:%M");
const formatDay = utcFormat("%-d %b");
const formatDate = utcFormat("%-d %b %Y");
const formatMonth = utcFormat("%b");
const formatYear = utcFormat("%Y");

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const toKind =
  (interval: CountableTimeInterval, lengthMs: number, text: Rung["text"], context: Rung["context"]) =>
  (step: number): Rung => ({
    interval: interval.every(step) ?? interval,
    lengthMs: step * lengthMs,
    text,
    context,
  });
const hours = toKind(utcHour, HOUR_MS, formatTime, formatDate);
const days = toKind(unixDay, DAY_MS, formatDay, formatYear);
const weeks = toKind(utcMonday, 7 * DAY_MS, formatDay, formatYear);
const months = toKind(utcMonth, 31 * DAY_MS, formatMonth, formatYear);
const years = toKind(utcYear, 366 * DAY_MS, formatYear, () => "");

const LONG_RUNGS = [months(1), months(2), months(3), months(6), ...[1, 2, 5, 10, 20, 50, 100].map(years)];

/** From the finest to the coarsest; the first whose labels do not touch is taken. */
const RUNGS: { readonly [bucket in Bucket]: readonly Rung[] } = {
  hour: [...[1, 2, 3, 6, 12].map(hours), days(1), days(2), weeks(1), weeks(2), ...LONG_RUNGS],
  day: [days(1), days(2), weeks(1), weeks(2), ...LONG_RUNGS],
  // Months do not begin with a week, so weeks stay weeks however many are skipped.
  week: [1, 2, 4, 8, 13, 26, 52, 104, 260, 520].map(weeks),
  month: LONG_RUNGS,
};

/** Ticks in UTC that stand at the beginning of an hour, day, Monday, month or year, as many as fit without touching. */
export function toTimeTicks(request: TimeTicksRequest): readonly TimeTick[] {
  const { bucket, starts, widthPx } = request;
  const [first, last] = [starts[0], starts.at(-1)];
  if (first === undefined || last === undefined) return [];
  const spanMs = last.getTime() - first.getTime();
  const placesMax = 1 + widthPx / LABEL_PX_MIN;
  const indices = new Map(starts.map((start, index) => [start.getTime(), index]));
  for (const rung of RUNGS[bucket]) {
    // Not worth spelling: a thousand hours are looked at as days.
    if (spanMs / rung.lengthMs > placesMax) continue;
    // The end of a range is exclusive.
    const boundaries = rung.interval.range(first, new Date(last.getTime() + 1));
    const places = boundaries.flatMap((boundary) => indices.get(boundary.getTime()) ?? []);
    const ticks = toTicks(places, rung, request);
    if (ticks.length > 0 && isRoomy(ticks)) return ticks;
  }
  // None of the ticks falls on a bucket, or not even those of a century fit: the first bucket is told alone.
  return toTicks([0], { text: formatDate, context: () => "" }, request);
}

function toTicks(
  places: readonly number[],
  { text, context }: Pick<Rung, "text" | "context">,
  { starts, middles, widthPx }: TimeTicksRequest,
): readonly TimeTick[] {
  let previous = "";
  const ticks = places.flatMap((index) => {
    const [start, x] = [starts[index], middles[index]];
    if (start === undefined || x === undefined) return [];
    const around = context(start);
    const isNew = around !== previous && around !== "";
    previous = around;
    return [
      {
        index,
        x,
        text: text(start),
        textX: toInside(x, text(start), widthPx),
        context: isNew ? around : null,
        contextX: toInside(x, around, widthPx),
      },
    ];
  });
  return withRoomyContexts(ticks);
}

/** Two contexts that would touch lose the first: it names a day or year of which little is seen. */
function withRoomyContexts(ticks: readonly TimeTick[]): readonly TimeTick[] {
  const told = ticks.filter(({ context }) => context !== null);
  const crowded = new Set(
    pairs(told)
      .filter(([a, b]) => !isApart([a.contextX, a.context ?? ""], [b.contextX, b.context ?? ""]))
      .map(([a]) => a.index),
  );
  return ticks.map((tick) => (crowded.has(tick.index) ? { ...tick, context: null } : tick));
}

function isRoomy(ticks: readonly TimeTick[]): boolean {
  return pairs(ticks).every(([a, b]) => isApart([a.textX, a.text], [b.textX, b.text]));
}

type Placed = readonly [middle: number, text: string];

function isApart([a, first]: Placed, [b, second]: Placed): boolean {
  return b - a >= (toTextWidth(first) + toTextWidth(second)) / 2 + LABEL_GAP_PX;
}

function toInside(x: number, text: string, widthPx: number): number {
  const half = toTextWidth(text) / 2;
  return Math.max(half, Math.min(widthPx - half, x));
}

/** Below the plot: a line of labels, a line of what they lie in, and air. */
export const TIME_AXIS_HEIGHT_PX = 36;

/** Lines across the plot with their values to the left of it. */
export function ValueTicks({
  ticks,
  widthPx,
}: Pick<ValueAxis, "ticks"> & { readonly widthPx: number }): ReactNode {
  return ticks.map(({ value, y, label }) => (
    <g key={value} transform={`translate(0,${Math.round(y) + 0.5})`}>
      <line x2={widthPx} stroke={value === 0 ? "var(--color-line-strong)" : "var(--color-line)"} />
      <text x={-8} dy="0.32em" textAnchor="end" fontSize={11} fill="var(--color-ink-soft)">
        {label}
      </text>
    </g>
  ));
}

/** Labels below the plot, and to their left what all of them are: UTC. */
export function TimeTicks({
  ticks,
  heightPx,
}: {
  readonly ticks: readonly TimeTick[];
  readonly heightPx: number;
}): ReactNode {
  return (
    <g transform={`translate(0,${heightPx})`} fontSize={11} fill="var(--color-ink-soft)">
      <text x={-8} y={17} textAnchor="end" fill="var(--color-ink-faint)">
        UTC
      </text>
      {ticks.map(({ index, x, text, textX, context, contextX }) => (
        <g key={index}>
          <line
            x1={Math.round(x) + 0.5}
            x2={Math.round(x) + 0.5}
            y1={1}
            y2={5}
            stroke="var(--color-line-strong)"
          />
          <text x={textX} y={17} textAnchor="middle">
            {text}
          </text>
          {context !== null && (
            <text x={contextX} y={31} textAnchor="middle" fill="var(--color-ink-faint)">
              {context}
            </text>
          )}
        </g>
      ))}
    </g>
  );
}

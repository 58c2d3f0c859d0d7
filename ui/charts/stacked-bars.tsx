import { range } from "d3-array";
import { type ReactNode, useId, useMemo, useState } from "react";
import type { Bucket } from "#stats/bucket.ts";
import { formatCount, formatCounted } from "../text/format.ts";
import { TimeTicks, ValueTicks } from "./axis.tsx";
import { type BarPicture, type PlacedBar, PLOT_TOP_PX, toBarPicture, toPlacedBars } from "./bar-layout.ts";
import { type BrushRange, moveAlong } from "./brush.ts";
import { toBucketRange, toRangeText } from "./bucket-range.ts";
import { Chart, type ChartFigures, type Plot, useFrame } from "./chart.tsx";
import { FADED_OPACITY, type Paint, Swatch, Textures, toFill, toPaints } from "./paint.tsx";
import { addUp, type Bar, type Series } from "./series.ts";

export interface StackedBarsProps {
  /** Oldest first; a bucket that is missing between two shows as a gap. */
  readonly buckets: readonly Bar[];
  /** The first lies at the bottom. */
  readonly series: readonly Series[];
  readonly bucket: Bucket;
  /** The chart's content in words. */
  readonly label: string;
  readonly format: (value: number) => string;
  /** A bar was chosen, or several were brushed: `[startIso, endIso)`. */
  readonly onWindow: (startIso: string, endIso: string) => void;
  /** A series was chosen in the legend; never "other", which stands for no one thing. */
  readonly onSeries?: ((id: string) => void) | undefined;
  /** The height of the plot with its axes, in pixels; the legend stands above it. */
  readonly height?: number | undefined;
  /** A sentence for when there is nothing to draw. */
  readonly empty?: ReactNode;
}

const HEIGHT_PX = 260;

/** Bars over time in UTC, stacked by series. A bar, or a brush over several, becomes the window. */
export function StackedBars(props: StackedBarsProps): ReactNode {
  const { buckets, series, bucket, label, format, onWindow, onSeries, height: heightPx = HEIGHT_PX } = props;
  const id = useId();
  const [frame, widthPx] = useFrame();
  const [highlighted, setHighlighted] = useState<number | null>(null);
  const paints = useMemo(() => toPaints(series), [series]);
  const bars = useMemo(() => toPlacedBars(buckets, bucket), [buckets, bucket]);
  const picture = useMemo(
    () =>
      widthPx === 0
        ? null
        : toBarPicture({ bars, seriesCount: series.length, bucket, widthPx, heightPx, format }),
    [bars, series.length, bucket, widthPx, heightPx, format],
  );
  const plot = useMemo(
    () =>
      picture === null
        ? null
        : toPlot(picture, <Marks {...{ id, picture, paints, highlighted }} />, bars.length),
    [id, picture, paints, highlighted, bars],
  );
  const hasUnpriced = bars.some(({ unpriced = 0 }) => unpriced > 0);
  const readings = { bars, series, bucket, format };
  return (
    <Chart
      {...{ label, frame, widthPx, heightPx, plot }}
      legend={
        series.length > 1 && (
          <Legend {...{ series, paints, highlighted, onSeries }} onHighlight={setHighlighted} />
        )
      }
      figures={toFigures(readings, hasUnpriced)}
      empty={picture?.isEmpty === true ? (props.empty ?? "No data in this window") : null}
      help={`Left and right arrow keys move between bars. With Shift they select a range. Escape clears it. Enter narrows the window to the ${bucket} or the range.`}
      move={(cursor, key) => moveAlong(cursor, key, bars.length)}
      canSelect
      onChoose={({ from, to }) => {
        const [first, last] = [bars[from]?.start, bars[to]?.start];
        if (first === undefined || last === undefined) return;
        const { startIso, endIso } = toBucketRange(bucket, first, last);
        onWindow(startIso, endIso);
      }}
      read={(chosen) => {
        const reading = toBarReading({ ...readings, ...chosen });
        if (reading === null) return null;
        return {
          title: reading.title,
          spoken: toSpoken(reading),
          body: <Readout {...{ id, reading, series, paints }} />,
        };
      }}
    />
  );
}

function toPlot(picture: BarPicture, marks: ReactNode, count: number): Plot {
  const { spans, plotLeftPx, plotHeightPx } = picture;
  return {
    marks,
    count,
    isBand: true,
    toIndex: (x) => spans.toIndex(x - plotLeftPx),
    toBox: (from, to) => {
      const left = spans.spans[from]?.from ?? 0;
      const width = Math.max(1, (spans.spans[to]?.to ?? left) - left);
      return { x: plotLeftPx + left, y: PLOT_TOP_PX, width, height: plotHeightPx };
    },
  };
}

interface MarksProps {
  readonly id: string;
  readonly picture: BarPicture;
  readonly paints: readonly Paint[];
  readonly highlighted: number | null;
}

/** Axes and one path for each series. */
function Marks({ id, picture, paints, highlighted }: MarksProps): ReactNode {
  const { plotLeftPx, plotWidthPx, plotHeightPx, valueAxis, timeTicks, paths } = picture;
  return (
    <g transform={`translate(${plotLeftPx},${PLOT_TOP_PX})`}>
      <Textures id={id} paints={paints} />
      <ValueTicks ticks={valueAxis.ticks} widthPx={plotWidthPx} />
      {paints.map((paint, index) => {
        const path = paths[index] ?? "";
        const fill = toFill(id, paint, index);
        const isFaded = highlighted !== null && highlighted !== index;
        return path !== "" && <path key={fill} d={path} fill={fill} opacity={isFaded ? FADED_OPACITY : 1} />;
      })}
      <TimeTicks ticks={timeTicks} heightPx={plotHeightPx} />
    </g>
  );
}

interface LegendProps extends Pick<StackedBarsProps, "series" | "onSeries"> {
  readonly paints: readonly Paint[];
  /** The index of the series that stands out. */
  readonly highlighted: number | null;
  readonly onHighlight: (index: number | null) => void;
}

/** What the colors mean. Pointing at an entry, or coming to it by keyboard, makes its series stand out. */
function Legend({ series, paints, highlighted, onHighlight, onSeries }: LegendProps) {
  const id = useId();
  return (
    <ul className="-ml-1.5 text-xs" onPointerLeave={() => onHighlight(null)}>
      {series.map((one, index) => {
        const paint = paints[index];
        const isChoice = onSeries !== undefined && one.kind !== "other";
        return (
          <li key={one.id} className="mr-1 inline-block max-w-full align-top">
            <button
              type="button"
              title={isChoice ? `Only ${one.label}` : one.label}
              onPointerEnter={() => onHighlight(index)}
              onFocus={() => onHighlight(index)}
              onBlur={() => onHighlight(null)}
              onClick={() => (isChoice ? onSeries(one.id) : onHighlight(index))}
              className={`flex max-w-36 items-center gap-1.5 rounded px-1.5 py-1 text-ink-soft hover:bg-hover hover:text-ink focus-visible:outline-2 focus-visible:outline-focus sm:max-w-56 ${isChoice ? "cursor-pointer" : "cursor-default"}`}
            >
              {paint !== undefined && (
                <Swatch
                  id={`${id}-${index}`}
                  paint={paint}
                  isFaded={highlighted !== null && highlighted !== index}
                />
              )}
              <span className="truncate">{one.label}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** What a chart says of one bucket, or of several in a row: the words of its tooltip, its table and its live region. */
export interface BarReading {
  readonly title: string;
  /** One for each series, in their order; a dash where there is no number. */
  readonly values: readonly string[];
  readonly labels: readonly string[];
  /** With a `+` where some requests have no price, so that it is more. */
  readonly total: string;
  /** Requests without a price. */
  readonly unpriced: number;
}

export interface BarReadingRequest extends Pick<StackedBarsProps, "series" | "bucket" | "format"> {
  readonly bars: readonly PlacedBar[];
}

const NO_NUMBER = "–";

/** Null when `from` and `to` point at no bucket. */
export function toBarReading(request: BarReadingRequest & BrushRange): BarReading | null {
  const { bars, series, bucket, format, from, to } = request;
  const chosen = bars.slice(from, to + 1);
  const [first, last] = [chosen[0], chosen.at(-1)];
  if (first === undefined || last === undefined) return null;
  const toText = (value: number | null) => (value === null ? NO_NUMBER : format(value));
  const sums = range(series.length).map((key) => addUp(chosen.map(({ values }) => values[key] ?? null)));
  const unpriced = chosen.reduce((count, bar) => count + (bar.unpriced ?? 0), 0);
  const total = addUp(sums);
  return {
    title: toRangeText(bucket, first.start, last.start),
    values: sums.map(toText),
    labels: series.map(({ label }) => label),
    total: unpriced === 0 ? toText(total) : total === null ? "unpriced" : `${toText(total)}+`,
    unpriced,
  };
}

/** `Tue 3 Mar 2026 UTC: total $3.20; small $3.00; large $0.20`. Series without a number are left out. */
export function toSpoken({ title, values, labels, total, unpriced }: BarReading): string {
  const told = values.flatMap((value, key) => (value === NO_NUMBER ? [] : [`${labels[key]} ${value}`]));
  return `${title}: ${[`total ${total}`, ...told, ...toUnpricedTexts(unpriced)].join("; ")}`;
}

function toUnpricedTexts(requests: number): readonly string[] {
  return requests === 0 ? [] : [formatCounted(requests, "unpriced request")];
}

interface ReadoutProps {
  readonly id: string;
  readonly reading: BarReading;
  readonly series: readonly Series[];
  readonly paints: readonly Paint[];
}

/** Every series and the total at the crosshair, in the order in which they lie on each other. */
function Readout({ id, reading, series, paints }: ReadoutProps): ReactNode {
  return (
    <>
      <dl className="tabular-nums">
        {series
          .map(({ id: key, label }, index) => {
            const paint = paints[index];
            return (
              <div key={key} className="flex items-center gap-1.5 leading-5">
                {paint !== undefined && <Swatch id={`${id}-tip-${index}`} paint={paint} />}
                <dt className="min-w-0 flex-1 truncate text-ink-soft">{label}</dt>
                <dd>{reading.values[index]}</dd>
              </div>
            );
          })
          .reverse()}
        {series.length > 1 && (
          <div className="mt-1 flex gap-1.5 border-t border-line pt-1 font-medium">
            <dt className="flex-1">Total</dt>
            <dd>{reading.total}</dd>
          </div>
        )}
      </dl>
      {toUnpricedTexts(reading.unpriced).map((text) => (
        <p key={text} className="mt-1 text-ink-soft">
          {text}
        </p>
      ))}
    </>
  );
}

/** The newest bucket first. */
function toFigures(request: BarReadingRequest, hasUnpriced: boolean): ChartFigures {
  const { bars, series } = request;
  const hasTotal = series.length > 1;
  return {
    head: [
      "Time (UTC)",
      ...series.map(({ label }) => label),
      ...(hasTotal ? ["Total"] : []),
      ...(hasUnpriced ? ["Unpriced requests"] : []),
    ],
    rowCount: bars.length,
    toRow: (row) => {
      const place = bars.length - 1 - row;
      const reading = toBarReading({ ...request, from: place, to: place });
      if (reading === null) return [];
      const { title, values, total, unpriced } = reading;
      return [
        title,
        ...values,
        ...(hasTotal ? [total] : []),
        ...(hasUnpriced ? [formatCount(unpriced)] : []),
      ];
    },
  };
}

import type { ReactNode } from "react";
import { useId, useMemo, useState } from "react";
import type { Bucket } from "#stats/bucket.ts";
import { BarDrawing } from "./bar-drawing.tsx";
import { PLOT_TOP_PX, toBarPicture, type BarPicture } from "./bar-picture.ts";
import { toBarReading, toSpoken } from "./bar-reading.ts";
import { BarSurface } from "./bar-surface.tsx";
import { BarTable } from "./bar-table.tsx";
import { BarTooltip } from "./bar-tooltip.tsx";
import { IDLE, selectionOf, stepBrush, withinCount, type BrushChoice, type BrushEvent } from "./brush.ts";
import { toBucketRange } from "./bucket-range.ts";
import { Legend } from "./legend.tsx";
import { ChartFrame } from "./chart-frame.tsx";
import { toPaints, type Paint } from "./paint.tsx";
import type { Bar, Series } from "./series.ts";
import { toTooltipPlace } from "./tooltip.tsx";

export interface StackedBarsProps {
  /** Oldest first; a bucket that is missing between two shows as a gap. */
  readonly buckets: readonly Bar[];
  /** The first lies at the bottom. */
  readonly series: readonly Series[];
  readonly bucket: Bucket;
  /** What the chart shows, in words. */
  readonly label: string;
  readonly format: (value: number) => string;
  /** A bar was chosen: `[startIso, endIso)`. */
  readonly onBucket?: ((startIso: string, endIso: string) => void) | undefined;
  /** Several bars were brushed; without it there is no brush. */
  readonly onRange?: ((startIso: string, endIso: string) => void) | undefined;
  /** A series was chosen in the legend; never "other", which stands for no one thing. */
  readonly onSeries?: ((id: string) => void) | undefined;
  /** The height of the plot with its axes, in pixels; the legend stands above it. */
  readonly height?: number | undefined;
  /** Requests without a price in the bucket at an index of `buckets`. */
  readonly unpriced?: ((index: number) => number) | undefined;
  /** What to say when there is nothing to draw. */
  readonly empty?: ReactNode;
}

const HEIGHT_PX = 260;

/** Bars over time in UTC, stacked by series, with a crosshair, a brush, and the same by keyboard and as a table. */
export function StackedBars(props: StackedBarsProps): ReactNode {
  const { series, bucket, label, format, unpriced, onSeries, height: heightPx = HEIGHT_PX } = props;
  const [highlighted, setHighlighted] = useState<number | null>(null);
  const paints = useMemo(() => toPaints(series), [series]);
  const hasUnpriced = unpriced !== undefined && props.buckets.some((_, index) => unpriced(index) > 0);
  return (
    <ChartFrame
      label={label}
      legend={
        series.length < 2 && !hasUnpriced ? null : (
          <Legend {...{ series, paints, highlighted, onSeries, hasUnpriced }} onHighlight={setHighlighted} />
        )
      }
      toHeight={() => heightPx}
      plot={(widthPx) => <Plot {...{ props, paints, widthPx, heightPx, highlighted }} />}
      table={() => (
        <BarTable {...{ label, heightPx, series, bucket, format, unpriced }} buckets={props.buckets} />
      )}
    />
  );
}

interface PlotProps {
  readonly props: StackedBarsProps;
  readonly paints: readonly Paint[];
  readonly widthPx: number;
  readonly heightPx: number;
  readonly highlighted: number | null;
}

/** Holds where the pointer is, so that a move renders the crosshair and the tooltip and nothing above. */
function Plot({ props, paints, widthPx, heightPx, highlighted }: PlotProps): ReactNode {
  const { buckets, series, bucket, label, format, unpriced, onBucket, onRange } = props;
  const picture = useMemo(
    () => toBarPicture({ buckets, seriesCount: series.length, bucket, widthPx, heightPx, format, unpriced }),
    [buckets, series.length, bucket, widthPx, heightPx, format, unpriced],
  );
  const { bars, spans, plotLeftPx, plotHeightPx } = picture;
  const id = useId();
  const [state, setBrush] = useState(IDLE);
  const brush = withinCount(state, bars.length);
  const chosen =
    selectionOf(brush) ?? (brush.cursor === null ? null : { from: brush.cursor, to: brush.cursor });
  const reading =
    chosen === null ? null : toBarReading({ bars, series, bucket, format, unpriced, ...chosen });

  const onBrush = (event: BrushEvent): boolean => {
    const limits = { count: bars.length, canSelect: onRange !== undefined };
    const step = stepBrush(brush, event, limits);
    setBrush(step.brush);
    if (step.choice !== null) choose(step.choice, { bars, bucket, onBucket, onRange });
    return step.isConsumed;
  };

  const left = chosen === null ? 0 : (spans.spans[chosen.from]?.from ?? 0);
  const right = chosen === null ? 0 : (spans.spans[chosen.to]?.to ?? left);
  return (
    <>
      <BarSurface
        {...{ label, plotLeftPx, heightPx, onBrush }}
        help={toHelp(props)}
        spoken={reading !== null && brush.by === "keyboard" ? toSpoken(reading) : ""}
        isClickable={onBucket !== undefined}
        toIndex={spans.toIndex}
      >
        <svg width={widthPx} height={heightPx} aria-hidden="true" className="block">
          <g transform={`translate(${plotLeftPx},${PLOT_TOP_PX})`}>
            {chosen === null ? null : (
              <rect
                x={left}
                width={Math.max(1, right - left)}
                height={plotHeightPx}
                fill="var(--color-ink)"
                fillOpacity={chosen.from === chosen.to ? 0.08 : 0.14}
              />
            )}
            <BarDrawing {...{ id, picture, paints, highlighted }} />
          </g>
        </svg>
      </BarSurface>
      {picture.isEmpty ? <Nothing text={props.empty} /> : null}
      {reading === null ? null : (
        <BarTooltip
          {...{ reading, series, paints }}
          place={toTooltipPlace({
            x: plotLeftPx + (left + right) / 2,
            chartWidthPx: widthPx,
            besideTop: 0,
            belowTop: heightPx,
          })}
        />
      )}
    </>
  );
}

function Nothing({ text }: { readonly text: ReactNode }): ReactNode {
  return (
    <div className="pointer-events-none absolute inset-0 grid place-items-center p-4 text-center text-sm text-ink-soft">
      <div className="pointer-events-auto">{text ?? "No data in this window"}</div>
    </div>
  );
}

function choose(
  choice: BrushChoice,
  {
    bars,
    bucket,
    onBucket,
    onRange,
  }: Pick<StackedBarsProps, "bucket" | "onBucket" | "onRange"> & Pick<BarPicture, "bars">,
): void {
  const [from, to] = choice.kind === "bucket" ? [choice.index, choice.index] : [choice.from, choice.to];
  const [first, last] = [bars[from]?.start, bars[to]?.start];
  if (first === undefined || last === undefined) return;
  const { startIso, endIso } = toBucketRange(bucket, first, last);
  if (choice.kind === "bucket") onBucket?.(startIso, endIso);
  else onRange?.(startIso, endIso);
}

function toHelp({ bucket, onBucket, onRange }: StackedBarsProps): string {
  return [
    "Left and right arrow keys move between bars.",
    onRange === undefined ? "" : "With Shift they select a range. Escape clears it.",
    onBucket === undefined ? "" : `Enter narrows the window to the ${bucket} or the range.`,
  ].join(" ");
}

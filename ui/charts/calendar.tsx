import type { ReactNode } from "react";
import { useMemo } from "react";
import { toBucketRange, toRangeText } from "./bucket-range.ts";
import { CALENDAR_SHADES, CalendarDrawing, toDayClass, type CalendarDay } from "./calendar-drawing.tsx";
import { toCalendarLayout, type CalendarLayout } from "./calendar-layout.ts";
import { CellSurface } from "./cell-surface.tsx";
import { moveInWeeks } from "./cells.ts";
import { ChartFrame } from "./chart-frame.tsx";
import { ChartTable } from "./chart-table.tsx";
import { ClassLegend } from "./class-legend.tsx";
import { toClassScale, type ClassScale } from "./class-scale.ts";
import { Tooltip, toTooltipPlace } from "./tooltip.tsx";

export interface CalendarProps {
  /** In any order; a day that is missing had no requests. */
  readonly days: readonly CalendarDay[];
  /** The first day, inclusive. */
  readonly since: string;
  /** Exclusive. */
  readonly until: string;
  /** What the chart shows, in words. */
  readonly label: string;
  readonly format: (value: number) => string;
  readonly onDay?: ((startIso: string, endIso: string) => void) | undefined;
}

const CLASSES = 5;

/** Days in UTC as a calendar, weeks from Monday; read by arrow keys, and as a table. */
export function Calendar(props: CalendarProps): ReactNode {
  const { days, label, format } = props;
  const scale = useMemo(
    () =>
      toClassScale(
        days.map(({ value }) => value),
        CLASSES,
      ),
    [days],
  );
  const byStart = useMemo(() => new Map(days.map((day) => [Date.parse(day.start), day])), [days]);
  const hasUnpriced = days.some((day) => toDayClass(day, scale) === "unpriced");
  const read = (start: Date) => toDayText(byStart.get(start.getTime()), format);
  return (
    <ChartFrame
      label={label}
      legend={
        <ClassLegend
          scale={scale}
          shades={CALENDAR_SHADES}
          format={format}
          hasUnpriced={hasUnpriced}
          note="days in UTC"
        />
      }
      toHeight={(widthPx) => toLayout(props, widthPx).heightPx}
      plot={(widthPx) => <Plot {...{ props, scale, byStart, read, widthPx }} />}
      table={(heightPx) => {
        const shown = toLayout(props, 0).days.toReversed();
        return (
          <ChartTable
            {...{ label, heightPx }}
            head={["Day (UTC)", "Value", "Requests"]}
            rowCount={shown.length}
            toRow={(row) => toTableRow(shown[row], read)}
          />
        );
      }}
    />
  );
}

interface DayText {
  readonly value: string;
  readonly requests: string;
}

interface PlotProps {
  readonly props: CalendarProps;
  readonly scale: ClassScale;
  readonly byStart: ReadonlyMap<number, CalendarDay>;
  readonly read: (start: Date) => DayText;
  readonly widthPx: number;
}

function Plot({ props, scale, byStart, read, widthPx }: PlotProps): ReactNode {
  const { label, since, until, onDay } = props;
  const layout = useMemo(() => toLayout({ since, until }, widthPx), [since, until, widthPx]);
  const toTitle = (day: number) => {
    const start = layout.days[day];
    return start === undefined ? "" : toRangeText("day", start);
  };
  const toText = (day: number) => read(layout.days[day] ?? new Date(Number.NaN));
  const choose = (day: number) => {
    const start = layout.days[day];
    if (start === undefined) return;
    const { startIso, endIso } = toBucketRange("day", start);
    onDay?.(startIso, endIso);
  };
  return (
    <CellSurface
      label={label}
      help={`Up and down go from day to day, left and right from week to week.${onDay === undefined ? "" : " Enter chooses the day."}`}
      heightPx={layout.heightPx}
      cellCount={layout.days.length}
      toCell={layout.toDay}
      move={(cursor, key) => moveInWeeks(cursor, key, layout.days.length)}
      toSpoken={(day) => `${toTitle(day)}: ${toText(day).value}, ${toText(day).requests}`}
      onCell={onDay === undefined ? undefined : choose}
    >
      {(cursor) => {
        const box = cursor === null ? null : layout.toBox(cursor.cell);
        return (
          <>
            <svg width={widthPx} height={layout.heightPx} aria-hidden="true" className="block">
              <CalendarDrawing {...{ scale, byStart, layout }} />
              {box === null ? null : (
                <rect {...box} fill="none" stroke="var(--color-ink)" strokeWidth={2} rx={2} />
              )}
            </svg>
            {box === null || cursor === null ? null : (
              <Tooltip
                title={toTitle(cursor.cell)}
                place={toTooltipPlace({
                  x: box.x + box.width / 2,
                  chartWidthPx: widthPx,
                  besideTop: box.y,
                  belowTop: box.y + box.height + 4,
                })}
              >
                <p className="flex justify-between gap-2 text-ink-soft tabular-nums">
                  <span className="font-medium text-ink">{toText(cursor.cell).value}</span>
                  {toText(cursor.cell).requests}
                </p>
              </Tooltip>
            )}
          </>
        );
      }}
    </CellSurface>
  );
}

function toLayout({ since, until }: Pick<CalendarProps, "since" | "until">, widthPx: number): CalendarLayout {
  return toCalendarLayout({ since: new Date(since), until: new Date(until), widthPx });
}

function toDayText(day: CalendarDay | undefined, format: (value: number) => string): DayText {
  const requests = day?.requests ?? 0;
  const value = day?.value ?? null;
  return {
    value: value !== null ? format(value) : requests > 0 ? "unpriced" : "nothing",
    requests: `${requests.toLocaleString("en-US")} ${requests === 1 ? "request" : "requests"}`,
  };
}

function toTableRow(start: Date | undefined, read: PlotProps["read"]): readonly string[] {
  if (start === undefined) return [];
  const { value, requests } = read(start);
  return [toRangeText("day", start), value, requests];
}

import { utcDay, utcMonday, utcMonth } from "d3-time";
import { utcFormat } from "d3-time-format";
import { type ReactNode, useId, useMemo } from "react";
import { formatCounted } from "../text/format.ts";
import { toBucketRange, toRangeText } from "./bucket-range.ts";
import { type Box, Chart, useFrame } from "./chart.tsx";
import {
  Cells,
  ClassLegend,
  type ClassScale,
  type Fill,
  type Shades,
  toClassScale,
  toShadeFill,
  UnpricedKey,
} from "./grid.tsx";
import { Textures, toFill, UNPRICED_PAINT } from "./paint.tsx";
import { toTextWidth } from "./text-width.ts";

/** A day of UTC. `value` is null when nothing of it is priced, or nothing happened. */
export interface CalendarDay {
  readonly start: string;
  readonly value: number | null;
  readonly requests: number;
}

export interface CalendarProps {
  /** In any order; a day that is missing had no requests. */
  readonly days: readonly CalendarDay[];
  /** The first day, inclusive. */
  readonly since: string;
  /** Exclusive. */
  readonly until: string;
  /** The chart's content in words. */
  readonly label: string;
  readonly format: (value: number) => string;
  readonly onDay: (startIso: string, endIso: string) => void;
}

const CLASSES = 5;
const SHADES: Shades = { color: "var(--color-accent)", from: 0.2, to: 1 };

/** Days in UTC as a calendar, weeks from Monday. */
export function Calendar({ days, since, until, label, format, onDay }: CalendarProps): ReactNode {
  const id = useId();
  const [frame, widthPx] = useFrame();
  const layout = useMemo(
    () => toCalendarLayout({ since: new Date(since), until: new Date(until), widthPx }),
    [since, until, widthPx],
  );
  const { drawn, scale } = useMemo(() => {
    const byStart = new Map(days.map((day) => [Date.parse(day.start), day]));
    const classes = toClassScale(
      days.map(({ value }) => value),
      CLASSES,
    );
    const toDrawn = (start: Date) => toDrawnDay(start, byStart.get(start.getTime()), classes);
    return { drawn: layout.days.map(toDrawn), scale: classes };
  }, [days, layout]);
  const plot = useMemo(
    () => ({
      marks: <Marks {...{ id, drawn, scale, layout }} />,
      count: drawn.length,
      isBand: false,
      toIndex: layout.toDay,
      toBox: layout.toBox,
    }),
    [id, drawn, scale, layout],
  );
  const toText = ({ value, requests }: DrawnDay) =>
    value !== null ? format(value) : requests > 0 ? "unpriced" : "nothing";
  return (
    <Chart
      {...{ label, frame, widthPx }}
      plot={widthPx === 0 ? null : plot}
      heightPx={layout.heightPx}
      legend={
        <ClassLegend {...{ scale, format }} shades={SHADES}>
          {drawn.some((day) => day.class === "unpriced") && <UnpricedKey />}
          days in UTC
        </ClassLegend>
      }
      figures={{
        head: ["Day (UTC)", "Value", "Requests"],
        rowCount: drawn.length,
        toRow: (row) => {
          const day = drawn[drawn.length - 1 - row];
          return day === undefined ? [] : [day.title, toText(day), formatCounted(day.requests, "request")];
        },
      }}
      empty={null}
      help="Up and down go from day to day, left and right from week to week. Enter chooses the day."
      move={(cursor, key) => moveInWeeks(cursor, key, drawn.length)}
      onChoose={({ from }) => {
        const start = layout.days[from];
        if (start === undefined) return;
        const { startIso, endIso } = toBucketRange("day", start);
        onDay(startIso, endIso);
      }}
      read={({ from }) => {
        const day = drawn[from];
        if (day === undefined) return null;
        const [value, requests] = [toText(day), formatCounted(day.requests, "request")];
        return {
          title: day.title,
          spoken: `${day.title}: ${value}, ${requests}`,
          body: (
            <p className="flex justify-between gap-2 text-ink-soft tabular-nums">
              <span className="font-medium text-ink">{value}</span>
              {requests}
            </p>
          ),
        };
      }}
    />
  );
}

/** Shaded by value, free of charge, unpriced, or quiet. */
type DayClass = number | "free" | "unpriced" | "quiet";

interface DrawnDay extends Pick<CalendarDay, "value" | "requests"> {
  readonly title: string;
  readonly class: DayClass;
}

function toDrawnDay(start: Date, day: CalendarDay | undefined, scale: ClassScale): DrawnDay {
  const { value = null, requests = 0 } = day ?? {};
  return { title: toRangeText("day", start), value, requests, class: toDayClass(value, requests, scale) };
}

function toDayClass(value: number | null, requests: number, scale: ClassScale): DayClass {
  if (value === null) return requests === 0 ? "quiet" : "unpriced";
  return scale.toClass(value) ?? (requests === 0 ? "quiet" : "free");
}

interface MarksProps {
  readonly id: string;
  readonly drawn: readonly DrawnDay[];
  readonly scale: ClassScale;
  readonly layout: CalendarLayout;
}

function Marks({ id, drawn, scale, layout }: MarksProps): ReactNode {
  return (
    <>
      <g fontSize={11} fill="var(--color-ink-soft)">
        {[...layout.months, ...layout.sides].map(({ text, x, y }) => (
          <text key={`${x},${y}`} x={x} y={y}>
            {text}
          </text>
        ))}
      </g>
      <Textures id={id} paints={[UNPRICED_PAINT]} />
      <Cells
        count={drawn.length}
        toClass={(day) => drawn[day]?.class ?? "quiet"}
        toBox={layout.toBox}
        toFill={(dayClass) => toDayFill(dayClass, scale, id)}
      />
    </>
  );
}

function toDayFill(dayClass: DayClass, scale: ClassScale, id: string): Fill {
  if (dayClass === "quiet") return { fill: "var(--color-line)", fillOpacity: 0.5 };
  if (dayClass === "free") return { fill: SHADES.color, fillOpacity: SHADES.from / 2 };
  if (dayClass === "unpriced") return { fill: toFill(id, UNPRICED_PAINT, 0) };
  return toShadeFill(dayClass, scale, SHADES);
}

const MOVES = new Map([
  ["ArrowUp", -1],
  ["ArrowDown", 1],
  ["ArrowLeft", -7],
  ["ArrowRight", 7],
]);

/** The day that a key leads to where weeks are columns; the last from nowhere, null for a key that leads nowhere. */
export function moveInWeeks(cursor: number | null, key: string, count: number): number | null {
  if (count === 0) return null;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const days = MOVES.get(key);
  if (days === undefined) return null;
  if (cursor === null) return count - 1;
  const target = cursor + days;
  return target < 0 || target >= count ? cursor : target;
}

/** Where the days of a calendar lie: weeks are columns from Monday down, and go on below where the width ends. */
interface CalendarLayout {
  readonly days: readonly Date[];
  readonly heightPx: number;
  /** The box of a day, by its place in `days`. */
  readonly toBox: (day: number) => Box;
  readonly toDay: (x: number, y: number) => number | null;
  readonly months: readonly CalendarLabel[];
  /** Monday, Wednesday and Friday beside each band of weeks, and above them the year in which the band begins. */
  readonly sides: readonly CalendarLabel[];
}

interface CalendarLabel {
  readonly text: string;
  readonly x: number;
  /** The baseline. */
  readonly y: number;
}

interface CalendarLayoutRequest {
  readonly since: Date;
  /** Exclusive. */
  readonly until: Date;
  readonly widthPx: number;
}

/** About ten years; of a longer span the last days are shown. */
const DAYS_MAX = 3660;
const LEFT_PX = 32;
const HEAD_PX = 18;
const HEAD_TEXT_RISE_PX = 6;
const BAND_GAP_PX = 10;
const CELL_PX_MIN = 12;
const CELL_PX_MAX = 20;
const CELL_GAP_PX = 2;
const DAYS_OF_WEEK = 7;

const formatMonth = utcFormat("%b");
const formatYear = utcFormat("%Y");

export function toCalendarLayout({ since, until, widthPx }: CalendarLayoutRequest): CalendarLayout {
  const days = utcDay.range(utcDay.floor(since), until).slice(-DAYS_MAX);
  const [first, last] = [days[0], days.at(-1)];
  const monday = first === undefined ? null : utcMonday.floor(first);
  const offset = first === undefined || monday === null ? 0 : utcDay.count(monday, first);
  const weeks = last === undefined || monday === null ? 0 : utcMonday.count(monday, last) + 1;

  const room = Math.max(CELL_PX_MIN, widthPx - LEFT_PX);
  const pitch = Math.max(CELL_PX_MIN, Math.min(CELL_PX_MAX, Math.floor(room / Math.max(1, weeks))));
  const weeksPerBand = Math.max(1, Math.floor(room / pitch));
  const bandHeight = HEAD_PX + DAYS_OF_WEEK * pitch + BAND_GAP_PX;
  const bands = Math.max(1, Math.ceil(weeks / weeksPerBand));

  const toBox = (day: number): Box => {
    const week = Math.floor((day + offset) / DAYS_OF_WEEK);
    return {
      x: LEFT_PX + (week % weeksPerBand) * pitch,
      y: Math.floor(week / weeksPerBand) * bandHeight + HEAD_PX + ((day + offset) % DAYS_OF_WEEK) * pitch,
      width: pitch - CELL_GAP_PX,
      height: pitch - CELL_GAP_PX,
    };
  };
  const toDay = (x: number, y: number): number | null => {
    const [column, band] = [Math.floor((x - LEFT_PX) / pitch), Math.floor(y / bandHeight)];
    const weekday = Math.floor((y - band * bandHeight - HEAD_PX) / pitch);
    const isInside = column >= 0 && column < weeksPerBand && weekday >= 0 && weekday < DAYS_OF_WEEK;
    const day = (band * weeksPerBand + column) * DAYS_OF_WEEK + weekday - offset;
    return isInside && day >= 0 && day < days.length ? day : null;
  };
  return {
    days,
    heightPx: bands * bandHeight - BAND_GAP_PX,
    toBox,
    toDay,
    months: toMonths(days, toBox, widthPx),
    sides: Array.from({ length: bands }, (_, band) => {
      const day = days[Math.max(0, band * weeksPerBand * DAYS_OF_WEEK - offset)];
      const top = band * bandHeight + HEAD_PX;
      return [
        { text: day === undefined ? "" : formatYear(day), x: 0, y: top - HEAD_TEXT_RISE_PX },
        ...["Mon", "Wed", "Fri"].map((text, row) => ({
          text,
          x: 0,
          y: top + (row * 2 + 1) * pitch - CELL_GAP_PX - 2,
        })),
      ];
    }).flat(),
  };
}

/** A month is named above the week that its first day lies in; January is named by its year. */
function toMonths(
  days: readonly Date[],
  toBox: (day: number) => Box,
  widthPx: number,
): readonly CalendarLabel[] {
  const labels: CalendarLabel[] = [];
  for (const [index, day] of days.entries()) {
    const isFirst = utcMonth.floor(day).getTime() === day.getTime();
    if (!isFirst && index > 0) continue;
    const box = toBox(index);
    const top = box.y - ((day.getUTCDay() + 6) % DAYS_OF_WEEK) * (box.height + CELL_GAP_PX);
    const text = isFirst && index > 0 && day.getUTCMonth() === 0 ? formatYear(day) : formatMonth(day);
    const label = { text, x: box.x, y: top - HEAD_TEXT_RISE_PX };
    const previous = labels.at(-1);
    const isCrowded =
      previous !== undefined &&
      previous.y === label.y &&
      label.x < previous.x + toTextWidth(previous.text) + 6;
    // A month whose last days begin the calendar has no room for its name: the next month takes its place.
    if (isCrowded) labels.pop();
    if (label.x + toTextWidth(text) <= widthPx) labels.push(label);
  }
  return labels;
}

import { utcDay, utcMonday, utcMonth } from "d3-time";
import { utcFormat } from "d3-time-format";
import type { CellBox } from "./cells.ts";
import { toTextWidth } from "./text-width.ts";

/** Where the days of a calendar lie: weeks are columns from Monday down, and go on below where the width ends. */
export interface CalendarLayout {
  readonly days: readonly Date[];
  readonly heightPx: number;
  /** The box of a day, by its place in `days`. */
  readonly toBox: (day: number) => CellBox;
  readonly toDay: (x: number, y: number) => number | null;
  readonly months: readonly CalendarLabel[];
  /** Monday, Wednesday and Friday beside each band of weeks, and above them the year in which the band begins. */
  readonly sides: readonly CalendarLabel[];
}

export interface CalendarLabel {
  readonly text: string;
  readonly x: number;
  /** The baseline. */
  readonly y: number;
}

export interface CalendarLayoutRequest {
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

  const toBox = (day: number): CellBox => {
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
  toBox: (day: number) => CellBox,
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
    // Of a month whose last days begin the calendar there is little to see: the next one takes its place.
    if (isCrowded) labels.pop();
    if (label.x + toTextWidth(text) <= widthPx) labels.push(label);
  }
  return labels;
}

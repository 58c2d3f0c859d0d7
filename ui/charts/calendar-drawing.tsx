import { group, range } from "d3-array";
import type { ReactNode } from "react";
import { memo, useId } from "react";
import type { CalendarLayout } from "./calendar-layout.ts";
import { toCellsPath } from "./cells.ts";
import type { Shades } from "./class-legend.tsx";
import { toShade, type ClassScale } from "./class-scale.ts";
import { Textures, toFill, UNPRICED_PAINT } from "./paint.tsx";

/** A day of UTC. `value` is null when nothing of it is priced, or nothing happened. */
export interface CalendarDay {
  readonly start: string;
  readonly value: number | null;
  readonly requests: number;
}

export interface CalendarDrawingProps {
  readonly scale: ClassScale;
  /** By the milliseconds of their start. */
  readonly byStart: ReadonlyMap<number, CalendarDay>;
  readonly layout: CalendarLayout;
}

export const CALENDAR_SHADES: Shades = { colour: "var(--color-accent)", from: 0.2, to: 1 };

/** A day as drawn: shaded by value, free of charge, unpriced, or quiet. */
export type DayClass = number | "free" | "unpriced" | "quiet";

/** Names and days, one path for each shade; drawn once, wherever the pointer goes. */
export const CalendarDrawing = memo(function CalendarDrawing(props: CalendarDrawingProps): ReactNode {
  return (
    <>
      <Labels layout={props.layout} />
      <Days {...props} />
    </>
  );
});

/** A day that is missing had no requests. */
export function toDayClass(day: CalendarDay | undefined, scale: ClassScale): DayClass {
  if (day === undefined || (day.requests === 0 && day.value === null)) return "quiet";
  if (day.value === null) return "unpriced";
  return scale.toClass(day.value) ?? (day.requests === 0 ? "quiet" : "free");
}

function Labels({ layout }: { readonly layout: CalendarLayout }): ReactNode {
  return (
    <g fontSize={11} fill="var(--color-ink-soft)">
      {[...layout.months, ...layout.sides].map(({ text, x, y }) => (
        <text key={`${x},${y}`} x={x} y={y}>
          {text}
        </text>
      ))}
    </g>
  );
}

function Days({ scale, byStart, layout }: CalendarDrawingProps): ReactNode {
  const id = useId();
  const byClass = group(range(layout.days.length), (day) =>
    toDayClass(byStart.get(layout.days[day]?.getTime() ?? Number.NaN), scale),
  );
  return (
    <>
      <Textures id={id} paints={[UNPRICED_PAINT]} />
      {[...byClass].map(([dayClass, members]) => (
        <path key={dayClass} d={toCellsPath(members.map(layout.toBox))} {...toDayFill(dayClass, scale, id)} />
      ))}
    </>
  );
}

function toDayFill(
  dayClass: DayClass,
  scale: ClassScale,
  id: string,
): { readonly fill: string; readonly fillOpacity?: number } {
  if (dayClass === "quiet") return { fill: "var(--color-line)", fillOpacity: 0.5 };
  if (dayClass === "free") return { fill: CALENDAR_SHADES.colour, fillOpacity: CALENDAR_SHADES.from / 2 };
  if (dayClass === "unpriced") return { fill: toFill(id, UNPRICED_PAINT, 0) };
  return { fill: CALENDAR_SHADES.colour, fillOpacity: toShade(dayClass, scale.count, CALENDAR_SHADES) };
}

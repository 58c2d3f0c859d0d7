import type { ReactNode } from "react";
import type { TimeTick } from "./time-ticks.ts";
import type { ValueTick } from "./value-axis.ts";

/** Below the plot: a line of labels, a line of what they lie in, and air. */
export const TIME_AXIS_HEIGHT_PX = 36;

/** Lines across the plot with their values to the left of it. */
export function ValueTicks({
  ticks,
  widthPx,
}: {
  readonly ticks: readonly ValueTick[];
  readonly widthPx: number;
}): ReactNode {
  return (
    <g className="tabular-nums">
      {ticks.map(({ value, y, label }) => (
        <g key={value} transform={`translate(0,${Math.round(y) + 0.5})`}>
          <line x2={widthPx} stroke={value === 0 ? "var(--color-line-strong)" : "var(--color-line)"} />
          <text x={-8} dy="0.32em" textAnchor="end" fontSize={11} fill="var(--color-ink-soft)">
            {label}
          </text>
        </g>
      ))}
    </g>
  );
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
    <g
      transform={`translate(0,${heightPx})`}
      fontSize={11}
      fill="var(--color-ink-soft)"
      className="tabular-nums"
    >
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
          {context === null ? null : (
            <text x={contextX} y={31} textAnchor="middle" fill="var(--color-ink-faint)">
              {context}
            </text>
          )}
        </g>
      ))}
    </g>
  );
}

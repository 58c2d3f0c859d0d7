import type { KeyboardEvent, PointerEvent, ReactNode } from "react";
import { useId } from "react";
import type { BrushEvent } from "./brush.ts";

export interface BarSurfaceProps {
  readonly label: string;
  /** How it is used without a mouse. */
  readonly help: string;
  /** What a screen reader says after a key; empty while the pointer leads. */
  readonly spoken: string;
  /** Where the plot begins, from the left edge of the surface. */
  readonly plotLeftPx: number;
  readonly heightPx: number;
  readonly isClickable: boolean;
  /** The bucket at a point of the plot. */
  readonly toIndex: (x: number) => number | null;
  /** Says whether the event meant something; a key that did not goes on to the page. */
  readonly onBrush: (event: BrushEvent) => boolean;
  readonly children: ReactNode;
}

/**
 * The one thing in a chart of bars that takes the pointer and the keyboard, whatever the number of bars: it tells buckets
 * from positions and hands both on as events of a brush.
 */
export function BarSurface(props: BarSurfaceProps): ReactNode {
  const { label, help, spoken, heightPx, isClickable, onBrush, children } = props;
  const helpId = useId();
  return (
    <div
      role="application"
      aria-label={label}
      aria-roledescription="chart"
      aria-describedby={helpId}
      tabIndex={0}
      className={`relative touch-pan-y rounded select-none focus-visible:outline-2 focus-visible:outline-offset-2 focus-visible:outline-focus ${isClickable ? "cursor-pointer" : ""}`}
      style={{ height: heightPx }}
      onPointerMove={(event) => onBrush({ kind: "hover", index: indexAt(event, props) })}
      onPointerDown={(event) => press(event, props)}
      onPointerUp={(event) => onBrush({ kind: "release", isTouch: event.pointerType === "touch" })}
      onPointerCancel={() => onBrush({ kind: "cancel" })}
      // A finger leaves as soon as it is lifted: what it asked about stays to be read.
      onPointerLeave={(event) => event.pointerType !== "touch" && onBrush({ kind: "leave" })}
      onBlur={() => onBrush({ kind: "cancel" })}
      onKeyDown={(event) => type(event, onBrush)}
    >
      {children}
      <span id={helpId} hidden>
        {help}
      </span>
      <span className="sr-only" aria-live="polite">
        {spoken}
      </span>
    </div>
  );
}

function press(event: PointerEvent<HTMLElement>, props: BarSurfaceProps): void {
  if (event.button !== 0) return;
  // A brush may end outside of the chart.
  event.currentTarget.setPointerCapture(event.pointerId);
  props.onBrush({ kind: "press", index: indexAt(event, props) });
}

function type(event: KeyboardEvent<HTMLElement>, onBrush: BarSurfaceProps["onBrush"]): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (!onBrush({ kind: "key", key: event.key, isShift: event.shiftKey })) return;
  event.preventDefault();
  event.stopPropagation();
}

function indexAt(event: PointerEvent<HTMLElement>, { plotLeftPx, toIndex }: BarSurfaceProps): number | null {
  return toIndex(event.clientX - event.currentTarget.getBoundingClientRect().left - plotLeftPx);
}

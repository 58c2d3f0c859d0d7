import type { ReactNode } from "react";

/** Wide enough for a name and an amount, narrow enough for a telephone. */
export const TOOLTIP_WIDTH_PX = 240;

const POINTER_GAP_PX = 14;

/** The top left corner of a tooltip, from that of the chart. */
export interface TooltipPlace {
  readonly left: number;
  readonly top: number;
}

export interface TooltipPoint {
  /** The middle of what is told about. */
  readonly x: number;
  readonly chartWidthPx: number;
  /** Where the tooltip begins when it stands beside the point, and when there is only room beneath. */
  readonly besideTop: number;
  readonly belowTop: number;
}

/** Beside the point while there is room, else beneath, over what follows; never beyond the chart's sides. */
export function toTooltipPlace({ x, chartWidthPx, besideTop, belowTop }: TooltipPoint): TooltipPlace {
  const right = x + POINTER_GAP_PX;
  if (right + TOOLTIP_WIDTH_PX <= chartWidthPx) return { left: right, top: besideTop };
  const left = x - POINTER_GAP_PX - TOOLTIP_WIDTH_PX;
  if (left >= 0) return { left, top: besideTop };
  const centred = x - TOOLTIP_WIDTH_PX / 2;
  return { left: Math.max(0, Math.min(chartWidthPx - TOOLTIP_WIDTH_PX, centred)), top: belowTop };
}

/** A box over the chart that never takes the pointer; what it says is told to screen readers elsewhere. */
export function Tooltip({
  place,
  title,
  children,
}: {
  readonly place: TooltipPlace;
  readonly title: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute top-0 left-0 z-20 rounded-md border border-line-strong bg-raised px-3 py-2 text-xs text-ink shadow-raised"
      style={{
        width: TOOLTIP_WIDTH_PX,
        transform: `translate(${Math.round(place.left)}px, ${Math.round(place.top)}px)`,
      }}
    >
      <p className="mb-1 font-medium wrap-break-word text-ink">{title}</p>
      {children}
    </div>
  );
}

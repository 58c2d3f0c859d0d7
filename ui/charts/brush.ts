/**
 * What the pointer or the keyboard points at in a chart, as a state machine: a crosshair, and a selection that reaches from
 * `anchor` to `cursor` while there is an anchor. Places are counted from 0.
 */
export interface Brush {
  readonly cursor: number | null;
  readonly anchor: number | null;
  readonly by: "pointer" | "keyboard" | null;
  /** A finger asks first and chooses with a second tap: whether this press is on the place that was asked about. */
  readonly isRepeated: boolean;
}

export type BrushEvent =
  | { readonly kind: "hover"; readonly index: number | null }
  | { readonly kind: "press"; readonly index: number | null }
  | { readonly kind: "release"; readonly index: number | null; readonly isTouch: boolean }
  | { readonly kind: "leave" }
  | { readonly kind: "cancel" }
  | { readonly kind: "key"; readonly key: string; readonly isShift: boolean };

/** Both inclusive; one place when they are the same. */
export interface BrushRange {
  readonly from: number;
  readonly to: number;
}

export interface BrushStep {
  readonly brush: Brush;
  /** The choice that the event made. */
  readonly choice: BrushRange | null;
  /** False for a key that means nothing here and goes on to the page. */
  readonly isConsumed: boolean;
}

export interface BrushRules {
  /** Without it there is a crosshair, and never a selection. */
  readonly canSelect: boolean;
  /** Where a key leads; null for a key that leads nowhere. */
  readonly move: (cursor: number | null, key: string) => number | null;
}

export const IDLE: Brush = { cursor: null, anchor: null, by: null, isRepeated: false };

/** What an event makes of a brush. A choice leaves it idle: what was chosen becomes another view with other places. */
export function stepBrush(brush: Brush, event: BrushEvent, rules: BrushRules): BrushStep {
  switch (event.kind) {
    case "hover":
      return become(toHovered(brush, event.index, rules));
    case "press":
      return become(toPressed(brush, event.index));
    case "release":
      return toReleased(brush, event);
    case "leave":
      return become(brush.by === "pointer" && brush.anchor === null ? IDLE : brush);
    case "cancel":
      return become(IDLE);
    case "key":
      return toTyped(brush, event, rules);
    default:
      return become(event satisfies never);
  }
}

/** The place that is pointed at, or those that are selected, in order. */
export function pointedAt({ cursor, anchor }: Brush): BrushRange | null {
  if (cursor === null) return null;
  return { from: Math.min(cursor, anchor ?? cursor), to: Math.max(cursor, anchor ?? cursor) };
}

/** The brush over places that have become fewer: it points at none that is gone. */
export function withinCount(brush: Brush, count: number): Brush {
  return Math.max(brush.cursor ?? -1, brush.anchor ?? -1) >= count ? IDLE : brush;
}

/** Places that Page Up and Page Down skip. */
const PAGE_PLACES = 10;
const STEPS = new Map([
  ["ArrowLeft", -1],
  ["ArrowRight", 1],
  ["PageUp", -PAGE_PLACES],
  ["PageDown", PAGE_PLACES],
]);

/** Where a key leads along a row of places; from nowhere to the newest, or to the oldest. Null for a key that leads nowhere. */
export function moveAlong(cursor: number | null, key: string, count: number): number | null {
  const last = count - 1;
  if (last < 0) return null;
  if (key === "Home") return 0;
  if (key === "End") return last;
  const step = STEPS.get(key);
  if (step === undefined) return null;
  if (cursor === null) return step < 0 ? last : 0;
  return Math.min(last, Math.max(0, cursor + step));
}

function become(brush: Brush): BrushStep {
  return { brush, choice: null, isConsumed: true };
}

function toHovered(brush: Brush, index: number | null, { canSelect }: BrushRules): Brush {
  // A selection by keyboard stays when the mouse is merely in the way.
  if (brush.by === "keyboard" && brush.anchor !== null) return brush;
  const isPressed = brush.by === "pointer" && brush.anchor !== null;
  if (!isPressed) return index === null ? IDLE : { ...IDLE, cursor: index, by: "pointer" };
  if (index === null || index === brush.cursor) return brush;
  return { ...brush, cursor: index, anchor: canSelect ? brush.anchor : index };
}

function toPressed(brush: Brush, index: number | null): Brush {
  if (index === null) return IDLE;
  return { cursor: index, anchor: index, by: "pointer", isRepeated: brush.cursor === index };
}

/** Between places nothing is chosen. */
function toReleased(brush: Brush, { index, isTouch }: BrushEvent & { readonly kind: "release" }): BrushStep {
  if (brush.by !== "pointer" || brush.anchor === null) return become(brush);
  if (index === null) return become(IDLE);
  const isFirstTap = isTouch && brush.anchor === brush.cursor && !brush.isRepeated;
  return isFirstTap ? become({ ...brush, anchor: null }) : choose(brush);
}

function toTyped(
  brush: Brush,
  { key, isShift }: BrushEvent & { readonly kind: "key" },
  { canSelect, move }: BrushRules,
): BrushStep {
  if (key === "Enter" || key === " ") {
    return brush.cursor === null ? { brush, choice: null, isConsumed: false } : choose(brush);
  }
  if (key === "Escape") {
    if (brush.anchor !== null) return become({ ...IDLE, cursor: brush.cursor, by: "keyboard" });
    return { brush: IDLE, choice: null, isConsumed: brush.cursor !== null };
  }
  const cursor = move(brush.cursor, key);
  if (cursor === null) return { brush, choice: null, isConsumed: false };
  const isSelecting = isShift && canSelect && brush.cursor !== null;
  const anchor = isSelecting ? (brush.anchor ?? brush.cursor) : null;
  return become({ ...IDLE, cursor, anchor, by: "keyboard" });
}

function choose(brush: Brush): BrushStep {
  return { brush: IDLE, choice: pointedAt(brush), isConsumed: true };
}

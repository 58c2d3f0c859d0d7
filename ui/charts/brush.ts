/**
 * What the pointer or the keyboard points at in a row of buckets, as a state machine: a crosshair, and a selection that
 * reaches from `anchor` to `cursor` while there is an anchor. Indices are those of the buckets.
 */
export interface Brush {
  readonly cursor: number | null;
  readonly anchor: number | null;
  readonly by: "pointer" | "keyboard" | null;
  /** A finger asks first and chooses with a second tap: whether this press is on the bucket that was asked about. */
  readonly isRepeated: boolean;
}

export type BrushEvent =
  | { readonly kind: "hover"; readonly index: number | null }
  | { readonly kind: "press"; readonly index: number | null }
  | { readonly kind: "release"; readonly isTouch: boolean }
  | { readonly kind: "leave" }
  | { readonly kind: "cancel" }
  | { readonly kind: "key"; readonly key: string; readonly isShift: boolean };

/** What was chosen by an event: one bucket, or those from `from` to `to`, inclusive. */
export type BrushChoice =
  | { readonly kind: "bucket"; readonly index: number }
  | { readonly kind: "range"; readonly from: number; readonly to: number };

export interface BrushStep {
  readonly brush: Brush;
  readonly choice: BrushChoice | null;
  /** False for a key that means nothing here and goes on to the page. */
  readonly isConsumed: boolean;
}

export interface BrushLimits {
  readonly count: number;
  /** Without it there is a crosshair, and never a selection. */
  readonly canSelect: boolean;
}

export const IDLE: Brush = { cursor: null, anchor: null, by: null, isRepeated: false };

/** Buckets that Page Up and Page Down skip. */
const PAGE_BUCKETS = 10;
const STEPS = new Map([
  ["ArrowLeft", -1],
  ["ArrowRight", 1],
  ["PageUp", -PAGE_BUCKETS],
  ["PageDown", PAGE_BUCKETS],
]);

/** What an event makes of a brush. A choice leaves it idle: what was chosen becomes another window with other buckets. */
export function stepBrush(brush: Brush, event: BrushEvent, limits: BrushLimits): BrushStep {
  switch (event.kind) {
    case "hover":
      return become(toHovered(brush, event.index, limits));
    case "press":
      return become(toPressed(brush, event.index));
    case "release":
      return toReleased(brush, event.isTouch, limits);
    case "leave":
      return become(brush.by === "pointer" && brush.anchor === null ? IDLE : brush);
    case "cancel":
      return become(IDLE);
    case "key":
      return toTyped(brush, event, limits);
    default:
      return become(event satisfies never);
  }
}

/** The selected buckets in order, or null while only one is pointed at. */
export function selectionOf({
  cursor,
  anchor,
}: Brush): { readonly from: number; readonly to: number } | null {
  if (cursor === null || anchor === null || cursor === anchor) return null;
  return { from: Math.min(cursor, anchor), to: Math.max(cursor, anchor) };
}

/** The brush over buckets that have become fewer: it points at none that is gone. */
export function withinCount(brush: Brush, count: number): Brush {
  const isGone = (index: number | null) => index !== null && index >= count;
  return isGone(brush.cursor) || isGone(brush.anchor) ? IDLE : brush;
}

function become(brush: Brush): BrushStep {
  return { brush, choice: null, isConsumed: true };
}

function toHovered(brush: Brush, index: number | null, { canSelect }: BrushLimits): Brush {
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

function toReleased(brush: Brush, isTouch: boolean, limits: BrushLimits): BrushStep {
  if (brush.by !== "pointer" || brush.anchor === null || brush.cursor === null) return become(brush);
  const isFirstTap = isTouch && brush.anchor === brush.cursor && !brush.isRepeated;
  return isFirstTap ? become({ ...brush, anchor: null }) : choose(brush, limits);
}

function toTyped(
  brush: Brush,
  { key, isShift }: { key: string; isShift: boolean },
  limits: BrushLimits,
): BrushStep {
  if (key === "Enter" || key === " ") {
    return brush.cursor === null ? { brush, choice: null, isConsumed: false } : choose(brush, limits);
  }
  if (key === "Escape") {
    if (brush.anchor !== null) return become({ ...IDLE, cursor: brush.cursor, by: "keyboard" });
    return { brush: IDLE, choice: null, isConsumed: brush.cursor !== null };
  }
  const cursor = toMoved(brush.cursor, key, limits.count);
  if (cursor === null) return { brush, choice: null, isConsumed: false };
  const isSelecting = isShift && limits.canSelect && brush.cursor !== null;
  return become({
    ...IDLE,
    cursor,
    anchor: isSelecting ? (brush.anchor ?? brush.cursor) : null,
    by: "keyboard",
  });
}

/** Where a key leads; from nowhere to the newest bucket, or to the oldest. Null for a key that leads nowhere. */
function toMoved(cursor: number | null, key: string, count: number): number | null {
  const last = count - 1;
  if (last < 0) return null;
  if (key === "Home") return 0;
  if (key === "End") return last;
  const step = STEPS.get(key);
  if (step === undefined) return null;
  if (cursor === null) return step < 0 ? last : 0;
  return Math.min(last, Math.max(0, cursor + step));
}

function choose(brush: Brush, { canSelect }: BrushLimits): BrushStep {
  const range = canSelect ? selectionOf(brush) : null;
  if (range !== null) return { brush: IDLE, choice: { kind: "range", ...range }, isConsumed: true };
  if (brush.cursor === null) return become(IDLE);
  return { brush: IDLE, choice: { kind: "bucket", index: brush.cursor }, isConsumed: true };
}

import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  IDLE,
  moveAlong,
  pointedAt,
  stepBrush,
  withinCount,
  type Brush,
  type BrushEvent,
  type BrushRange,
} from "../../ui/charts/brush.ts";

const key = (name: string, isShift = false): BrushEvent => ({ kind: "key", key: name, isShift });
const hover = (index: number | null): BrushEvent => ({ kind: "hover", index });
const press = (index: number): BrushEvent => ({ kind: "press", index });
const release: BrushEvent = { kind: "release", index: 3, isTouch: false };
const lift: BrushEvent = { kind: "release", index: 3, isTouch: true };

/** Choices of the events, and the brush after them. */
function play(events: readonly BrushEvent[], { count = 10, canSelect = true } = {}) {
  let brush: Brush = IDLE;
  const choices: BrushRange[] = [];
  const consumed: boolean[] = [];
  for (const event of events) {
    const step = stepBrush(brush, event, {
      canSelect,
      move: (cursor, name) => moveAlong(cursor, name, count),
    });
    brush = step.brush;
    if (step.choice !== null) choices.push(step.choice);
    consumed.push(step.isConsumed);
  }
  return { brush, choices, consumed };
}

describe("the mouse", () => {
  test("points without choosing, and points at nothing after it has left", () => {
    expect(play([hover(3)])).toMatchObject({ brush: { cursor: 3, anchor: null }, choices: [] });
    expect(play([hover(3), { kind: "leave" }]).brush).toEqual(IDLE);
  });

  test("chooses a bucket by a click and a range by a drag, in either direction, also past the edge of the chart", () => {
    expect(play([hover(3), press(3), release]).choices).toEqual([{ from: 3, to: 3 }]);
    expect(play([press(3), hover(5), { kind: "leave" }, hover(6), release]).choices).toEqual([
      { from: 3, to: 6 },
    ]);
    expect(play([press(6), hover(2), release]).choices).toEqual([{ from: 2, to: 6 }]);
    expect(play([press(3), hover(5), hover(3), release]).choices).toEqual([{ from: 3, to: 3 }]);
  });

  test("chooses nothing when the drag is cancelled or Escape is pressed in the middle of it", () => {
    expect(play([press(3), hover(5), { kind: "cancel" }, release]).choices).toEqual([]);
    expect(play([press(3), hover(5), key("Escape"), release])).toMatchObject({ choices: [] });
  });

  test("chooses nothing where it lets go between two places", () => {
    const outside: BrushEvent = { kind: "release", index: null, isTouch: false };
    expect(play([press(3), hover(5), outside])).toMatchObject({ choices: [], brush: IDLE });
  });

  test("selects no range where there is none to select: the drag ends in a click", () => {
    const { choices } = play([press(3), hover(5), release], { canSelect: false });
    expect(choices).toEqual([{ from: 5, to: 5 }]);
  });
});

describe("a finger", () => {
  test("asks with the first tap and chooses with a second one on the same bucket", () => {
    expect(play([press(3), lift])).toMatchObject({ choices: [], brush: { cursor: 3, anchor: null } });
    expect(play([press(3), lift, press(3), lift]).choices).toEqual([{ from: 3, to: 3 }]);
    expect(play([press(3), lift, press(4), lift]).choices).toEqual([]);
    expect(play([press(3), hover(7), lift]).choices).toEqual([{ from: 3, to: 7 }]);
  });
});

describe("the keyboard", () => {
  test("comes in at the newest bucket or the oldest, and stays within the chart", () => {
    expect(play([key("ArrowLeft")]).brush.cursor).toBe(9);
    expect(play([key("ArrowRight")]).brush.cursor).toBe(0);
    expect(play([key("End"), key("ArrowRight")]).brush.cursor).toBe(9);
    expect(play([key("Home"), key("PageUp")]).brush.cursor).toBe(0);
    expect(play([key("Home"), key("PageDown")], { count: 40 }).brush.cursor).toBe(10);
  });

  test("chooses with Enter or the space bar: the bucket, or the range that Shift has selected", () => {
    expect(play([key("Home"), key("ArrowRight"), key("Enter")]).choices).toEqual([{ from: 1, to: 1 }]);
    const range = play([key("End"), key("ArrowLeft", true), key("ArrowLeft", true), key(" ")]);
    expect(range.choices).toEqual([{ from: 7, to: 9 }]);
    expect(range.brush).toEqual(IDLE);
    expect(play([key("End"), key("ArrowLeft", true)], { canSelect: false }).brush.anchor).toBeNull();
  });

  test("gives up the selection with Escape, then the crosshair; a third Escape is the page's, as is any other key", () => {
    const escape = key("Escape");
    const { consumed, brush } = play([key("End"), key("ArrowLeft", true), escape, escape, escape]);
    expect(consumed).toEqual([true, true, true, true, false]);
    expect(brush).toEqual(IDLE);
    expect(play([key("Tab")]).consumed).toEqual([false]);
    expect(play([key("toString")]).consumed).toEqual([false]);
    expect(play([key("Enter")])).toMatchObject({ consumed: [false], choices: [] });
    expect(play([key("End")], { count: 0 }).consumed).toEqual([false]);
  });

  test("keeps its selection while a mouse lies in the way", () => {
    const { brush } = play([key("End"), key("ArrowLeft", true), hover(2), { kind: "leave" }]);
    expect(pointedAt(brush)).toEqual({ from: 8, to: 9 });
  });
});

test("whatever happens, a brush points within the chart and a choice is one of its buckets, in order", () => {
  const index = fc.integer({ min: 0, max: 9 });
  const anyEvent: fc.Arbitrary<BrushEvent> = fc.oneof(
    fc.record({ kind: fc.constant("hover" as const), index: fc.option(index) }),
    fc.record({ kind: fc.constant("press" as const), index: fc.option(index) }),
    fc.record({ kind: fc.constant("release" as const), index: fc.option(index), isTouch: fc.boolean() }),
    fc.constantFrom({ kind: "leave" as const }, { kind: "cancel" as const }),
    fc.record({
      kind: fc.constant("key" as const),
      key: fc.constantFrom(
        "ArrowLeft",
        "ArrowRight",
        "Home",
        "End",
        "PageUp",
        "PageDown",
        "Enter",
        "Escape",
        "x",
      ),
      isShift: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 30 }), fc.boolean(), (events, canSelect) => {
      const { brush, choices } = play(events, { canSelect });
      for (const place of [brush.cursor, brush.anchor]) {
        if (place !== null) expect(place >= 0 && place < 10).toBeTrue();
      }
      for (const choice of choices) {
        expect(choice.from).toBeLessThanOrEqual(choice.to);
        if (!canSelect) expect(choice.from).toBe(choice.to);
      }
      expect(withinCount(brush, 0)).toEqual(IDLE);
    }),
  );
});

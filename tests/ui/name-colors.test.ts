import { expect, test } from "bun:test";
import fc from "fast-check";
import { toPaints } from "../../ui/charts/paint.tsx";
import { assignSlots, NAME_COLORS, type Remembered } from "../../ui/charts/name-colors.ts";

const NAMES = fc.uniqueArray(fc.string({ maxLength: 12 }), { maxLength: NAME_COLORS });

test("names that are new have a color each, unlike those beside them, and their order decides nothing", () => {
  fc.assert(
    fc.property(fc.array(NAMES, { maxLength: 6 }), NAMES, (before, names) => {
      const remembered: Remembered = new Map();
      for (const earlier of before) assignSlots(earlier, remembered);
      const slots = assignSlots(names, new Map(remembered));
      const turned = assignSlots(names.toReversed(), new Map(remembered));
      for (const name of names) expect(turned.get(name)).toBe(slots.get(name) ?? -1);
      for (const slot of slots.values()) expect(slot).toBeWithin(0, NAME_COLORS);
      for (const fresh of names.filter((name) => !remembered.has(name))) {
        const beside = names.filter((name) => name !== fresh).map((name) => slots.get(name));
        expect(beside).not.toContain(slots.get(fresh));
      }
    }),
  );
});

test("a name keeps its color, whatever it is drawn with", () => {
  fc.assert(
    fc.property(fc.array(NAMES, { maxLength: 8 }), (charts) => {
      const remembered: Remembered = new Map();
      const known = new Map<string, number>();
      for (const names of charts) {
        for (const [name, slot] of assignSlots(names, remembered)) {
          expect(slot).toBe(known.get(name) ?? slot);
          known.set(name, slot);
        }
      }
    }),
  );
});

test("sixteen names that are met one after the other have each color twice", () => {
  const remembered: Remembered = new Map();
  for (let index = 0; index < 16; index += 1) assignSlots([`model-${index}`], remembered);
  const names = Map.groupBy(remembered, ([, slot]) => slot);
  expect([...names.values()].map(({ length }) => length)).toEqual(
    Array.from({ length: NAME_COLORS }, () => 2),
  );
});

test("names of one color differ by texture where they are drawn together, and the plain one is the first", () => {
  const paints = toPaints(["a", "b", "c", "d"].map((id) => ({ id, label: id, slot: id === "b" ? 2 : 5 })));
  expect(paints.map(({ texture }) => texture)).toEqual([null, null, "hatch", "mesh"]);
  expect(new Set(paints.map(({ color }) => color)).size).toBe(2);
});

test("names do not all begin with the same color", () => {
  const begins = ["smart", "fast", "gpt-5", "embed", "default"].map((name) =>
    assignSlots([name], new Map()).get(name),
  );
  expect(new Set(begins).size).toBeGreaterThan(2);
});

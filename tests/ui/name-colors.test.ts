import { expect, test } from "bun:test";
import fc from "fast-check";
import { assignSlots, NAME_COLORS, type Remembered } from "../../ui/charts/name-colors.ts";

const NAMES = fc.uniqueArray(fc.string({ maxLength: 12 }), { maxLength: NAME_COLORS });

test("names that are drawn together have a color each, whatever was drawn before, and their order decides nothing", () => {
  fc.assert(
    fc.property(fc.array(NAMES, { maxLength: 6 }), NAMES, (before, names) => {
      const remembered: Remembered = new Map();
      for (const earlier of before) assignSlots(earlier, remembered);
      const slots = assignSlots(names, new Map(remembered));
      const turned = assignSlots(names.toReversed(), new Map(remembered));
      for (const name of names) expect(turned.get(name)).toBe(slots.get(name) ?? -1);
      expect(new Set(slots.values()).size).toBe(names.length);
      for (const slot of slots.values()) expect(slot).toBeWithin(0, NAME_COLORS);
    }),
  );
});

test("a name keeps its color when others go, and when others come that were met later", () => {
  fc.assert(
    fc.property(NAMES, fc.nat(), NAMES, (names, kept, others) => {
      const remembered: Remembered = new Map();
      const first = assignSlots(names, remembered);
      const fewer = names.slice(0, kept % (names.length + 1));
      const alone = assignSlots(fewer, remembered);
      const later = others.filter((name) => !first.has(name)).slice(0, NAME_COLORS - fewer.length);
      const together = assignSlots([...later, ...fewer], remembered);
      for (const name of fewer) {
        expect(alone.get(name)).toBe(first.get(name) ?? -1);
        expect(together.get(name)).toBe(first.get(name) ?? -1);
      }
    }),
  );
});

test("names do not all begin with the same color", () => {
  const begins = ["smart", "fast", "gpt-5", "embed", "default"].map((name) =>
    assignSlots([name], new Map()).get(name),
  );
  expect(new Set(begins).size).toBeGreaterThan(2);
});

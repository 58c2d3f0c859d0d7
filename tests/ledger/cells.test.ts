import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Cell } from "#storage/cells/outcome-cells.ts";
import { CELL_MEASURES, CELL_OUTCOMES, decodeCells, encodeCells } from "#storage/cells/outcome-cells.ts";

const count = fc.oneof(
  fc.maxSafeNat(),
  fc.nat({ max: 300 }),
  fc.nat({ max: 9 }).map((tens) => 10 ** tens),
);
const quantity = fc.option(fc.oneof(count, fc.double({ min: 0, max: 1e12, noNaN: true })));
const arbitraryCell: fc.Arbitrary<Cell> = fc.record({
  combination: fc.integer({ min: 1, max: 2 ** 31 }),
  outcome: fc.constantFrom(...CELL_OUTCOMES),
  requests: count,
  priced_requests: count,
  unpriced_requests: count,
  cost_hi: count,
  cost_lo: count,
  input_tokens: quantity,
  output_tokens: quantity,
  cached_input_tokens: quantity,
  audio_us: quantity,
  images: quantity,
  search_units: quantity,
  web_searches: quantity,
  priced_by_request: quantity,
});
const NOTHING = {
  input_tokens: null,
  output_tokens: null,
  cached_input_tokens: null,
  audio_us: null,
  images: null,
  search_units: null,
  web_searches: null,
  priced_by_request: null,
};

test("the cells of an hour are read back as they were written, in whatever order, fractions and nothing reported included", () => {
  fc.assert(
    fc.property(fc.array(arbitraryCell, { maxLength: 40 }), (cells) => {
      const { count: read, combinations, outcomes, measures } = decodeCells(encodeCells(cells));
      expect(read).toBe(cells.length);
      const back = cells.map((_, index) => [
        combinations[index],
        CELL_OUTCOMES[outcomes[index] ?? -1],
        ...measures.map((column) => column[index]),
      ]);
      const expected = cells.map((cell) => [
        cell.combination,
        cell.outcome,
        ...CELL_MEASURES.map((measure) => cell[measure] ?? -1),
      ]);
      expect(back).toEqual(expected);
    }),
  );
});

test("an hour of requests with round prices takes less than one whose costs end anywhere", () => {
  const toCells = (pico: number) =>
    Array.from({ length: 500 }, (_, index): Cell => {
      const tokens = 100 + ((index * 7_919) % 5_003);
      return {
        combination: index * 3,
        outcome: "ok",
        requests: 1,
        priced_requests: 1,
        unpriced_requests: 0,
        cost_hi: 0,
        cost_lo: tokens * pico,
        ...NOTHING,
        input_tokens: tokens,
      };
    });
  expect(encodeCells(toCells(100_000)).length).toBeLessThan(encodeCells(toCells(100_003)).length * 0.8);
});

test("cells without a rare unit are the bytes of the version before, which are read back with nothing of it", () => {
  const cell: Cell = {
    ...NOTHING,
    combination: 7,
    outcome: "ok",
    requests: 3,
    priced_requests: 2,
    unpriced_requests: 1,
    cost_hi: 4,
    cost_lo: 250_000,
    input_tokens: 900,
    audio_us: 1_500_000,
  };
  const before = Uint8Array.fromBase64("KLUv/SAXuQAAAQAICQEABAADAAIABQQaAgoJAAkABRA=");
  expect(encodeCells([cell]).toBase64()).toBe(before.toBase64());
  const { measures } = decodeCells(before);
  expect(measures.map((column) => column[0])).toEqual([
    3, 2, 1, 4, 250_000, 900, -1, -1, 1_500_000, -1, -1, -1, -1,
  ]);
  expect(encodeCells([{ ...cell, images: 2 }]).toBase64()).not.toBe(before.toBase64());
});

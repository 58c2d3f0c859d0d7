import { expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  addToEncoded,
  type Cells,
  decodeCells,
  encodeCells,
  type OpenCellRow,
  sumCells,
  toAddedSums,
  toCells,
  toNothing,
  withoutEmpty,
} from "#storage/cells/cells.ts";
import { COST_MEASURES } from "#storage/cells/counting.ts";
import { BANDS, CELL_MEASURES } from "#storage/cells/measures.ts";

const count = fc.oneof(
  fc.maxSafeNat(),
  fc.nat({ max: 300 }),
  fc.nat({ max: 9 }).map((tens) => 10 ** tens),
);
const quantity = fc.option(fc.oneof(count, fc.double({ min: 0, max: 1e12, noNaN: true })));
const toRow = (measure: (adds: string) => fc.Arbitrary<number | null>) => {
  const measures: Record<string, fc.Arbitrary<number | null>> = {
    ...Object.fromEntries(CELL_MEASURES.map(({ name, adds }) => [name, measure(adds)])),
    ...Object.fromEntries(BANDS.map((band) => [band, fc.nat({ max: 1e5 })])),
    band_over_120s: fc.integer({ min: 1, max: 1e5 }),
    cost_lo: fc.nat({ max: 999_999_999 }),
    cost_reported_lo: fc.nat({ max: 999_999_999 }),
  };
  return fc
    .tuple(fc.record(measures), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 3 }))
    .map(([values, combination, result]) => {
      // Each request lies in one band.
      const requests = BANDS.reduce((sum, band) => sum + (values[band] ?? 0), 0);
      return Object.assign(values, { requests, combination, result });
    });
};
const anyRow = toRow((adds) => (adds === "reported" ? quantity : count));
/** Sums of these are exact, whatever their order. */
const smallRow = toRow((adds) =>
  adds === "reported" ? fc.option(fc.nat({ max: 1e6 })) : fc.nat({ max: 1e6 }),
);

/** As text: what is not reported is null. */
function toText({ combination, result, ...values }: OpenCellRow): string {
  return JSON.stringify([combination, result, ...CELL_MEASURES.map(({ name }) => values[name] ?? -1)]);
}

function toRows({ count: rows, combinations, results, measures }: Cells<Float64Array | null>) {
  return Array.from({ length: rows }, (_, row) =>
    JSON.stringify([
      combinations[row],
      results[row],
      ...measures.map((values, measure) =>
        values === null ? toNothing(CELL_MEASURES[measure]!.adds) : values[row],
      ),
    ]),
  );
}

test("cells are read back as they were written: fractions, what is not reported, and the first measures alone", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(anyRow, { maxLength: 40, selector: (row) => `${row.combination} ${row.result}` }),
      fc.nat({ max: CELL_MEASURES.length }),
      (rows, measuresMax) => {
        const cells = toCells(rows);
        const values = rows
          .toSorted((one, other) => one.combination - other.combination || one.result - other.result)
          .map(toText);
        expect(toRows(cells)).toEqual(values);
        const encoded = encodeCells(cells);
        expect(toRows(decodeCells(encoded))).toEqual(values);
        const some = decodeCells(encoded, measuresMax);
        const first = (all: Cells<Float64Array | null>) =>
          toRows({ ...all, measures: all.measures.slice(0, measuresMax) });
        expect(first(some)).toEqual(first(cells));
      },
    ),
  );
});

test("cells add up to the same, however rows are cut into parts", () => {
  fc.assert(
    fc.property(fc.array(smallRow, { maxLength: 60 }), fc.nat({ max: 60 }), (rows, cut) => {
      const sum = sumCells([toCells(rows.slice(0, cut)), toCells(rows.slice(cut))]);
      expect(toRows(sum)).toEqual(toRows(toCells(rows)));
      for (const low of sum.measures[CELL_MEASURES.findIndex(({ adds }) => adds === "low")]!)
        expect(low).toBeLessThan(1e9);
      const keys = Array.from(sum.combinations, (id, row) => id * 10 + sum.results[row]!);
      expect(keys).toEqual([...new Set(keys)].sort((one, other) => one - other));
    }),
  );
});

test("what is added to the costs of encoded cells is what they were encoded with, byte by byte; a row that they lack is refused", () => {
  const change = fc.record({
    row: fc.nat(),
    priced: fc.nat({ max: 9 }),
    unpriced: fc.nat({ max: 9 }),
    byRequest: fc.nat({ max: 9 }),
    hi: fc.nat({ max: 1e6 }),
    lo: fc.integer({ min: -999_999_999, max: 3_000_000_000 }),
  });
  fc.assert(
    fc.property(
      fc.array(smallRow, { minLength: 1, maxLength: 40 }),
      fc.array(change, { maxLength: 40 }),
      (rows, changes) => {
        const cells = toCells(rows);
        const added = changes.map(({ row, hi, ...values }) => {
          const at = row % cells.count;
          // An amount stays above zero.
          const place = { combination: cells.combinations[at]!, result: cells.results[at]! };
          return { ...place, ...values, hi: hi + 1 };
        });
        const names = Object.entries(COST_MEASURES);
        const none = CELL_MEASURES.map(({ name, adds }) => [name, adds === "reported" ? null : 0] as const);
        const addedRows = added.map((each): OpenCellRow => {
          const values = names.map(([name, member]) => [name, each[member]] as const);
          return Object.assign(Object.fromEntries([...none, ...values]), each);
        });
        const encoded = encodeCells(cells);
        const sums = toAddedSums(added, COST_MEASURES);
        expect(addToEncoded(encoded, sums)).toEqual(encodeCells(sumCells([cells, toCells(addedRows)])));
        const other = { combination: 99, result: 1, priced: 1, unpriced: 0, byRequest: 0, hi: 0, lo: 0 };
        expect(addToEncoded(encoded, toAddedSums([...added, other], COST_MEASURES))).toBeNull();
      },
    ),
  );
});

test("requests that are billed by themselves are none in cells of before, which say so with -1, and in sums that were taken out again", () => {
  const measure = CELL_MEASURES.findIndex(({ name }) => name === "priced_by_request");
  const rows = [1, 2].map((combination): OpenCellRow => {
    const none = CELL_MEASURES.map(({ name, adds }) => [name, adds === "reported" ? null : 0] as const);
    return Object.assign(Object.fromEntries(none), { combination, result: 1, requests: 1 });
  });
  const cells = toCells(rows);
  const before = encodeCells({
    ...cells,
    measures: cells.measures.map((values, at) => (at === measure ? Float64Array.of(-1, 7) : values)),
  });
  expect(decodeCells(before).measures[measure]).toEqual(Float64Array.of(0, 7));
  const change = (byRequest: number) => {
    const added = { combination: 1, result: 1, priced: 0, unpriced: 0, byRequest, hi: 0, lo: 0 };
    return toAddedSums([added], COST_MEASURES);
  };
  const given = addToEncoded(before, change(1));
  expect(given === null ? null : decodeCells(given).measures[measure]).toEqual(Float64Array.of(1, 7));
  const taken = given === null ? null : addToEncoded(given, change(-1));
  expect(taken === null ? null : decodeCells(taken).measures[measure]).toEqual(Float64Array.of(0, 7));
});

test("a row whose requests are all taken out again is gone, and one of which as many were taken out as added counts their difference", () => {
  const row = {
    ...Object.fromEntries(CELL_MEASURES.map(({ name, adds }) => [name, adds === "reported" ? null : 0])),
    combination: 1,
    result: 1,
    requests: 2,
    duration_us: 7,
  };
  const other = { ...row, combination: 2 };
  const late = [
    { ...row, requests: -2, duration_us: -7 },
    { ...other, requests: -1, duration_us: -3 },
    { ...other, requests: 1, duration_us: 5 },
  ];
  const sum = withoutEmpty(sumCells([toCells([row, other]), toCells(late)]));
  expect(toRows(sum)).toEqual(toRows(toCells([{ ...other, duration_us: 9 }])));
});

test("a row of many equal columns takes few bytes, and one of round prices fewer than one of odd ones", () => {
  const toSize = (costStep: number) => {
    const rows = Array.from({ length: 1_000 }, (_, index) => ({
      ...Object.fromEntries(CELL_MEASURES.map(({ name, adds }) => [name, adds === "reported" ? null : 0])),
      combination: index + 1,
      result: 1,
      requests: 1,
      cost_lo: ((index * 7_919) % 1_000) * costStep,
      duration_us: (index * 104_729) % 1_000_003,
    }));
    return encodeCells(toCells(rows)).length / rows.length;
  };
  expect(toSize(1_000)).toBeLessThan(6);
  expect(toSize(1_000)).toBeLessThan(toSize(1_000_003));
});

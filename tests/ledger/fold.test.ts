import { expect, test } from "bun:test";
import { CELL_MEASURES } from "#storage/cells/measures.ts";
import { Fold, type FoldSum } from "#storage/reports/fold.ts";

/** One cell of the first label set and the first result. */
function cell(values: { readonly [measure: string]: number }) {
  return {
    count: 1,
    combinations: Int32Array.of(0),
    results: Int32Array.of(0),
    measures: CELL_MEASURES.map(({ name, adds }) =>
      Float64Array.of(values[name] ?? (adds === "reported" ? -1 : 0)),
    ),
  };
}

const KEYS = {
  groupOf: Int32Array.of(0),
  groupCount: 1,
  endingOf: Int32Array.of(0),
  endingCount: 1,
};

test("what a settlement adds to a period that was folded before is in its sums, although it is no request more", () => {
  const fold = new Fold(KEYS);
  fold.begin(1);
  fold.add(cell({ requests: 1, duration_us: 5 }));
  fold.begin(2);
  fold.add(cell({ requests: 1, duration_us: 7, cost_lo: 3 }));
  fold.begin(1);
  fold.add(cell({ requests: -1, duration_us: -5 }));
  fold.add(cell({ requests: 1, duration_us: 5, cost_lo: 9, output_tokens: 4 }));
  const ofFirst = [...fold.sums()].filter(({ period }) => period === 1);
  const total = (toValue: (sum: FoldSum) => number | null) =>
    ofFirst.reduce((sum, one) => sum + (toValue(one) ?? 0), 0);
  expect(total(({ requests }) => requests)).toBe(1);
  expect(total((sum) => sum.cost_lo)).toBe(9);
  expect(total(({ units }) => units.output_tokens)).toBe(4);
  expect(total((sum) => sum.duration_us)).toBe(5);
});

test("sums of nothing are left out", () => {
  const fold = new Fold(KEYS);
  fold.begin(1);
  fold.add(cell({ requests: 1, duration_us: 5, output_tokens: 0 }));
  fold.add(cell({ requests: -1, duration_us: -5 }));
  expect([...fold.sums()]).toEqual([]);
});

test("a request that is settled without usage or cost takes back that it was pending", () => {
  const fold = new Fold(KEYS, ["requests", "pending_requests", "unmetered_requests", "cost_hi", "cost_lo"]);
  fold.begin(1);
  fold.add(cell({ requests: -1, pending_requests: -1 }));
  fold.add(cell({ requests: 1 }));
  expect([...fold.sums()]).toMatchObject([{ requests: 0, pending_requests: -1, unmetered_requests: 0 }]);
});

import { expect, test } from "bun:test";
import { sortRows, toNextSort } from "../../ui/components/table.tsx";
import { toSort, toSortSearch } from "../../ui/search/sort.ts";

test("rows without a value come last in both directions, and rows of one value keep their order", () => {
  const rows = [
    { id: "a", cost: 2 },
    { id: "b", cost: null },
    { id: "c", cost: 10 },
    { id: "d", cost: 2 },
  ];
  const order = (descending: boolean) =>
    sortRows(rows, ({ cost }) => cost, descending)
      .map(({ id }) => id)
      .join("");
  expect([order(false), order(true)]).toEqual(["adcb", "cadb"]);
});

test("the first press on a column of figures sorts from the largest, the next turns round, and the address tells it", () => {
  const cost = { id: "cost", header: "Cost", align: "end", cell: () => null } as const;
  const first = toNextSort(cost, null);
  const second = toNextSort(cost, first);
  expect([first, second].map((sort) => toSortSearch(sort).sort)).toEqual(["-cost", "cost"]);
  for (const sort of [first, second]) expect(toSort(toSortSearch(sort))).toEqual(sort);
  expect(toNextSort({ ...cost, align: "start" }, first)).toEqual({ id: "cost", descending: false });
  expect(toSort({})).toBeNull();
});

test("names sort by the numbers in them: person-2 before person-10", () => {
  const names = ["person-10", "Person-3", "person-2"];
  const sorted = sortRows(
    names.map((name) => ({ name })),
    ({ name }) => name,
    false,
  );
  expect(sorted.map(({ name }) => name)).toEqual(["person-2", "Person-3", "person-10"]);
});

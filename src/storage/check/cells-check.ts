import { all, type Script } from "#storage/sql/script.ts";
import { CELL_MEASURES, CELL_OUTCOMES, decodeCells } from "#storage/cells/outcome-cells.ts";
import type { Difference } from "./event-sums.ts";

const ROUNDING = 1e-12;

export interface CellsOf {
  /** SQL that takes the period and has a row for each cell, with its combination, outcome and measures. */
  readonly expected: string;
  readonly period: number;
  readonly encoded: Uint8Array<ArrayBuffer>;
}

type SumRow = Readonly<Record<string, number | string | null>>;

/** Compares the cells of an hour or a month with the sums that they are of. */
export function* findCellDifferences({ expected, period, encoded }: CellsOf): Script<Difference> {
  const rows = yield* all<SumRow>(expected, [period]);
  const sums = new Map(rows.map((row) => [`${row["combination"]} ${row["outcome"]}`, row]));
  const { count, combinations, outcomes, measures } = decodeCells(encoded);
  let stored = 0;
  let differing = 0;
  for (let cell = 0; cell < count; cell += 1) {
    const key = `${combinations[cell]} ${CELL_OUTCOMES[outcomes[cell] ?? -1] ?? "none"}`;
    const row = sums.get(key);
    stored += measures[0]?.[cell] ?? 0;
    // A cell has -1 for what was not reported.
    if (!CELL_MEASURES.every((name, index) => isSame(row?.[name] ?? -1, measures[index]?.[cell])))
      differing += 1;
    sums.delete(key);
  }
  const requests = rows.reduce((sum, row) => sum + Number(row["requests"]), 0);
  return { rows: differing + sums.size, expected: requests, stored };
}

/** The last digits of a sum of fractions depend on the order of the additions. */
function isSame(left: number | string, right: number | undefined): boolean {
  if (left === right) return true;
  return (
    typeof left === "number" && right !== undefined && Math.abs(left - right) <= ROUNDING * Math.abs(right)
  );
}

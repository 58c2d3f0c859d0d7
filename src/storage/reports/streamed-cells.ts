import { all, each, type Script } from "#storage/sql/script.ts";
import { CELL_MEASURES, CELL_OUTCOMES } from "#storage/cells/outcome-cells.ts";
import type { CellSums } from "./cell-sums.ts";
import type { MeasureSource } from "./measure-sources.ts";

/** Rows that are added at a time: half a megabyte. */
const ROWS_PER_BATCH = 4_096;
const NOT_REPORTED = -1;

type CellRow = { readonly [measure in (typeof CELL_MEASURES)[number]]: number | null } & {
  readonly combination: number;
  readonly result: number;
};

/** Adds what sources hold, row by row: nothing is sorted or kept, however many combinations there are. */
export function* addSources(cells: CellSums, sources: readonly MeasureSource[]): Script<void> {
  const results = yield* all<{ id: number; outcome: (typeof CELL_OUTCOMES)[number] }>(
    "SELECT id, outcome FROM result",
  );
  const outcomeOf = new Map(results.map(({ id, outcome }) => [id, CELL_OUTCOMES.indexOf(outcome)]));
  const combinations = new Float64Array(ROWS_PER_BATCH);
  const outcomes = new Float64Array(ROWS_PER_BATCH);
  const measures = CELL_MEASURES.map((measure) => ({ measure, values: new Float64Array(ROWS_PER_BATCH) }));
  let count = 0;
  const flush = () => {
    cells.add({
      count,
      combinations,
      outcomes: outcomes.subarray(0, count),
      measures: measures.map(({ values }) => values.subarray(0, count)),
    });
    count = 0;
  };
  for (const { sql, bindings } of sources) {
    yield* each<CellRow>(
      `SELECT combination, result, ${CELL_MEASURES.join(", ")} FROM (${sql}) AS s`,
      bindings,
      (row) => {
        combinations[count] = row.combination;
        outcomes[count] = outcomeOf.get(row.result) ?? 0;
        for (const { measure, values } of measures) values[count] = row[measure] ?? NOT_REPORTED;
        count += 1;
        if (count === ROWS_PER_BATCH) flush();
      },
    );
  }
  if (count > 0) flush();
}

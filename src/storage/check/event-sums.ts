import { UNIT_COLUMNS, UNITS } from "#kernel/units.ts";
import { IS_INCLUSIVE, toEventMeasures, toUnpricedUnits } from "#storage/reports/event-measures.ts";
import { all, dialectOf, empty, type Script, run } from "#storage/sql/script.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { DAY_MEASURES } from "#storage/cells/total-columns.ts";

const SUMMED_ELSEWHERE = new Set(["cost_hi", "cost_lo"]);

/** Adds up columns, each under its name; `toColumn` spells one in SQL. */
export function toSums(columns: readonly string[], toColumn = (column: string) => column): string {
  const sums = columns
    .filter((column) => !SUMMED_ELSEWHERE.has(column))
    .map((column) => `${column === "last_seen_us" ? "max" : "sum"}(${toColumn(column)}) AS ${column}`);
  return `${sums.join(", ")}, ${toCostSums(toColumn)}`;
}

/** Fills what `sumEvents` needs. */
export function* prepareEventSums(): Script<void> {
  const dialect = yield* dialectOf();
  const unpriced = toUnpricedUnits(dialect);
  yield* empty("priced_manner");
  yield* run(
    `INSERT INTO priced_manner (id, result, outcome, ${UNITS.join(", ")})
     SELECT manner.id, result, outcome, ${UNITS.map((unit, index) => `${unpriced[index]} AS ${unit}`).join(", ")}
     FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set`,
  );
}

/** The events of `[fromUs, toUs)` by hour, combination and result in `event_sum`, in place of what was there. */
export function* sumEvents(fromUs: number, toUs: number): Script<void> {
  const measures = toEventMeasures(yield* dialectOf(), IS_INCLUSIVE);
  const columns = DAY_MEASURES.filter((column) => !SUMMED_ELSEWHERE.has(column));
  yield* empty("event_sum");
  yield* run(
    `INSERT INTO event_sum (hour, combination, result, outcome, ${columns.join(", ")}, cost_hi, cost_lo)
     SELECT e.id / 3600000000 AS hour, e.combination, m.result, m.outcome, ${toSums(DAY_MEASURES, (column) => measures.get(column) ?? "")}
     FROM event AS e CROSS JOIN priced_manner AS m ON m.id = e.manner CROSS JOIN combination AS c ON c.id = e.combination
     WHERE e.id >= ? AND e.id < ? GROUP BY 1, 2, 3, 4`,
    [fromUs, toUs],
  );
}

export interface Difference {
  /** Rows that one side has and the other has not, or has otherwise. */
  readonly rows: number;
  readonly expected: number;
  readonly stored: number;
}

export interface Sides {
  readonly keys: readonly string[];
  readonly measures: readonly string[];
  /** SQL with all of these columns, one row for each key. */
  readonly expected: string;
  /** SQL with the same columns, over a table with an index by the keys where there are many: each row of `expected` is looked up in it. */
  readonly stored: string;
}

/** Compares sums by their keys. Of fractions the last digits depend on the order of the additions, and are left out. */
export function* compare({ keys, measures, expected, stored }: Sides): Script<Difference> {
  const units = new Set<string>(UNIT_COLUMNS);
  const exact = measures.filter((column) => !units.has(column));
  const by = keys.join(", ");
  const list = (side: string) => exact.map((column) => `${side}.${column}`).join(", ");
  const differ = measures
    .filter((column) => units.has(column))
    .map(
      (column) =>
        `(e.${column} IS NULL) <> (s.${column} IS NULL) OR abs(e.${column} - s.${column}) > 1e-12 * abs(s.${column})`,
    );
  const [found] = yield* all<Difference>(
    `WITH e AS MATERIALIZED (${expected}), s AS NOT MATERIALIZED (${stored})
     SELECT (SELECT count(*) FROM e LEFT JOIN s USING (${by}) WHERE (${list("e")}) IS DISTINCT FROM (${list("s")}) OR ${differ.join(" OR ")})
          + (SELECT count(*) FROM s) - (SELECT count(*) FROM e CROSS JOIN s USING (${by})) AS rows,
       (SELECT coalesce(sum(requests), 0) FROM e) AS expected, (SELECT coalesce(sum(requests), 0) FROM s) AS stored`,
  );
  if (found === undefined) throw new Error("a comparison has no row");
  return found;
}

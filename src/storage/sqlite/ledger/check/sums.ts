import type { Database } from "bun:sqlite";
import { UNIT_COLUMNS, UNITS } from "#kernel/units.ts";
import { toCostSums } from "#storage/ledger/rows/sums.ts";
import { SQLITE } from "#storage/ledger/queries/dialect.ts";
import { toEventMeasures, toUnpricedUnits } from "#storage/ledger/queries/event-measures.ts";

const EVENT_MEASURES = toEventMeasures(SQLITE, "c.shape IS NOT 'exclusive'");
const SUMMED_ELSEWHERE = new Set(["cost_hi", "cost_lo"]);
/** What a row of days and months has, and of hours and dimensions. */
export const DAY_COLUMNS: readonly string[] = [...EVENT_MEASURES.keys()];
export const HOUR_COLUMNS = DAY_COLUMNS.filter(
  (column) => !/^(duration_us|last_seen_us|band_.*)$/.test(column),
);

/** Adds up columns, each under its name; `toColumn` spells one in SQL. */
export function toSums(columns: readonly string[], toColumn = (column: string) => column): string {
  const sums = columns
    .filter((column) => !SUMMED_ELSEWHERE.has(column))
    .map((column) => `${column === "last_seen_us" ? "max" : "sum"}(${toColumn(column)}) AS ${column}`);
  return `${sums.join(", ")}, ${toCostSums(toColumn)}`;
}

/** Makes `event_sum`, which `sumEvents` fills, and what it needs. */
export function makeEventSums(database: Database): void {
  const unpriced = toUnpricedUnits(SQLITE);
  database.run(
    `CREATE TEMP TABLE priced_manner AS SELECT manner.id, result, outcome, ${UNITS.map((unit, index) => `${unpriced[index]} AS ${unit}`).join(", ")}
     FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set`,
  );
  database.run("CREATE UNIQUE INDEX temp.manner_id ON priced_manner (id)");
  database.run(`CREATE TEMP TABLE event_sum (hour, combination, result, outcome, ${DAY_COLUMNS.join(", ")})`);
  database.run("CREATE INDEX temp.event_sum_of ON event_sum (hour)");
}

/** The events of `[fromUs, toUs)` by hour, combination and result, in place of what was there. */
export function sumEvents(database: Database, fromUs: number, toUs: number): void {
  database.run("DELETE FROM temp.event_sum");
  database
    .query<unknown, [number, number]>(
      `INSERT INTO temp.event_sum (hour, combination, result, outcome, ${DAY_COLUMNS.filter((column) => !SUMMED_ELSEWHERE.has(column)).join(", ")}, cost_hi, cost_lo)
       SELECT e.id / 3600000000 AS hour, e.combination, m.result, m.outcome, ${toSums(DAY_COLUMNS, (column) => EVENT_MEASURES.get(column) ?? "")}
       FROM event AS e CROSS JOIN priced_manner AS m ON m.id = e.manner CROSS JOIN combination AS c ON c.id = e.combination
       WHERE e.id >= ? AND e.id < ? GROUP BY 1, 2, 3`,
    )
    .run(fromUs, toUs);
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
  /** SQL with all of these columns, one row for each key; it takes the values as `?1` and so on. */
  readonly expected: string;
  /** SQL with the same columns, over a table with an index by the keys where there are many: each row of `expected` is looked up in it. */
  readonly stored: string;
}

/** Compares sums by their keys. Of fractions the last digits depend on the order of the additions, and are left out. */
export function compare(
  database: Database,
  { keys, measures, expected, stored }: Sides,
  values: readonly number[] = [],
): Difference {
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
  const found = database
    .query<Difference, number[]>(
      `WITH e AS MATERIALIZED (${expected}), s AS NOT MATERIALIZED (${stored})
       SELECT (SELECT count(*) FROM e LEFT JOIN s USING (${by}) WHERE (${list("e")}) IS NOT (${list("s")}) OR ${differ.join(" OR ")})
            + (SELECT count(*) FROM s) - (SELECT count(*) FROM e CROSS JOIN s USING (${by})) AS rows,
         (SELECT total(requests) FROM e) AS expected, (SELECT total(requests) FROM s) AS stored`,
    )
    .get(...values);
  if (found === null) throw new Error("a comparison has no row");
  return found;
}

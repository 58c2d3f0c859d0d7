import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import { type CellColumns, type OpenCellRow, toCells } from "#storage/cells/cells.ts";
import { CELL_MEASURES } from "#storage/cells/measures.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { EVENT_JOINS, EVENT_OF_ROWS, toEventMeasures } from "#storage/reports/event-measures.ts";
import { dialectOf, each, one, type Script } from "#storage/sql/script.ts";

export interface EventCells {
  /** Rows of the log, also of those that name what is not there. */
  readonly count: number;
  readonly hours: ReadonlyMap<number, CellColumns>;
}

/** The events of a day, added up as cells are, by their hours. */
export function* readEventCells(day: number): Script<EventCells> {
  const range = [day * DAY_US, (day + 1) * DAY_US];
  const measures = toEventMeasures(yield* dialectOf(), EVENT_OF_ROWS);
  const toColumn = (column: string) => measures.get(column) ?? "";
  const sums = CELL_MEASURES.filter(({ adds }) => adds !== "high" && adds !== "low").map(
    ({ name, adds }) => `${adds === "last" ? "max" : "sum"}(${toColumn(name)}) AS ${name}`,
  );
  const hours = new Map<number, CellColumns>();
  let rows: (OpenCellRow & { hour: number })[] = [];
  const finish = () => {
    const [first] = rows;
    if (first !== undefined) hours.set(first.hour, toCells(rows));
    rows = [];
  };
  yield* each<OpenCellRow & { hour: number }>(
    `SELECT e.id / ${HOUR_US} AS hour, e.combination, m.result, ${sums.join(", ")}, ${toCostSums(toColumn)}
     FROM event AS e ${EVENT_JOINS}
     WHERE e.id >= ? AND e.id < ? GROUP BY 1, 2, 3 ORDER BY 1`,
    range,
    (row) => {
      if (row.hour !== rows[0]?.hour) finish();
      rows.push(row);
    },
  );
  finish();
  const found = yield* one<{ count: number }>(
    "SELECT count(*) AS count FROM event WHERE id >= ? AND id < ?",
    range,
  );
  return { count: found?.count ?? 0, hours };
}

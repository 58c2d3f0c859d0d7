import { HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import { toMonth, toSealBeforeDay } from "./calendar.ts";
import { type OpenCellRow, PART_SIZE, sumCells, toCells, toPart } from "./cells.ts";
import { boundRetention, type MaintenancePass, pruneRows, readPrunedBefore } from "./retention.ts";
import { mergeCells } from "./stored-cells.ts";

/** One transaction of a pass. It is made again while it returns true. */
export type MaintenanceStep = () => Script<boolean>;

/**
 * One maintenance pass, step by step, for both engines: seals days, reads the clock and removes old rows. `run` makes a step;
 * false ends it, also where another replica is at it. `dropDays` removes whole days at once, before the rest goes in slices.
 */
export async function maintain(
  pass: MaintenancePass,
  run: (step: MaintenanceStep) => Promise<boolean>,
  dropDays: (beforeUs: InstantUs) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const beforeDay = toSealBeforeDay(pass.nowUs);
  while (await run(() => sealCells(beforeDay)));
  // No row arrived before it: nothing is removed unless the clock was read.
  let beforeUs: InstantUs = 0;
  await run(function* () {
    beforeUs = yield* boundRetention(pass);
    return false;
  });
  await dropDays(beforeUs);
  while (await run(() => pruneRows(beforeUs)));
}

/**
 * Rows that one step moves. To read and move as many takes some 12 ms, and to write the cells of a day and a month of 15,000
 * rows anew as long again: meanwhile no batch is written on SQLite.
 */
const STEP_ROWS_MAX = 1_024;
const HOURS_OF_DAY = Array.from({ length: 24 }, (_, hour) => hour);

type MovedRow = OpenCellRow & { readonly hour: number };

/**
 * A step of sealing, within a transaction: moves rows of `open_cell` that lie before a day into the cells of their hours, their
 * day and their month; those of one day and one part of the label sets. What comes late for a sealed day is moved in the same
 * way. False when none was left to move.
 */
export function* sealCells(beforeDay: number): Script<boolean> {
  const next = yield* one<{ hour: number; combination: number }>(
    "SELECT hour, combination FROM open_cell WHERE hour < ? ORDER BY hour, combination LIMIT 1",
    [beforeDay * 24],
  );
  if (next === null) return false;
  const day = Math.floor(next.hour / 24);
  const part = toPart(next.combination);
  const rows = yield* takeRows(day, part);
  if (rows.length === 0) return false;
  const byHour = Array.from(
    Map.groupBy(rows, ({ hour }) => hour),
    ([hour, ofHour]) => ({ hour, cells: toCells(ofHour) }),
  );
  // The cells of an hour go with its rows, and are not made again without them.
  const firstHour = Math.ceil((yield* readPrunedBefore()) / HOUR_US);
  for (const { hour, cells } of byHour)
    if (hour >= firstHour) yield* mergeCells({ period: "hour", at: hour, part }, cells);
  const cells = sumCells(byHour.map((ofHour) => ofHour.cells));
  yield* mergeCells({ period: "day", at: day, part }, cells);
  yield* mergeCells({ period: "month", at: toMonth(day), part }, cells);
  return true;
}

/** Takes rows out of `open_cell`; those that a batch is adding to stay for another step. */
function* takeRows(day: number, part: number): Script<readonly MovedRow[]> {
  const { eventKey, forUpdate, isAnyOfKeys } = yield* dialectOf();
  const skip = forUpdate === "" ? "" : `${forUpdate} SKIP LOCKED`;
  const key = ["hour", "combination", "result", ...eventKey.slice(1)].join(", ");
  return yield* all<MovedRow>(
    `DELETE FROM open_cell WHERE (${key}) IN (SELECT ${key} FROM open_cell
       WHERE ${isAnyOfKeys("hour")} AND combination >= ? AND combination < ? LIMIT ?${skip}) RETURNING *`,
    [HOURS_OF_DAY.map((hour) => day * 24 + hour), part * PART_SIZE, (part + 1) * PART_SIZE, STEP_ROWS_MAX],
  );
}

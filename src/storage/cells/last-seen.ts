import { HOUR_US } from "#kernel/clock.ts";
import { one, type Script, run } from "#storage/sql/script.ts";
import { toFirstDay, toMonth } from "./calendar.ts";
import { type CellColumns, decodeCells, toPart } from "./cells.ts";
import { CELL_MEASURES } from "./measures.ts";
import { type CellPeriod, type CellPlace, findCells, readCells, saveCells } from "./stored-cells.ts";

/** A row of totals that an event was taken out of. */
export interface TakenKey {
  readonly hour: number;
  readonly combination: number;
  readonly result: number;
}

const LAST_SEEN = CELL_MEASURES.findIndex(({ adds }) => adds === "last");

/**
 * After events were taken out of totals, sets back when their rows were seen last: a greatest value is the one thing that no
 * addition takes back. Where retention has removed the rows of the hour, what is not known any more stays.
 */
export function* lowerLastSeen(taken: readonly TakenKey[]): Script<void> {
  const places = Map.groupBy(
    taken,
    ({ hour, combination }) => `${Math.floor(hour / 24)} ${toPart(combination)}`,
  );
  for (const keys of places.values()) {
    const lowered: TakenKey[] = [];
    for (const [hour, ofHour] of Map.groupBy(keys, (key) => key.hour)) {
      const last = new Map<TakenKey, number>();
      for (const key of ofHour) last.set(key, yield* lowerOpen(key));
      if (yield* lower("hour", hour, ofHour, (key) => last.get(key) ?? 0)) lowered.push(...ofHour);
    }
    const [first] = lowered;
    if (first === undefined) continue;
    const day = Math.floor(first.hour / 24);
    const hours = yield* readPart("hour", day * 24, day * 24 + 24, first);
    yield* lower("day", day, lowered, (key) => findLast(hours, key));
    const month = toMonth(day);
    const days = yield* readPart("day", toFirstDay(month), toFirstDay(month + 1), first);
    yield* lower("month", month, lowered, (key) => findLast(days, key));
  }
}

/** By the rows of the hour. Returns when the last event of the key was. */
function* lowerOpen({ hour, combination, result }: TakenKey): Script<number> {
  const event = yield* one<{ id: number }>(
    `SELECT e.id FROM event AS e WHERE e.id >= ? AND e.id < ? AND e.combination = ?
       AND e.manner IN (SELECT id FROM manner WHERE result = ?) ORDER BY e.id DESC LIMIT 1`,
    [hour * HOUR_US, (hour + 1) * HOUR_US, combination, result],
  );
  const last = event?.id ?? 0;
  yield* run(
    `UPDATE open_cell SET last_seen_us = ?1 WHERE hour = ?2 AND combination = ?3 AND result = ?4 AND last_seen_us > ?1
       AND (requests = 0 OR ?1 > 0 OR hour * ${HOUR_US} >= (SELECT pruned_before_us FROM ledger_state))`,
    [last, hour, combination, result],
  );
  return last;
}

/** Returns whether there was something to lower. */
function* lower(
  period: CellPeriod,
  at: number,
  keys: readonly TakenKey[],
  toLast: (key: TakenKey) => number,
): Script<boolean> {
  const [first] = keys;
  if (first === undefined) return false;
  const place: CellPlace = { period, at, part: toPart(first.combination) };
  const cells = yield* findCells(place);
  const seen = cells?.measures[LAST_SEEN];
  if (cells === null || seen === undefined) return false;
  let isLowered = false;
  for (const key of keys) {
    const row = findRow(cells, key);
    const last = toLast(key);
    if ((seen[row] ?? 0) <= last) continue;
    seen[row] = last;
    isLowered = true;
  }
  if (isLowered) yield* saveCells(place, cells);
  return isLowered;
}

function* readPart(
  period: CellPeriod,
  first: number,
  end: number,
  { combination }: TakenKey,
): Script<readonly CellColumns[]> {
  const stored = yield* readCells(period, { first, end });
  return stored.filter(({ part }) => part === toPart(combination)).map(({ columns }) => decodeCells(columns));
}

function findLast(cells: readonly CellColumns[], key: TakenKey): number {
  return Math.max(0, ...cells.map((part) => part.measures[LAST_SEEN]?.[findRow(part, key)] ?? 0));
}

/** -1 where the key has no row. */
function findRow({ combinations, results }: CellColumns, { combination, result }: TakenKey): number {
  return combinations.findIndex((id, row) => id === combination && results[row] === result);
}

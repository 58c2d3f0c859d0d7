import { HOUR_US } from "#kernel/clock.ts";
import { dialectOf, one, type Script, run } from "#storage/sql/script.ts";
import { toFirstDay, toMonth } from "./calendar.ts";
import { type Cells, decodeCells, toPart } from "./cells.ts";
import { CELL_MEASURES } from "./measures.ts";
import { readFirstWholeDay } from "./retention.ts";
import { type CellPlace, type CellRange, findCells, readCells, saveCells } from "./stored-cells.ts";

/** A row of `open_cell` that an event was taken out of. */
export interface TakenKey {
  readonly hour: number;
  readonly combination: number;
  readonly result: number;
  readonly lane: number;
}

const LAST_SEEN = CELL_MEASURES.findIndex(({ adds }) => adds === "last");

/**
 * After events were taken out of totals, sets back when their rows were seen last: a greatest value is the one thing that no
 * addition takes back. Where retention has removed the rows of the hour, what is not known any more stays.
 */
export function* lowerLastSeen(taken: readonly TakenKey[]): Script<void> {
  for (const key of taken) yield* lowerOpen(key);
  const wholeFromDay = yield* readFirstWholeDay();
  const ofParts = Map.groupBy(taken, (key) => `${Math.floor(key.hour / 24)} ${toPart(key.combination)}`);
  for (const keys of ofParts.values()) {
    const lowered: TakenKey[] = [];
    for (const [hour, ofHour] of Map.groupBy(keys, (key) => key.hour)) {
      const place: CellPlace = { period: "hour", at: hour, part: toPart(ofHour[0]?.combination ?? 0) };
      if (yield* lower(place, ofHour, () => findLastEvents(ofHour))) lowered.push(...ofHour);
    }
    const [first] = lowered;
    if (first === undefined) continue;
    const [part, day] = [toPart(first.combination), Math.floor(first.hour / 24)];
    const hours = { first: day * 24, end: day * 24 + 24 };
    yield* lower({ period: "day", at: day, part }, lowered, function* findLasts() {
      const lasts = yield* findLastCells("hour", hours, lowered);
      return day >= wholeFromDay ? lasts : new Map([...lasts].filter(([, last]) => last > 0));
    });
    const month = toMonth(day);
    const days = { first: toFirstDay(month), end: toFirstDay(month + 1) };
    yield* lower({ period: "month", at: month, part }, lowered, () => findLastCells("day", days, lowered));
  }
}

/** By the rows of its lane, whose next batch waits for the row of the total that this transaction has changed. */
function* lowerOpen({ hour, combination, result, lane }: TakenKey): Script<void> {
  const { toLane } = yield* dialectOf();
  const last = yield* findLastEvent({ hour, combination, result }, lane);
  yield* run(
    `UPDATE open_cell SET last_seen_us = ?1
     WHERE hour = ?2 AND combination = ?3 AND result = ?4 AND ${toLane("open_cell")} = ?5 AND last_seen_us > ?1
       AND (requests = 0 OR ?1 > 0 OR hour * ${HOUR_US} >= (SELECT pruned_before_us FROM ledger_state))`,
    [last, hour, combination, result, lane],
  );
}

type CellKey = Omit<TakenKey, "lane">;

/** 0 where none is there. */
function* findLastEvent({ hour, combination, result }: CellKey, lane: number | null): Script<number> {
  const { toLane } = yield* dialectOf();
  const event = yield* one<{ id: number }>(
    `SELECT e.id FROM event AS e WHERE e.id >= ? AND e.id < ? AND e.combination = ?
       AND e.manner IN (SELECT id FROM manner WHERE result = ?)
       ${lane === null ? "" : `AND ${toLane("e")} = ${lane}`} ORDER BY e.id DESC LIMIT 1`,
    [hour * HOUR_US, (hour + 1) * HOUR_US, combination, result],
  );
  return event?.id ?? 0;
}

/** When each of some keys was seen last: 0 for never, and no entry where it is not known any more. */
type Lasts = ReadonlyMap<CellKey, number>;

function* findLastEvents(keys: readonly CellKey[]): Script<Lasts> {
  const lasts = new Map<CellKey, number>();
  for (const key of keys) lasts.set(key, yield* findLastEvent(key, null));
  return lasts;
}

function* findLastCells(
  period: CellPlace["period"],
  range: CellRange,
  keys: readonly CellKey[],
): Script<Lasts> {
  const stored = yield* readCells(period, range);
  const part = toPart(keys[0]?.combination ?? 0);
  const cells = stored.filter((each) => each.part === part).map(({ columns }) => decodeCells(columns));
  const find = (key: CellKey) => cells.map((each) => each.measures[LAST_SEEN]?.[findRow(each, key)] ?? 0);
  return new Map(keys.map((key) => [key, Math.max(0, ...find(key))]));
}

/**
 * Returns whether there was something to lower. What was seen last is asked for behind the lock of the cells: something later
 * may have been sealed into them before.
 */
function* lower(place: CellPlace, keys: readonly CellKey[], findLasts: () => Script<Lasts>): Script<boolean> {
  const cells = yield* findCells(place);
  const seen = cells?.measures[LAST_SEEN];
  if (cells === null || seen === undefined || seen === null) return false;
  const lasts = yield* findLasts();
  let isLowered = false;
  for (const key of keys) {
    const [row, last] = [findRow(cells, key), lasts.get(key)];
    if (last === undefined || (seen[row] ?? 0) <= last) continue;
    seen[row] = last;
    isLowered = true;
  }
  if (isLowered) yield* saveCells(place, cells);
  return isLowered;
}

/** -1 where the key has no row. */
function findRow(
  { combinations, results }: Pick<Cells, "combinations" | "results">,
  { combination, result }: CellKey,
): number {
  return combinations.findIndex((id, row) => id === combination && results[row] === result);
}

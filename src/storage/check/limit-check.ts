import { DAY_US } from "#kernel/clock.ts";
import type { LimitCheck, LimitCheckOptions } from "#storage/engine.ts";
import {
  createFold,
  foldLimited,
  fromTotals,
  groupLimits,
  type LimitSource,
  sumLimits,
  toEventEnd,
} from "#storage/reports/limit-sums.ts";
import { one, type Script } from "#storage/sql/script.ts";
import { readFirstWholeDay } from "#storage/cells/retention.ts";

type CheckOptions = Omit<LimitCheckOptions, "dataDir" | "database">;

/** See `StorageEngine.checkLimits`. */
export function* checkLimits(options: CheckOptions): Script<LimitCheck> {
  const { limits, nowUs } = options;
  const rowsFromDay = yield* readFirstWholeDay();
  const events = yield* one<{ count: number }>("SELECT count(*) AS count FROM event WHERE id >= ?", [
    rowsFromDay * DAY_US,
  ]);
  const question = { limits, nowUs };
  return {
    events: events?.count ?? 0,
    rowsFromUs: rowsFromDay * DAY_US,
    byRows: yield* sumLimits(question, fromRows(rowsFromDay, options)),
    byTotals: yield* sumLimits(question, fromTotals(rowsFromDay)),
    whole: yield* sumLimits(question),
  };
}

/**
 * Adds up every row by the end that places it in a window, a day at a time: no total, no index and no rule about how long a
 * request takes stands between a limit and its events.
 */
function fromRows(rowsFromDay: number, { limits, onShare, signal }: CheckOptions): LimitSource {
  const groupCount = groupLimits(limits).length;
  let done = 0;
  return function* foldRows(counted) {
    const { windows } = counted;
    const span = yield* one<{ first: number | null; last: number | null }>(
      `SELECT min(id) / ${DAY_US} AS first, max(id) / ${DAY_US} AS last FROM event`,
    );
    const first = Math.max(span?.first ?? 0, windows.sliding === null ? rowsFromDay : 0);
    const last = span?.last ?? -1;
    const fold = createFold(counted.keys);
    for (let day = first; day <= last; day += 1) {
      signal.throwIfAborted();
      yield* foldLimited(fold, counted, {
        condition: `e.id >= ? AND e.id < ? AND ${toEventEnd(windows.by)} >= ?`,
        bindings: [day * DAY_US, (day + 1) * DAY_US, windows.fromUs],
      });
      onShare((done + (day - first + 1) / (last - first + 1)) / groupCount);
    }
    done += 1;
    return [{ fold, names: windows.names, sign: 1 }];
  };
}

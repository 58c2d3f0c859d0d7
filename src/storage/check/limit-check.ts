import { DAY_US } from "#kernel/clock.ts";
import { isSliding, toWindowStart } from "#limits/limit-window.ts";
import type { LimitCheck, LimitCheckOptions } from "#storage/ledger-check.ts";
import { type CountedRow, toCountedCosts } from "#storage/reports/counted-rows.ts";
import { type CountedSource, sumLimits, toTotals } from "#storage/reports/limit-sums.ts";
import { toCountedColumns } from "#storage/reports/counted-columns.ts";
import { EVENT_JOINS } from "#storage/reports/event-measures.ts";
import { dialectOf, one, type Script, scan } from "#storage/sql/script.ts";
import { readFirstWholeDay } from "./pruned-rows.ts";

type CheckOptions = Omit<LimitCheckOptions, "dataDir" | "database">;

/** See `StorageEngine.checkLimits`. */
export function* checkLimits(options: CheckOptions): Script<LimitCheck> {
  const { limits, nowUs } = options;
  const rowsFromDay = yield* readFirstWholeDay();
  const question = { limits, nowUs };
  return {
    events: yield* countRows(rowsFromDay),
    rowsFromUs: rowsFromDay * DAY_US,
    byRows: yield* sumLimits(question, toRows({ ...options, rowsFromDay })),
    byTotals: yield* sumLimits(question, toTotals(rowsFromDay)),
    whole: yield* sumLimits(question),
  };
}

const SUMS = `sum(requests) AS requests, sum(unpriced_requests) AS unpriced, sum(unknown_requests) AS unknown, sum(tokens) AS tokens,
  ${toCountedCosts()}`;

interface Rows extends CheckOptions {
  readonly rowsFromDay: number;
}

/**
 * Adds up every row, once for each window: no total, no index and no rule about how long a request takes stands between a
 * limit and its events.
 */
function toRows({ limits, rowsFromDay, onShare, signal }: Rows): CountedSource {
  const windows = new Set(
    limits.flatMap(({ window }) => (window === null || isSliding(window) ? [] : window)),
  );
  let windowsRead = 0;
  return {
    *readCalendar({ window, fromDay }, onRows) {
      const dialect = yield* dialectOf();
      const { first, last } = yield* readDays(rowsFromDay);
      for (let day = first; day <= last; day += 1) {
        signal.throwIfAborted();
        yield* scan<Omit<CountedRow, "startUs"> & { day: number }>(
          `SELECT combination, day, ${SUMS} FROM (
             SELECT e.combination, ${dialect.toStep("(e.id + e.duration_us)", DAY_US)} / ${DAY_US} AS day, ${toCountedColumns(dialect)}
             FROM event AS e ${EVENT_JOINS} WHERE e.id >= ? AND e.id < ? AND e.id + e.duration_us >= ?) AS counted
           GROUP BY combination, day`,
          [day * DAY_US, (day + 1) * DAY_US, fromDay * DAY_US],
          (rows) =>
            onRows(
              rows.map(({ day: ended, ...row }) => ({
                ...row,
                startUs: toWindowStart(window, ended * DAY_US),
              })),
            ),
        );
        onShare((windowsRead + (day - first + 1) / (last - first + 1)) / windows.size);
      }
      windowsRead += 1;
    },
    *readSliding({ fromUs, stepUs, by }, onRows) {
      const dialect = yield* dialectOf();
      // A plus sign keeps an index away: the rows alone say what is there.
      const at = by === "begin" ? "+e.id" : "(+e.id + e.duration_us)";
      yield* scan<CountedRow>(
        `SELECT combination, ${dialect.toStep("at", stepUs)} AS "startUs", ${SUMS} FROM (
           SELECT e.combination, ${at} AS at, ${toCountedColumns(dialect)}
           FROM event AS e ${EVENT_JOINS} WHERE ${at} >= ?) AS counted
         GROUP BY 1, 2`,
        [fromUs],
        onRows,
      );
    },
  };
}

/** The days of which rows are looked at. */
function* readDays(rowsFromDay: number): Script<{ readonly first: number; readonly last: number }> {
  const span = yield* one<{ first: number | null; last: number | null }>(
    `SELECT min(id) / ${DAY_US} AS first, max(id) / ${DAY_US} AS last FROM event`,
  );
  return { first: Math.max(span?.first ?? 0, rowsFromDay), last: span?.last ?? -1 };
}

function* countRows(rowsFromDay: number): Script<number> {
  const found = yield* one<{ count: number }>("SELECT count(*) AS count FROM event WHERE id >= ?", [
    rowsFromDay * DAY_US,
  ]);
  return found?.count ?? 0;
}

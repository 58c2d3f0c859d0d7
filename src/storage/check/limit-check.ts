import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { isSliding, toWindowStart } from "#limits/limit-window.ts";
import type { LimitCheck, LimitCheckOptions } from "#storage/ledger-check.ts";
import { type CountedRow, toCountedCosts } from "#storage/reports/counted-rows.ts";
import { type CountedSource, sumLimits, toTotals } from "#storage/reports/limit-sums.ts";
import { toCountedColumns, toCountedJoins } from "#storage/reports/counted-columns.ts";
import { dialectOf, empty, one, type Script, run, scan } from "#storage/sql/script.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { readFirstWholeDay } from "./pruned-rows.ts";

type CheckOptions = Omit<LimitCheckOptions, "dataDir" | "database">;

/** See `StorageEngine.checkLimits`. */
export function* checkLimits(options: CheckOptions): Script<LimitCheck> {
  const { limits, nowUs } = options;
  const rowsFromDay = yield* readFirstWholeDay();
  const starts = limits.flatMap(({ window }) =>
    window === null || isSliding(window) ? [] : [toWindowStart(window, nowUs)],
  );
  const endedFromUs = Math.min(...starts, Number.MAX_SAFE_INTEGER);
  const events = yield* addUpDays({ ...options, rowsFromDay, endedFromUs });
  const question = { limits, nowUs };
  return {
    events,
    rowsFromUs: rowsFromDay * DAY_US,
    byRows: yield* sumLimits(question, OF_ROWS),
    byTotals: yield* sumLimits(question, toTotals(rowsFromDay)),
    whole: yield* sumLimits(question),
  };
}

interface Days extends CheckOptions {
  readonly rowsFromDay: number;
  /** What ended before is in no window. */
  readonly endedFromUs: InstantUs;
}

const COSTS = toCostSums((column) => column);

/**
 * Adds up every row by the day on which it ended: no total, no index and no rule about how long a request takes stands
 * between a limit and its events. Returns how many there are.
 */
function* addUpDays({ rowsFromDay, endedFromUs, onShare, signal }: Days): Script<number> {
  const dialect = yield* dialectOf();
  yield* empty("ended_day");
  const span = yield* one<{ first: number | null; last: number | null }>(
    `SELECT min(id) / ${DAY_US} AS first, max(id) / ${DAY_US} AS last FROM event`,
  );
  const first = Math.max(span?.first ?? 0, rowsFromDay);
  const last = span?.last ?? -1;
  const endDay = `${dialect.toStep("(e.id + e.duration_us)", DAY_US)} / ${DAY_US}`;
  for (let day = first; day <= last; day += 1) {
    signal.throwIfAborted();
    yield* run(
      `INSERT INTO ended_day (combination, day, requests, unpriced_requests, unknown_requests, tokens, cost_hi, cost_lo)
       SELECT combination, day, sum(requests), sum(unpriced_requests), sum(unknown_requests), sum(tokens), ${COSTS}
       FROM (SELECT e.combination, ${endDay} AS day, ${toCountedColumns(dialect)}
         FROM event AS e ${toCountedJoins(dialect)} WHERE e.id >= ?1 AND e.id < ?2 AND e.id + e.duration_us >= ?3) AS counted
       GROUP BY 1, 2`,
      [day * DAY_US, (day + 1) * DAY_US, endedFromUs],
    );
    onShare((day - first + 1) / (last - first + 1));
  }
  const found = yield* one<{ count: number }>("SELECT count(*) AS count FROM event WHERE id >= ?", [
    first * DAY_US,
  ]);
  return found?.count ?? 0;
}

const SUMS = `sum(requests) AS requests, sum(unpriced_requests) AS unpriced, sum(unknown_requests) AS unknown, sum(tokens) AS tokens,
  ${toCountedCosts()}`;

/** Calendar windows from the table `ended_day`, which `addUpDays` has filled, and sliding ones from the rows themselves. */
const OF_ROWS: CountedSource = {
  readCalendar: ({ window, fromDay }, onRows) =>
    scan<Omit<CountedRow, "startUs"> & { day: number }>(
      `SELECT combination, day, ${SUMS} FROM ended_day WHERE day >= ? GROUP BY combination, day`,
      [fromDay],
      (rows) =>
        onRows(rows.map(({ day, ...row }) => ({ ...row, startUs: toWindowStart(window, day * DAY_US) }))),
    ),
  *readSliding({ fromUs, stepUs, by }, onRows) {
    const dialect = yield* dialectOf();
    // A plus sign keeps an index away: the rows alone say what is there.
    const at = by === "begin" ? "+e.id" : "(+e.id + e.duration_us)";
    yield* scan<CountedRow>(
      `SELECT combination, ${dialect.toStep("at", stepUs)} AS "startUs", ${SUMS} FROM (
         SELECT e.combination, ${at} AS at, ${toCountedColumns(dialect)}
         FROM event AS e ${toCountedJoins(dialect)} WHERE ${at} >= ?) AS counted
       GROUP BY 1, 2`,
      [fromUs],
      onRows,
    );
  },
};

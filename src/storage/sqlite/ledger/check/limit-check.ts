import type { Database } from "bun:sqlite";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import { isSliding, toWindowStart } from "#limits/limit-window.ts";
import type { LimitCheck, LimitCheckOptions } from "#storage/ledger-check.ts";
import { toCostSums } from "#storage/ledger/rows/sums.ts";
import type { CountedRow } from "#storage/ledger/limits/counted-rows.ts";
import { type CountedSource, sumLimits, toTotals } from "#storage/ledger/limits/limit-sums.ts";
import { toCountedColumns, toCountedJoins } from "#storage/ledger/queries/counted-columns.ts";
import { SQLITE } from "#storage/ledger/queries/dialect.ts";
import { scan } from "#storage/ledger/queries/reading.ts";
import { hasCarriedTotals } from "#storage/sqlite/ledger/file/carried-totals.ts";
import { readFrom } from "#storage/sqlite/ledger/reports/reading.ts";
import { withUsageDatabase } from "./usage-database.ts";

/** See `StorageEngine.checkLimits`. */
export function checkLimits({
  dataDir,
  ...options
}: Omit<LimitCheckOptions, "database">): Promise<LimitCheck | null> {
  return withUsageDatabase(dataDir, (database) => checkOne(database, options));
}

type CheckOptions = Omit<LimitCheckOptions, "dataDir" | "database">;

async function checkOne(database: Database, options: CheckOptions): Promise<LimitCheck> {
  const { limits, nowUs } = options;
  if (!hasCarriedTotals(database)) {
    throw new SetupError(
      "configuration",
      "This ledger is of a version without limits: start a server on it once, which makes the totals that limits need.",
    );
  }
  database.run("BEGIN");
  const pruned =
    database.query<{ us: number }, []>("SELECT pruned_before_us AS us FROM ledger_state").get()?.us ?? 0;
  const rowsFromDay = Math.ceil(pruned / DAY_US);
  const starts = limits.flatMap(({ window }) =>
    window === null || isSliding(window) ? [] : [toWindowStart(window, nowUs)],
  );
  const events = await addUpDays(database, {
    ...options,
    rowsFromDay,
    endedFromUs: Math.min(...starts, Number.MAX_SAFE_INTEGER),
  });
  const question = { limits, nowUs };
  const checked = {
    events,
    rowsFromUs: rowsFromDay * DAY_US,
    byRows: readFrom(database, sumLimits(question, OF_ROWS)),
    byTotals: readFrom(database, sumLimits(question, toTotals(rowsFromDay))),
    whole: readFrom(database, sumLimits(question)),
  };
  database.run("COMMIT");
  return checked;
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
async function addUpDays(
  database: Database,
  { rowsFromDay, endedFromUs, onShare, signal }: Days,
): Promise<number> {
  database.run(
    "CREATE TEMP TABLE ended_day (combination, day, requests, unpriced_requests, tokens, cost_hi, cost_lo)",
  );
  const span = database
    .query<{ first: number | null; last: number | null }, []>(
      `SELECT min(id) / ${DAY_US} AS first, max(id) / ${DAY_US} AS last FROM event`,
    )
    .get();
  const first = Math.max(span?.first ?? 0, rowsFromDay);
  const last = span?.last ?? -1;
  const addUp = database.query<unknown, [number, number, number]>(
    `INSERT INTO temp.ended_day (combination, day, requests, unpriced_requests, tokens, cost_hi, cost_lo)
     SELECT combination, day, sum(requests), sum(unpriced_requests), sum(tokens), ${COSTS}
     FROM (SELECT e.combination, (e.id + e.duration_us) / ${DAY_US} AS day, ${toCountedColumns(SQLITE)}
       FROM event AS e ${toCountedJoins(SQLITE)} WHERE e.id >= ?1 AND e.id < ?2 AND e.id + e.duration_us >= ?3)
     GROUP BY 1, 2`,
  );
  for (let day = first; day <= last; day += 1) {
    signal.throwIfAborted();
    addUp.run(day * DAY_US, (day + 1) * DAY_US, endedFromUs);
    onShare((day - first + 1) / (last - first + 1));
    await Bun.sleep(0);
  }
  return (
    database
      .query<{ count: number }, [number]>("SELECT count(*) AS count FROM event WHERE id >= ?")
      .get(first * DAY_US)?.count ?? 0
  );
}

const SUMS = `sum(requests) AS requests, sum(unpriced_requests) AS unpriced, sum(tokens) AS tokens,
  ${COSTS.replace("AS cost_hi", 'AS "costHi"').replace("AS cost_lo", 'AS "costLo"')}`;

/** What `addUpDays` has left, and for sliding windows the rows themselves. */
const OF_ROWS: CountedSource = {
  readCalendar: ({ window, fromDay }, onRows) =>
    scan<Omit<CountedRow, "startUs"> & { day: number }>(
      `SELECT combination, day, ${SUMS} FROM temp.ended_day WHERE day >= ? GROUP BY combination, day`,
      [fromDay],
      (rows) =>
        onRows(rows.map(({ day, ...row }) => ({ ...row, startUs: toWindowStart(window, day * DAY_US) }))),
    ),
  readSliding({ fromUs, stepUs, by }, onRows) {
    // A plus sign keeps an index away: the rows alone say what is there.
    const at = by === "begin" ? "+e.id" : "(+e.id + e.duration_us)";
    return scan<CountedRow>(
      `SELECT combination, at / ${stepUs} * ${stepUs} AS startUs, ${SUMS} FROM (
         SELECT e.combination, ${at} AS at, ${toCountedColumns(SQLITE)}
         FROM event AS e ${toCountedJoins(SQLITE)} WHERE ${at} >= ?)
       GROUP BY 1, 2`,
      [fromUs],
      onRows,
    );
  },
};

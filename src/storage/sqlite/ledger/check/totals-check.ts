import type { Database } from "bun:sqlite";
import { DAY_US } from "#kernel/clock.ts";
import type { LedgerFinding } from "#storage/ledger-check.ts";
import { SQLITE } from "#storage/ledger/queries/dialect.ts";
import { toValueOfCombination } from "#storage/ledger/queries/dimension-kinds.ts";
import { findCellDifferences } from "./cells-check.ts";
import { compare, DAY_COLUMNS, HOUR_COLUMNS, makeEventSums, type Sides, sumEvents, toSums } from "./sums.ts";

const MONTH_OF_DAY = `(strftime('%Y', day * 86400, 'unixepoch') - 1970) * 12 + strftime('%m', day * 86400, 'unixepoch') - 1`;
const DAY_MS = DAY_US / 1000;
const OF_RESULT = "JOIN result ON result.id = t.result";

const DIMENSIONS_OF_COMBINATIONS = [
  ...Object.entries(toValueOfCombination(SQLITE)).map(
    ([kind, value]) =>
      `SELECT combination.id AS combination, dimension.id AS dimension, first_day FROM combination JOIN dimension ON kind = '${kind}' AND value = ${value}`,
  ),
  `SELECT combination_tag.combination, dimension.id, first_day FROM combination_tag JOIN tag ON tag.id = combination_tag.tag
   JOIN dimension ON kind = 'tag' AND value = tag.pair`,
].join(" UNION ALL ");

interface Total extends Sides {
  readonly what: string;
}

/** `?1` is the day. */
const TOTALS_OF_A_DAY: readonly Total[] = [
  {
    what: "total by day",
    keys: ["combination", "result"],
    measures: DAY_COLUMNS,
    expected: `SELECT combination, result, ${toSums(DAY_COLUMNS)} FROM temp.event_sum WHERE ?1 IS NOT NULL GROUP BY 1, 2`,
    stored: "SELECT * FROM temp.stored_day WHERE day = ?1",
  },
  {
    what: "total by hour",
    keys: ["hour", "outcome"],
    measures: HOUR_COLUMNS,
    expected: `SELECT hour, outcome, ${toSums(HOUR_COLUMNS)} FROM temp.event_sum WHERE ?1 IS NOT NULL GROUP BY 1, 2`,
    stored: "SELECT * FROM hour_total WHERE hour >= ?1 * 24 AND hour < ?1 * 24 + 24",
  },
];

const TOTALS_OF_TOTALS: readonly Total[] = [
  {
    what: "totals by hour against those by day",
    keys: ["day", "outcome"],
    measures: HOUR_COLUMNS,
    expected: `SELECT day, outcome, ${toSums(HOUR_COLUMNS)} FROM temp.stored_day AS t ${OF_RESULT} GROUP BY 1, 2`,
    stored: `SELECT hour / 24 AS day, outcome, ${toSums(HOUR_COLUMNS)} FROM hour_total GROUP BY 1, 2`,
  },
  {
    what: "totals by month against those by day",
    keys: ["month", "combination", "result"],
    measures: DAY_COLUMNS,
    expected: `SELECT ${MONTH_OF_DAY} AS month, combination, result, ${toSums(DAY_COLUMNS)} FROM sealed_day_total GROUP BY 1, 2, 3`,
    stored: "SELECT * FROM month_total",
  },
  {
    what: "totals by value against those by day",
    keys: ["day", "dimension", "outcome"],
    measures: HOUR_COLUMNS,
    expected: `SELECT t.day, v.dimension, outcome, ${toSums(HOUR_COLUMNS, (column) => `t.${column}`)} FROM sealed_day_total AS t ${OF_RESULT}
      JOIN (${DIMENSIONS_OF_COMBINATIONS}) AS v ON v.combination = t.combination AND v.first_day <= t.day GROUP BY 1, 2, 3`,
    stored: "SELECT * FROM dimension_total",
  },
];

interface Cells {
  readonly what: string;
  readonly toWhere: (period: number) => string;
  /** SQL with a row for each period. */
  readonly stored: string;
  readonly expected: string;
}

/** Between two hours. */
const CELLS_OF_HOURS: Cells = {
  what: "cells of an hour",
  toWhere: (hour) => `${toDate(Math.floor(hour / 24))}, hour ${hour % 24}`,
  stored: "SELECT hour AS period, cells FROM sealed_hour WHERE hour >= ? AND hour < ?",
  expected: `SELECT combination, outcome, ${toSums(HOUR_COLUMNS)} FROM temp.event_sum WHERE hour = ? GROUP BY 1, 2`,
};

const CELLS_OF_MONTHS: Cells = {
  what: "cells of a month",
  toWhere: (month) => `month ${month}`,
  stored: "SELECT month AS period, cells FROM sealed_month",
  expected: `SELECT combination, outcome, ${toSums(HOUR_COLUMNS)} FROM month_total AS t ${OF_RESULT} WHERE month = ? GROUP BY 1, 2`,
};

export interface TotalsCheckOptions {
  /** From 0 to 1. */
  readonly onShare: (share: number) => void;
  readonly signal: AbortSignal;
}

export interface TotalsChecked {
  readonly events: number;
  /** Rows of earlier events were removed: before it, only totals are compared with totals. */
  readonly rowsFromUs: number;
}

/**
 * Compares every total with the rows that it is of, and with the totals above it. Within a read transaction; temporary tables
 * are in memory.
 */
export async function checkTotals(
  database: Database,
  findings: LedgerFinding[],
  { onShare, signal }: TotalsCheckOptions,
): Promise<TotalsChecked> {
  const pruned =
    database.query<{ us: number }, []>("SELECT pruned_before_us AS us FROM ledger_state").get()?.us ?? 0;
  const firstDay = Math.ceil(pruned / DAY_US);
  makeEventSums(database);
  makeStoredDays(database);
  const days = database
    .query<{ day: number }, []>(
      `SELECT DISTINCT day FROM temp.stored_day UNION SELECT DISTINCT hour / 24 FROM hour_total
       UNION SELECT DISTINCT id / ${DAY_US} FROM event ORDER BY day`,
    )
    .all()
    .map(({ day }) => day);
  let events = 0;
  for (const [index, day] of days.entries()) {
    signal.throwIfAborted();
    if (day >= firstDay) events += checkDay(database, day, findings);
    onShare((index + 1) / (days.length + 1));
    await Bun.sleep(0);
  }
  checkTotalsOfTotals(database, findings);
  onShare(1);
  return { events, rowsFromUs: firstDay * DAY_US };
}

function makeStoredDays(database: Database): void {
  const columns = DAY_COLUMNS.join(", ");
  database.run(
    `CREATE TEMP TABLE stored_day AS SELECT day, combination, result, ${columns} FROM day_total
     UNION ALL SELECT day, combination, result, ${columns} FROM sealed_day_total`,
  );
  database.run("CREATE UNIQUE INDEX temp.stored_day_of ON stored_day (day, combination, result)");
}

/** Returns how many events the day has. */
function checkDay(database: Database, day: number, findings: LedgerFinding[]): number {
  sumEvents(database, day * DAY_US, (day + 1) * DAY_US);
  const where = toDate(day);
  const { count, summed } = database
    .query<{ count: number; summed: number }, [number, number]>(
      `SELECT count(*) AS count, (SELECT total(requests) FROM temp.event_sum) AS summed FROM event WHERE id >= ? AND id < ?`,
    )
    .get(day * DAY_US, (day + 1) * DAY_US) ?? { count: 0, summed: 0 };
  const astray = count - summed;
  if (astray !== 0)
    findings.push({
      where,
      what: "events that name what is not there",
      expected: 0,
      stored: astray,
      rows: astray,
    });
  compareTotals(database, findings, { where, totals: TOTALS_OF_A_DAY, values: [day] });
  compareCells(database, findings, { ...CELLS_OF_HOURS, values: [day * 24, (day + 1) * 24] });
  return count;
}

/** Also where rows were removed. */
function checkTotalsOfTotals(database: Database, findings: LedgerFinding[]): void {
  compareTotals(database, findings, { where: "all days", totals: TOTALS_OF_TOTALS, values: [] });
  compareCells(database, findings, { ...CELLS_OF_MONTHS, values: [] });
}

interface Totals {
  readonly where: string;
  readonly totals: readonly Total[];
  readonly values: readonly number[];
}

function compareTotals(
  database: Database,
  findings: LedgerFinding[],
  { where, totals, values }: Totals,
): void {
  for (const { what, ...sides } of totals) {
    add(findings, { where, what, ...compare(database, sides, values) });
  }
}

interface CellsRow {
  readonly period: number;
  readonly cells: Uint8Array<ArrayBuffer>;
}

function compareCells(
  database: Database,
  findings: LedgerFinding[],
  { what, toWhere, stored, expected, values }: Cells & Pick<Totals, "values">,
): void {
  for (const { period, cells: encoded } of database.query<CellsRow, number[]>(stored).all(...values)) {
    const difference = findCellDifferences(database, { expected, period, encoded });
    add(findings, { where: toWhere(period), what, ...difference });
  }
}

const toDate = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);

function add(findings: LedgerFinding[], finding: LedgerFinding): void {
  if (finding.rows > 0) findings.push(finding);
}

import { DAY_US } from "#kernel/clock.ts";
import type { LedgerFinding } from "#storage/ledger-check.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { toValueOfCombination } from "#storage/reports/dimension-kinds.ts";
import { all, dialectOf, empty, fill, one, type Script, run } from "#storage/sql/script.ts";
import { DAY_MEASURES, HOUR_MEASURES } from "#storage/cells/total-columns.ts";
import { toMonth } from "#storage/cells/calendar.ts";
import { findCellDifferences } from "./cells-check.ts";
import { compare, prepareEventSums, type Sides, sumEvents, toSums } from "./event-sums.ts";
import { readFirstWholeDay } from "./pruned-rows.ts";

const DAY_MS = DAY_US / 1000;
const OF_RESULT = "JOIN result ON result.id = t.result";

interface Total extends Sides {
  readonly what: string;
}

/** Replicas have rows of their own in the totals of hours, and of days that are not sealed. */
function toTotalsOfDay(day: number): readonly Total[] {
  return [
    {
      what: "total by day",
      keys: ["combination", "result"],
      measures: DAY_MEASURES,
      expected: `SELECT combination, result, ${toSums(DAY_MEASURES)} FROM event_sum GROUP BY 1, 2`,
      stored: `SELECT * FROM stored_day WHERE day = ${day}`,
    },
    {
      what: "total by hour",
      keys: ["hour", "outcome"],
      measures: HOUR_MEASURES,
      expected: `SELECT hour, outcome, ${toSums(HOUR_MEASURES)} FROM event_sum GROUP BY 1, 2`,
      stored: `SELECT hour, outcome, ${toSums(HOUR_MEASURES)} FROM hour_total
        WHERE hour >= ${day * 24} AND hour < ${day * 24 + 24} GROUP BY 1, 2`,
    },
  ];
}

function toTotalsOfTotals(dialect: Dialect): readonly Total[] {
  return [
    {
      what: "totals by hour against those by day",
      keys: ["day", "outcome"],
      measures: HOUR_MEASURES,
      expected: `SELECT day, outcome, ${toSums(HOUR_MEASURES, (column) => `t.${column}`)} FROM stored_day AS t ${OF_RESULT} GROUP BY 1, 2`,
      stored: `SELECT hour / 24 AS day, outcome, ${toSums(HOUR_MEASURES)} FROM hour_total GROUP BY 1, 2`,
    },
    {
      what: "totals by month against those by day",
      keys: ["month", "combination", "result"],
      measures: DAY_MEASURES,
      expected: `SELECT month, combination, result, ${toSums(DAY_MEASURES)} FROM sealed_day_total JOIN month_of_day USING (day) GROUP BY 1, 2, 3`,
      stored: "SELECT * FROM month_total",
    },
    {
      what: "totals by value against those by day",
      keys: ["day", "dimension", "outcome"],
      measures: HOUR_MEASURES,
      expected: `SELECT t.day, v.dimension, outcome, ${toSums(HOUR_MEASURES, (column) => `t.${column}`)} FROM sealed_day_total AS t ${OF_RESULT}
        JOIN (${toDimensionsOfCombinations(dialect)}) AS v ON v.combination = t.combination AND v.first_day <= t.day GROUP BY 1, 2, 3`,
      stored: "SELECT * FROM dimension_total",
    },
  ];
}

function toDimensionsOfCombinations(dialect: Dialect): string {
  return [
    ...Object.entries(toValueOfCombination(dialect)).map(
      ([kind, value]) =>
        `SELECT combination.id AS combination, dimension.id AS dimension, first_day FROM combination JOIN dimension ON kind = '${kind}' AND value = ${value}`,
    ),
    `SELECT combination_tag.combination, dimension.id, first_day FROM combination_tag JOIN tag ON tag.id = combination_tag.tag
     JOIN dimension ON kind = 'tag' AND value = tag.pair`,
  ].join(" UNION ALL ");
}

interface Cells {
  readonly what: string;
  readonly toWhere: (period: number) => string;
  /** SQL with a row for each period. */
  readonly stored: string;
  readonly expected: string;
}

function toCellsOfDay(day: number): Cells {
  return {
    what: "cells of an hour",
    toWhere: (hour) => `${toDate(Math.floor(hour / 24))}, hour ${hour % 24}`,
    stored: `SELECT hour AS period, cells FROM sealed_hour WHERE hour >= ${day * 24} AND hour < ${day * 24 + 24}`,
    expected: `SELECT combination, outcome, ${toSums(HOUR_MEASURES)} FROM event_sum WHERE hour = ? GROUP BY 1, 2`,
  };
}

const CELLS_OF_MONTHS: Cells = {
  what: "cells of a month",
  toWhere: (month) => `month ${month}`,
  stored: "SELECT month AS period, cells FROM sealed_month",
  expected: `SELECT combination, outcome, ${toSums(HOUR_MEASURES, (column) => `t.${column}`)} FROM month_total AS t ${OF_RESULT} WHERE month = ? GROUP BY 1, 2`,
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

/** Compares every total with the rows that it is of, and with the totals above it. */
export function* checkTotals(
  findings: LedgerFinding[],
  { onShare, signal }: TotalsCheckOptions,
): Script<TotalsChecked> {
  const firstDay = yield* readFirstWholeDay();
  yield* prepareEventSums();
  yield* storeDays();
  const days = yield* all<{ day: number }>(
    `SELECT DISTINCT day FROM stored_day UNION SELECT DISTINCT hour / 24 FROM hour_total
     UNION SELECT DISTINCT id / ${DAY_US} FROM event ORDER BY day`,
  );
  yield* fill(
    "month_of_day",
    days.map(({ day }) => [day, toMonth(day)]),
  );
  let events = 0;
  for (const [index, { day }] of days.entries()) {
    signal.throwIfAborted();
    if (day >= firstDay) events += yield* checkDay(day, findings);
    onShare((index + 1) / (days.length + 1));
  }
  yield* checkTotalsOfTotals(findings);
  onShare(1);
  return { events, rowsFromUs: firstDay * DAY_US };
}

function* storeDays(): Script<void> {
  const columns = DAY_MEASURES.filter((column) => !column.startsWith("cost_"));
  yield* empty("stored_day");
  for (const table of ["day_total", "sealed_day_total"]) {
    yield* run(
      `INSERT INTO stored_day (day, combination, result, ${columns.join(", ")}, cost_hi, cost_lo)
       SELECT day, combination, result, ${toSums(DAY_MEASURES)} FROM ${table} GROUP BY 1, 2, 3`,
    );
  }
}

/** Returns how many events the day has. */
function* checkDay(day: number, findings: LedgerFinding[]): Script<number> {
  yield* sumEvents(day * DAY_US, (day + 1) * DAY_US);
  const where = toDate(day);
  const found = yield* one<{ count: number; summed: number }>(
    `SELECT count(*) AS count, (SELECT coalesce(sum(requests), 0) FROM event_sum) AS summed FROM event WHERE id >= ? AND id < ?`,
    [day * DAY_US, (day + 1) * DAY_US],
  );
  const { count, summed } = found ?? { count: 0, summed: 0 };
  const astray = count - summed;
  if (astray !== 0)
    findings.push({
      where,
      what: "events that name what is not there",
      expected: 0,
      stored: astray,
      rows: astray,
    });
  yield* compareTotals(findings, where, toTotalsOfDay(day));
  yield* compareCells(findings, toCellsOfDay(day));
  return count;
}

/** Needs no rows, so that it also tells of days whose rows were removed. */
function* checkTotalsOfTotals(findings: LedgerFinding[]): Script<void> {
  yield* compareTotals(findings, "all days", toTotalsOfTotals(yield* dialectOf()));
  yield* compareCells(findings, CELLS_OF_MONTHS);
}

function* compareTotals(findings: LedgerFinding[], where: string, totals: readonly Total[]): Script<void> {
  for (const { what, ...sides } of totals) add(findings, { where, what, ...(yield* compare(sides)) });
}

interface CellsRow {
  readonly period: number;
  readonly cells: Uint8Array<ArrayBuffer>;
}

function* compareCells(findings: LedgerFinding[], { what, toWhere, stored, expected }: Cells): Script<void> {
  for (const { period, cells: encoded } of yield* all<CellsRow>(stored)) {
    const difference = yield* findCellDifferences({ expected, period, encoded });
    add(findings, { where: toWhere(period), what, ...difference });
  }
}

const toDate = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);

function add(findings: LedgerFinding[], finding: LedgerFinding): void {
  if (finding.rows > 0) findings.push(finding);
}

import { all, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import { decodeCells } from "#storage/cells/outcome-cells.ts";
import { toFirstDay } from "#storage/cells/calendar.ts";
import type { RawRange, Span, WindowCut } from "./window-cut.ts";
import { type CellSum, CellSums, NOT_CHOSEN } from "./cell-sums.ts";
import { readEdges } from "./ledger-edges.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/** What is read at a time: all hours of a year would be many megabytes in memory. */
const PERIODS_PER_READ = 24;

export interface CellReading {
  /** Null for all. */
  readonly outcomes: readonly string[] | null;
  /** How many of `CELL_MEASURES` are needed. */
  readonly measuresMax: number;
  /** Combinations or groups that may be in memory. */
  readonly combinationsMax: number;
  /** The group of each combination by its id; without it each is its own. */
  readonly groupOf?: Int32Array;
}

export interface SealedCells {
  /** By combination or group. */
  readonly sums: readonly CellSum[];
  /** What has no cells, and is read from totals and rows. */
  readonly rest: WindowCut;
}

/**
 * What a window that was cut into months holds in the cells of sealed months and hours, which takes a tenth of the time that
 * their totals take. Null when there are more combinations than may be in memory, and for a filter that cells cannot tell: then
 * all of it is read from totals and rows.
 */
export function* readSealedCells(
  { cut, filter }: { readonly cut: WindowCut; readonly filter: ResolvedFilter },
  { outcomes, measuresMax, combinationsMax, groupOf }: CellReading,
): Script<SealedCells | null> {
  if (!filter.isByOutcome) return null;
  const cells = new CellSums(groupOf ?? (yield* findCombinations(filter)), outcomes);
  const add = function* addCells(
    table: "sealed_month" | "sealed_hour",
    { first, end }: Span,
  ): Script<ReadonlySet<number>> {
    const period = table === "sealed_month" ? "month" : "hour";
    const sql = `SELECT ${period} AS period, cells FROM ${table} WHERE ${period} >= ? AND ${period} < ? ORDER BY ${period}`;
    const added = new Set<number>();
    for (let at = first; at < end && cells.size <= combinationsMax; at += PERIODS_PER_READ) {
      for (const row of yield* all<SealedRow>(sql, [at, Math.min(at + PERIODS_PER_READ, end)])) {
        cells.add(decodeCells(row.cells, measuresMax));
        added.add(row.period);
      }
    }
    return added;
  };

  const rest = { months: new Array<Span>(), sealedDays: new Array<Span>(), raw: new Array<RawRange>() };
  const sealedBeforeDay = (yield* readEdges())?.sealedBeforeDay ?? 0;
  for (const months of cut.months) {
    const added = yield* add("sealed_month", months);
    for (let month = months.first; month < months.end; month += 1) {
      if (added.has(month)) continue;
      const days = { first: toFirstDay(month), end: Math.min(toFirstDay(month + 1), sealedBeforeDay) };
      if ((yield* findDaysWithout(days)).size === 0) yield* add("sealed_hour", toHours(days));
      else append(rest.months, month);
    }
  }
  for (const days of cut.sealedDays) {
    const without = yield* findDaysWithout(days);
    for (let day = days.first; day < days.end; day += 1) {
      if (without.has(day)) append(rest.sealedDays, day);
      else yield* add("sealed_hour", toHours({ first: day, end: day + 1 }));
    }
  }
  for (const { fromUs, toUs } of cut.raw) {
    const added = yield* add("sealed_hour", {
      first: Math.ceil(fromUs / HOUR_US),
      end: Math.floor(toUs / HOUR_US),
    });
    let leftUs = fromUs;
    for (const hour of added) {
      if (leftUs < hour * HOUR_US) rest.raw.push({ fromUs: leftUs, toUs: hour * HOUR_US });
      leftUs = (hour + 1) * HOUR_US;
    }
    if (leftUs < toUs) rest.raw.push({ fromUs: leftUs, toUs });
  }
  if (cells.size > combinationsMax) return null;
  return { sums: [...cells.take()], rest: { ...cut, ...rest } };
}

interface SealedRow {
  readonly period: number;
  readonly cells: Uint8Array<ArrayBuffer>;
}

function* findCombinations({ combinations }: ResolvedFilter): Script<Int32Array> {
  const ids = yield* all<{ id: number }>(`SELECT id FROM ${combinations}`);
  const last = ids.reduce((most, { id }) => Math.max(most, id), 0);
  const groups = new Int32Array(last + 1).fill(NOT_CHOSEN);
  for (const { id } of ids) groups[id] = id;
  return groups;
}

/** The days of which an hour has events and no cells. */
function* findDaysWithout(days: Span): Script<ReadonlySet<number>> {
  const { first, end } = toHours(days);
  const rows = yield* all<{ day: number }>(
    `SELECT DISTINCT hour / 24 AS day FROM hour_total WHERE hour >= ? AND hour < ?
         AND NOT EXISTS (SELECT 1 FROM sealed_hour AS s WHERE s.hour = hour_total.hour)`,
    [first, end],
  );
  return new Set(rows.map(({ day }) => day));
}

function toHours({ first, end }: Span): Span {
  const hours = DAY_US / HOUR_US;
  return { first: first * hours, end: end * hours };
}

function append(spans: Span[], period: number): void {
  const last = spans.at(-1);
  if (last?.end === period) spans[spans.length - 1] = { first: last.first, end: period + 1 };
  else spans.push({ first: period, end: period + 1 });
}

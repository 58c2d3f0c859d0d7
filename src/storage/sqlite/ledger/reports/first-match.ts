import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { toFirstDay, toMonth } from "#storage/ledger/windows/calendar.ts";
import { prepareEvents, toEventJoins } from "./chosen-events.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { RawRange, Span, WindowCut, WindowPart } from "#storage/ledger/windows/window-cut.ts";
import { toParts } from "#storage/ledger/windows/window-cut.ts";

/**
 * Where the first event that matches lies in a window that was cut: the start of its hour, day or month, whichever the cut
 * counts, and its arrival when it lies in a ragged end. Null when there is none.
 */
export function findFirstMatch(database: Database, cut: WindowCut, filter: ResolvedFilter): InstantUs | null {
  for (const part of toParts(cut)) {
    const foundUs = findInPart(database, part, filter);
    if (foundUs !== null) return foundUs;
  }
  return null;
}

function findInPart(database: Database, part: WindowPart, filter: ResolvedFilter): InstantUs | null {
  if (part.kind === "hours") return findHour(database, part, filter.outcomes);
  if (part.kind === "months") return findMonth(database, part, filter);
  if (part.kind === "sealedDays") return findSealedDay(database, part, filter);
  if (part.kind === "openDays") return findOpenDay(database, part, filter);
  return findFirstRow(database, part, filter);
}

/** The arrival of the first row that matches; reads the range row by row up to it. */
export function findFirstRow(
  database: Database,
  { fromUs, toUs }: RawRange,
  filter: ResolvedFilter,
): InstantUs | null {
  if (filter.rows !== null) prepareEvents(database, filter);
  const events =
    filter.rows === null
      ? `event AS e WHERE id >= ? AND id < ? ${filter.eventCondition}`
      : `event AS e ${toEventJoins(filter)} WHERE e.id >= ? AND e.id < ?`;
  const row = database
    .query<{ id: number }, [number, number]>(`SELECT e.id FROM ${events} ORDER BY e.id LIMIT 1`)
    .get(fromUs, toUs);
  return row?.id ?? null;
}

function findHour(
  database: Database,
  { first, end }: Span,
  outcomes: readonly string[] | null,
): InstantUs | null {
  const isChosen = outcomes === null ? "" : "AND outcome IN (SELECT value FROM json_each(?))";
  const row = database
    .query<{ hour: number }, (number | string)[]>(
      `SELECT hour FROM hour_total WHERE hour >= ? AND hour < ? ${isChosen} ORDER BY hour LIMIT 1`,
    )
    .get(first, end, ...(outcomes === null ? [] : [JSON.stringify(outcomes)]));
  return row === null ? null : row.hour * HOUR_US;
}

// One month after the other, each left at its first match: a filter that matches much would else be read to its end.
function findMonth(database: Database, { first, end }: Span, filter: ResolvedFilter): InstantUs | null {
  const query = database.query<unknown, [number]>(
    `SELECT 1 FROM month_total WHERE month = ? ${filter.condition} LIMIT 1`,
  );
  for (let month = first; month < end; month += 1) {
    if (query.get(month) !== null) return toFirstDay(month) * DAY_US;
  }
  return null;
}

function findSealedDay(database: Database, span: Span, filter: ResolvedFilter): InstantUs | null {
  const query = database.query<unknown, [number]>(
    `SELECT 1 FROM sealed_day_total WHERE day = ? ${filter.condition} LIMIT 1`,
  );
  for (let month = toMonth(span.first); month <= toMonth(span.end - 1); month += 1) {
    if (findMonth(database, { first: month, end: month + 1 }, filter) === null) continue;
    const end = Math.min(span.end, toFirstDay(month + 1));
    for (let day = Math.max(span.first, toFirstDay(month)); day < end; day += 1) {
      if (query.get(day) !== null) return day * DAY_US;
    }
  }
  return null;
}

function findOpenDay(database: Database, { first, end }: Span, filter: ResolvedFilter): InstantUs | null {
  const row = database
    .query<{ day: number }, [number, number]>(
      `SELECT day FROM day_total WHERE day >= ? AND day < ? ${filter.condition} ORDER BY day LIMIT 1`,
    )
    .get(first, end);
  return row === null ? null : row.day * DAY_US;
}

import { dialectOf, one, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { toFirstDay, toMonth } from "#storage/cells/calendar.ts";
import { prepareEvents, toEventJoins } from "./chosen-events.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { RawRange, Span, WindowCut, WindowPart } from "./window-cut.ts";
import { toParts } from "./window-cut.ts";

/**
 * Where the first event that matches lies in a window that was cut: the start of its hour, day or month, whichever the cut
 * counts, and its arrival when it lies in a ragged end. Null when there is none.
 */
export function* findFirstMatch(cut: WindowCut, filter: ResolvedFilter): Script<InstantUs | null> {
  for (const part of toParts(cut)) {
    const foundUs = yield* findInPart(part, filter);
    if (foundUs !== null) return foundUs;
  }
  return null;
}

function* findInPart(part: WindowPart, filter: ResolvedFilter): Script<InstantUs | null> {
  if (part.kind === "hours") return yield* findHour(part, filter.outcomes);
  if (part.kind === "months") return yield* findMonth(part, filter);
  if (part.kind === "sealedDays") return yield* findSealedDay(part, filter);
  if (part.kind === "openDays") return yield* findOpenDay(part, filter);
  return yield* findFirstRow(part, filter);
}

/** The arrival of the first row that matches; reads the range row by row up to it. */
export function* findFirstRow({ fromUs, toUs }: RawRange, filter: ResolvedFilter): Script<InstantUs | null> {
  if (filter.rows !== null) yield* prepareEvents(filter);
  const events =
    filter.rows === null
      ? `event AS e WHERE id >= ? AND id < ? ${filter.eventCondition}`
      : `event AS e ${toEventJoins(yield* dialectOf(), filter)} WHERE e.id >= ? AND e.id < ?`;
  const row = yield* one<{ id: number }>(`SELECT e.id FROM ${events} ORDER BY e.id LIMIT 1`, [fromUs, toUs]);
  return row?.id ?? null;
}

function* findHour({ first, end }: Span, outcomes: readonly string[] | null): Script<InstantUs | null> {
  const { isAnyOf } = yield* dialectOf();
  const isChosen = outcomes === null ? "" : `AND ${isAnyOf("outcome", "text")}`;
  const row = yield* one<{ hour: number }>(
    `SELECT hour FROM hour_total WHERE hour >= ? AND hour < ? ${isChosen} ORDER BY hour LIMIT 1`,
    [first, end, ...(outcomes === null ? [] : [outcomes])],
  );
  return row === null ? null : row.hour * HOUR_US;
}

// One month after the other, each left at its first match: a filter that matches much would else be read to its end.
function* findMonth({ first, end }: Span, filter: ResolvedFilter): Script<InstantUs | null> {
  const sql = `SELECT 1 FROM month_total WHERE month = ? ${filter.condition} LIMIT 1`;
  for (let month = first; month < end; month += 1) {
    if ((yield* one(sql, [month])) !== null) return toFirstDay(month) * DAY_US;
  }
  return null;
}

function* findSealedDay(span: Span, filter: ResolvedFilter): Script<InstantUs | null> {
  const sql = `SELECT 1 FROM sealed_day_total WHERE day = ? ${filter.condition} LIMIT 1`;
  for (let month = toMonth(span.first); month <= toMonth(span.end - 1); month += 1) {
    if ((yield* findMonth({ first: month, end: month + 1 }, filter)) === null) continue;
    const end = Math.min(span.end, toFirstDay(month + 1));
    for (let day = Math.max(span.first, toFirstDay(month)); day < end; day += 1) {
      if ((yield* one(sql, [day])) !== null) return day * DAY_US;
    }
  }
  return null;
}

function* findOpenDay({ first, end }: Span, filter: ResolvedFilter): Script<InstantUs | null> {
  const row = yield* one<{ day: number }>(
    `SELECT day FROM day_total WHERE day >= ? AND day < ? ${filter.condition} ORDER BY day LIMIT 1`,
    [first, end],
  );
  return row === null ? null : row.day * DAY_US;
}

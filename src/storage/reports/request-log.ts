import { HOUR_US } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { Window } from "#stats/filter.ts";
import type { LogOrder } from "#stats/log-order.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { RequestLog, StatsQuery } from "#stats/store.ts";
import { toFirstDay } from "#storage/cells/calendar.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import { toChosenBindings, toEventJoins, type Wanted } from "./chosen-events.ts";
import { Fold } from "./fold.ts";
import { foldWindow, toKeys } from "./folded-window.ts";
import { groupLabelSets } from "./label-groups.ts";
import { readEdges } from "./ledger-edges.ts";
import { resolveFilter } from "./request-filter.ts";
import {
  type EventKey,
  findRareUnits,
  hasPending,
  readRows,
  readRowsByKey,
  toKeyColumns,
  toLogOrder,
} from "./request-rows.ts";
import { refuseTooManyRows } from "./row-window.ts";
import { type CellSpan, cutRows, NOTHING, type RawRange, toPeriodAt, type WindowCut } from "./window-cut.ts";

/**
 * A page in an order (`newest` when absent), and whether the total is needed: without it, what lies beyond the page is not
 * counted, and it is 0.
 */
export type RequestPage = Page & {
  readonly isTotalWanted?: boolean | undefined;
  /** Whether the rare units of all that matches are told beside it, and whether some of it is pending. */
  readonly areUnitsWanted?: boolean | undefined;
  readonly order?: LogOrder | undefined;
};

/**
 * A page of the request log with the exact total (specification, section 4.4). How many events match is known from cells;
 * only the two ends of the window and the hour that holds the page are read row by row. By size, and under a filter on
 * single requests, every row of the window is looked at.
 */
export function* listRequests(query: StatsQuery, page: RequestPage): Script<RequestLog> {
  const { window } = query;
  const filter = yield* resolveFilter(query);
  const wanted = { filter, groups: yield* groupLabelSets(filter, []) };
  const paged = yield* readOrdered(wanted, { window, page });
  // The log is of rows that exist: retention changes nothing about its window.
  const log = { ...paged, snapped: null, truncated: false };
  if (page.areUnitsWanted !== true) return log;
  const rareUnits = yield* findRareUnits(wanted, window);
  return { ...log, rareUnits, hasPending: yield* hasPending(wanted, window) };
}

interface Listing {
  readonly window: Window;
  readonly page: RequestPage;
}

function* readOrdered(wanted: Wanted, listing: Listing): Script<Paged<RequestLogRow>> {
  const { window, page } = listing;
  const { order = "newest", isTotalWanted } = page;
  if (wanted.filter.rows !== null) return yield* scanPage(wanted, listing);
  if (order === "newest") return yield* readPage(wanted, listing);
  const countAll = function* count() {
    return (yield* readPage(wanted, { window, page: { limit: 0, offset: 0 } })).total;
  };
  if (order !== "oldest") {
    const { rows } = yield* scanPage(wanted, { window, page: { ...page, isTotalWanted: false } });
    return { rows, total: isTotalWanted === false ? 0 : yield* countAll() };
  }
  // The newest of these rows has as many newer ones before it as there are behind the page.
  const total = yield* countAll();
  const end = Math.max(total - page.offset, 0);
  const offset = Math.max(end - page.limit, 0);
  const part = { limit: end - offset, offset, isTotalWanted: false };
  const { rows } = yield* readPage(wanted, { window, page: part });
  return { rows: rows.toReversed(), total: isTotalWanted === false ? 0 : total };
}

/** Newest first: what lies before the page is counted and passed over, and so is what lies behind it, for the total. */
function* readPage(wanted: Wanted, { window, page }: Listing): Script<Paged<RequestLogRow>> {
  const isTotalWanted = page.isTotalWanted !== false;
  const cut = cutRows(yield* readEdges(), window);
  const counts = new RowCounts(wanted, cut);
  const ranges: RawRange[] = [];
  let total = 0;
  let skip = page.offset;
  let left = page.limit;
  let offset = 0;

  const take = (range: RawRange, count: number) => {
    if (ranges.length === 0) offset = skip;
    ranges.push(range);
    left -= count - skip;
    skip = 0;
  };
  const takeSpan = function* within(span: CellSpan, isCounted: boolean): Script<void> {
    for (const [at, count] of yield* counts.of(span)) {
      if (isCounted) total += count;
      if (left <= 0) {
        if (!isCounted || !isTotalWanted) return;
      } else if (skip >= count) skip -= count;
      else {
        const shorter = toWithin(span, at);
        if (shorter !== null) yield* within(shorter, false);
        else take({ fromUs: at * HOUR_US, toUs: (at + 1) * HOUR_US }, count);
      }
    }
  };
  for (const part of toParts(cut, wanted)) {
    if (left <= 0 && !isTotalWanted) break;
    if ("period" in part) {
      yield* takeSpan(part, true);
      continue;
    }
    const count = yield* countRows(wanted, part);
    total += count;
    if (left > 0 && skip < count) take(part, count);
    else if (left > 0) skip -= count;
  }
  const rows = yield* readRows(wanted, ranges, { limit: page.limit, offset });
  return { rows, total: isTotalWanted ? total : 0 };
}

/** The parts of a cut, newest first. Where the totals of hours tell, these are all that is looked at. */
function toParts({ cells, hours, raw }: WindowCut, { filter }: Wanted): readonly (CellSpan | RawRange)[] {
  const isEmpty = hours.first >= hours.end;
  const spans = filter.isByOutcomeOnly && !isEmpty ? [{ period: "hour" as const, ...hours }] : cells;
  const isBehind = ({ fromUs }: RawRange) => fromUs >= hours.end * HOUR_US;
  const newest = raw.filter(isBehind).toReversed();
  return [...newest, ...spans.toReversed(), ...raw.filter((range) => !isBehind(range)).toReversed()];
}

/** The shorter periods of a period; null for an hour. */
function toWithin({ period }: CellSpan, at: number): CellSpan | null {
  if (period === "hour") return null;
  return period === "month"
    ? { period: "day", first: toFirstDay(at), end: toFirstDay(at + 1) }
    : { period: "hour", first: at * 24, end: (at + 1) * 24 };
}

function* countRows(wanted: Wanted, { fromUs, toUs }: RawRange): Script<number> {
  const row = yield* one<{ count: number }>(
    `SELECT count(*) AS count FROM event AS e ${toEventJoins(yield* dialectOf(), wanted.filter)} WHERE e.id >= ? AND e.id < ?`,
    [...toChosenBindings(wanted), fromUs, toUs],
  );
  return row?.count ?? 0;
}

interface HourCount {
  readonly hour: number;
  readonly requests: number;
}

/** How many requests of periods match. */
class RowCounts {
  readonly #wanted: Wanted;
  readonly #hours: WindowCut["hours"];
  #open: readonly HourCount[] | null = null;

  constructor(wanted: Wanted, { hours }: WindowCut) {
    this.#wanted = wanted;
    this.#hours = hours;
  }

  /** The periods of a span that have any, newest first. */
  *of(span: CellSpan): Script<readonly (readonly [at: number, count: number])[]> {
    const { filter, groups } = this.#wanted;
    const counts = new Map<number, number>();
    const add = (at: number, requests: number) => counts.set(at, (counts.get(at) ?? 0) + requests);
    if (filter.isByOutcomeOnly)
      for (const { hour, requests } of yield* this.#countHours(span)) add(hour, requests);
    else {
      const toPeriod = (instantUs: number) => toPeriodAt(span.period, instantUs);
      const fold = new Fold(toKeys(groups, filter), ["requests"]);
      yield* foldWindow(fold, { cut: { ...NOTHING, cells: [span] }, filter, groups, toPeriod });
      for (const { period, requests } of fold.sums()) add(period, requests);
      for (const { hour, requests } of yield* this.#readOpen()) {
        const at = toPeriod(hour * HOUR_US);
        if (at >= span.first && at < span.end) add(at, requests);
      }
    }
    return [...counts].filter(([, count]) => count !== 0).sort(([left], [right]) => right - left);
  }

  *#countHours({ first, end }: CellSpan): Script<readonly HourCount[]> {
    const { outcomes } = this.#wanted.filter;
    const { isAnyOf } = yield* dialectOf();
    const isChosen = outcomes === null ? "" : `AND ${isAnyOf("outcome", "text")}`;
    return yield* all<HourCount>(
      `SELECT hour, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ? ${isChosen} GROUP BY hour`,
      [first, end, ...(outcomes === null ? [] : [outcomes])],
    );
  }

  /** By hour, what is not sealed of the window. */
  *#readOpen(): Script<readonly HourCount[]> {
    const { isAnyOf, isByte } = yield* dialectOf();
    const { filter, groups } = this.#wanted;
    return (this.#open ??= yield* all<HourCount>(
      `SELECT hour, sum(requests) AS requests FROM open_cell WHERE ${isByte("?1", "combination", ">", 0)} AND hour >= ? AND hour < ?
         AND ${isAnyOf("result", "number")} GROUP BY hour ORDER BY hour`,
      [groups.shapes, this.#hours.first, this.#hours.end, filter.results.map(({ id }) => id)],
    ));
  }
}

function toOrderBy(dialect: Dialect, order: LogOrder): string {
  const newest = toLogOrder(dialect, "e");
  const orders: { readonly [known in LogOrder]: string } = {
    newest,
    oldest: toLogOrder(dialect, "e", "ASC"),
    // Without a cost a request comes last.
    cost: `e.cost_hi DESC NULLS LAST, e.cost_lo DESC NULLS LAST, ${newest}`,
    duration: `e.duration_us DESC, ${newest}`,
  };
  return orders[order];
}

/**
 * A page of the rows that a filter leaves, in any order, by looking at each row of the window; without a total no further than
 * the page goes, where the order is that of time. Throws `range_too_large` before it reads.
 */
function* scanPage(wanted: Wanted, { window, page }: Listing): Script<Paged<RequestLogRow>> {
  const rows = (yield* readEdges())?.rows ?? null;
  const fromUs = Math.max(window.sinceUs ?? 0, rows?.firstUs ?? 0);
  const toUs = Math.min(window.untilUs ?? Number.MAX_SAFE_INTEGER, (rows?.lastUs ?? 0) + 1);
  if (rows === null || fromUs >= toUs) return { rows: [], total: 0 };
  yield* refuseTooManyRows([{ fromUs, toUs }]);
  const dialect = yield* dialectOf();
  const keys = yield* all<EventKey>(
    `SELECT ${toKeyColumns(dialect)} FROM event AS e ${toEventJoins(dialect, wanted.filter)} WHERE e.id >= ? AND e.id < ?
     ORDER BY ${toOrderBy(dialect, page.order ?? "newest")} LIMIT ? OFFSET ?`,
    [...toChosenBindings(wanted), fromUs, toUs, page.limit, page.offset],
  );
  const listed = yield* readRowsByKey(keys);
  const total = page.isTotalWanted === false ? 0 : yield* countRows(wanted, { fromUs, toUs });
  return { rows: listed, total };
}

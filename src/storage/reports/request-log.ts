import { type Script } from "#storage/sql/script.ts";
import type { Paged } from "#kernel/page.ts";
import type { Window } from "#stats/filter.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { RequestLog, StatsQuery } from "#stats/store.ts";
import { findPendingEvents } from "./pending-events.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { resolveFilter } from "./request-filter.ts";
import { type RequestPage, scanPage } from "./scanned-rows.ts";
import { findRareUnits, readRows } from "./request-rows.ts";
import { cutIntoSlices, toDaySlices } from "./window-slices.ts";

/**
 * A page of the request log with the exact total (specification, section 4.4). How many events match is known from the totals;
 * only the two ends of the window and the slice that holds the page are read row by row. By size, and under a filter on
 * single requests, every row of the window is looked at.
 */
export function* listRequests(query: StatsQuery, page: RequestPage): Script<RequestLog> {
  const filter = yield* resolveFilter(query);
  const paged = yield* readOrdered(filter, { window: query.window, page });
  // The log is of rows that exist: retention changes nothing about its window.
  const log = { ...paged, snapped: null, truncated: false };
  if (page.areUnitsWanted !== true) return log;
  const rareUnits = yield* findRareUnits(filter, query.window);
  const pending = yield* findPendingEvents(filter, { window: query.window, snapped: null, isGrouped: false });
  return { ...log, rareUnits, hasPending: pending.length > 0 };
}

interface Listing {
  readonly window: Window;
  readonly page: RequestPage;
}

function* readOrdered(filter: ResolvedFilter, listing: Listing): Script<Paged<RequestLogRow>> {
  const { window, page } = listing;
  const { order = "newest", isTotalWanted } = page;
  if (filter.rows !== null) return yield* scanPage(filter, listing);
  if (order === "newest") return yield* readPage(filter, listing);
  const countAll = function* count() {
    return (yield* readPage(filter, { window, page: { limit: 0, offset: 0 } })).total;
  };
  if (order !== "oldest") {
    const { rows } = yield* scanPage(filter, { window, page: { ...page, isTotalWanted: false } });
    return { rows, total: isTotalWanted === false ? 0 : yield* countAll() };
  }
  // The newest of these rows has as many newer ones before it as there are behind the page.
  const total = yield* countAll();
  const end = Math.max(total - page.offset, 0);
  const offset = Math.max(end - page.limit, 0);
  const part = { limit: end - offset, offset, isTotalWanted: false };
  const { rows } = yield* readPage(filter, { window, page: part });
  return {
    rows: rows.toReversed(),
    total: isTotalWanted === false ? 0 : total,
  };
}

function* readPage(filter: ResolvedFilter, { window, page }: Listing): Script<Paged<RequestLogRow>> {
  const isTotalWanted = page.isTotalWanted !== false;
  // To skip rows they have to be counted.
  const rowsWanted = isTotalWanted || page.offset > 0 ? null : page.limit;
  let total = 0;
  const rows: RequestLogRow[] = [];
  let skip = page.offset;
  const { parts, count } = yield* cutIntoSlices({ filter, window }, { rowsWanted });
  for (const slices of parts)
    for (const slice of yield* count(slices)) {
      total += slice.count;
      if (rows.length >= page.limit) {
        if (isTotalWanted) continue;
        break;
      }
      if (skip >= slice.count) {
        skip -= slice.count;
        continue;
      }
      // Several days that hold a part of the page are cut: rows of one filter may be few in them.
      for (const part of slice.holdsDays ? yield* toDaySlices(filter, slice) : [slice]) {
        if (rows.length >= page.limit) break;
        if (skip >= part.count) skip -= part.count;
        else {
          const range = {
            fromUs: part.fromUs,
            toUs: part.toUs,
            limit: page.limit - rows.length,
            offset: skip,
          };
          rows.push(...(yield* readRows(filter, range)));
          skip = 0;
        }
      }
    }
  return { rows, total: isTotalWanted ? total : 0 };
}

import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { Window } from "#stats/filter.ts";
import type { ReportNotes, RequestLogRow, StatsQuery } from "#stats/store.ts";
import type { RequestPage } from "#storage/ledger/threads/messages.ts";
import { readTransaction } from "./read-transaction.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { resolveFilter } from "./request-filter.ts";
import { scanPage } from "./scanned-rows.ts";
import { readRows } from "./request-rows.ts";
import { countSlices, toDaySlices } from "./window-slices.ts";

/**
 * A page of the request log with the exact total (specification, section 4.4). How many events match is known from the totals;
 * only the two ends of the window and the slice that holds the page are read row by row. By size, and under a filter on
 * single requests, every row of the window is looked at.
 */
export function listRequests(
  database: Database,
  query: StatsQuery,
  page: RequestPage,
): Paged<RequestLogRow> & ReportNotes {
  return readTransaction(database, () => {
    const filter = resolveFilter(database, query);
    const paged = readOrdered(database, filter, { window: query.window, page });
    // The log is of rows that exist: retention changes nothing about its window.
    return { ...paged, snapped: null, truncated: false };
  });
}

interface Listing {
  readonly window: Window;
  readonly page: RequestPage;
}

function readOrdered(database: Database, filter: ResolvedFilter, listing: Listing): Paged<RequestLogRow> {
  const { window, page } = listing;
  const { order = "newest", isTotalWanted } = page;
  if (filter.rows !== null) return scanPage(database, filter, listing);
  if (order === "newest") return readPage(database, filter, listing);
  const readPart = (part: Page) =>
    readPage(database, filter, { window, page: { ...part, isTotalWanted: false } }).rows;
  const countAll = () => readPage(database, filter, { window, page: { limit: 0, offset: 0 } }).total;
  if (order !== "oldest") {
    const { rows } = scanPage(database, filter, { window, page: { ...page, isTotalWanted: false } });
    return { rows, total: isTotalWanted === false ? 0 : countAll() };
  }
  // The newest of these rows has as many newer ones before it as there are behind the page.
  const total = countAll();
  const end = Math.max(total - page.offset, 0);
  const offset = Math.max(end - page.limit, 0);
  return {
    rows: readPart({ limit: end - offset, offset }).toReversed(),
    total: isTotalWanted === false ? 0 : total,
  };
}

function readPage(
  database: Database,
  filter: ResolvedFilter,
  { window, page }: Listing,
): Paged<RequestLogRow> {
  const isTotalWanted = page.isTotalWanted !== false;
  // To skip rows they have to be counted.
  const rowsWanted = isTotalWanted || page.offset > 0 ? null : page.limit;
  let total = 0;
  const rows: RequestLogRow[] = [];
  let skip = page.offset;
  const readSlice = (fromUs: InstantUs, toUs: InstantUs) => {
    rows.push(...readRows(database, filter, { fromUs, toUs, limit: page.limit - rows.length, offset: skip }));
    skip = 0;
  };
  for (const slice of countSlices(database, { filter, window }, { rowsWanted })) {
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
    for (const part of slice.holdsDays ? toDaySlices(database, filter, slice) : [slice]) {
      if (rows.length >= page.limit) break;
      if (skip >= part.count) skip -= part.count;
      else readSlice(part.fromUs, part.toUs);
    }
  }
  return { rows, total: isTotalWanted ? total : 0 };
}

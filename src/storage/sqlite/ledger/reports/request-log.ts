import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { Paged } from "#kernel/page.ts";
import type { Window } from "#stats/filter.ts";
import type { ReportNotes, RequestLogRow, StatsQuery } from "#stats/store.ts";
import type { RequestPage } from "#storage/ledger/threads/messages.ts";
import { readTransaction } from "./read-transaction.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { resolveFilter } from "./request-filter.ts";
import { readRows } from "./request-rows.ts";
import { countSlices, toDaySlices } from "./window-slices.ts";

/**
 * A page of the request log, newest first, with the exact total (specification, section 4.4). How many events match is
 * known from the totals; only the two ends of the window and the slice that holds the page are read row by row.
 */
export function listRequests(
  database: Database,
  query: StatsQuery,
  page: RequestPage,
): Paged<RequestLogRow> & ReportNotes {
  return readTransaction(database, () => {
    const filter = resolveFilter(database, query);
    const paged = readPage(database, filter, { window: query.window, page });
    // The log is of rows that exist: retention changes nothing about its window.
    return { ...paged, snapped: null, truncated: false };
  });
}

function readPage(
  database: Database,
  filter: ResolvedFilter,
  { window, page }: { readonly window: Window; readonly page: RequestPage },
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

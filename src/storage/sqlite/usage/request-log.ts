import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { RequestLogRow, StatsQuery } from "#stats/store.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { resolveFilter } from "./request-filter.ts";
import { readRows } from "./request-rows.ts";
import type { WindowBounds } from "./window-slices.ts";
import { countSlices, findBounds, toDaySlices } from "./window-slices.ts";

/**
 * A page of the request log, newest first, with the exact total (specification, section 4.4). How many events match is
 * known from the totals; only the two ends of the window and the slice that holds the page are read row by row.
 */
export function listRequests(database: Database, query: StatsQuery, page: Page): Paged<RequestLogRow> {
  // One picture of the file: totals and rows of different commits would not fit together.
  database.run("BEGIN");
  try {
    const filter = resolveFilter(database, query);
    const bounds = findBounds(database, query.window, filter);
    return bounds === null ? { rows: [], total: 0 } : readPage(database, filter, { bounds, page });
  } finally {
    database.run("ROLLBACK");
  }
}

function readPage(
  database: Database,
  filter: ResolvedFilter,
  { bounds, page }: { readonly bounds: WindowBounds; readonly page: Page },
): Paged<RequestLogRow> {
  const slices = countSlices(database, filter, bounds);
  let total = 0;
  for (const slice of slices) total += slice.count;

  const rows: RequestLogRow[] = [];
  let skip = page.offset;
  const readSlice = (fromUs: InstantUs, toUs: InstantUs) => {
    rows.push(...readRows(database, filter, { fromUs, toUs, limit: page.limit - rows.length, offset: skip }));
    skip = 0;
  };
  for (const slice of slices) {
    if (rows.length >= page.limit) break;
    if (skip >= slice.count) {
      skip -= slice.count;
      continue;
    }
    // A month that holds a part of the page is cut into its days: rows of one filter may be few in it.
    for (const part of slice.isMonth ? toDaySlices(database, filter, slice) : [slice]) {
      if (rows.length >= page.limit) break;
      if (skip >= part.count) skip -= part.count;
      else readSlice(part.fromUs, part.toUs);
    }
  }
  return { rows, total };
}

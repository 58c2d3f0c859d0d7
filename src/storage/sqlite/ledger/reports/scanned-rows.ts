import type { Database } from "bun:sqlite";
import type { Paged } from "#kernel/page.ts";
import type { Window } from "#stats/filter.ts";
import type { LogOrder } from "#stats/log-order.ts";
import type { RequestLogRow } from "#stats/store.ts";
import type { RequestPage } from "#storage/ledger/threads/messages.ts";
import { prepareEvents, toEventJoins } from "./chosen-events.ts";
import { readEdges } from "./ledger-edges.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { readRowsById } from "./request-rows.ts";
import { refuseTooManyRows } from "./row-window.ts";

const ORDER_BY: { readonly [order in LogOrder]: string } = {
  newest: "e.id DESC",
  oldest: "e.id",
  // NULL is the smallest: without a cost a request comes last.
  cost: "e.cost_hi DESC, e.cost_lo DESC, e.id DESC",
  duration: "e.duration_us DESC, e.id DESC",
};

/**
 * A page of the rows that a filter leaves, in any order, by looking at each row of the window; without a total no further than
 * the page goes, where the order is that of time. Throws `range_too_large` before it reads.
 */
export function scanPage(
  database: Database,
  filter: ResolvedFilter,
  { window, page }: { readonly window: Window; readonly page: RequestPage },
): Paged<RequestLogRow> {
  const rows = readEdges(database)?.rows ?? null;
  const fromUs = Math.max(window.sinceUs ?? 0, rows?.firstUs ?? 0);
  const toUs = Math.min(window.untilUs ?? Number.MAX_SAFE_INTEGER, (rows?.lastUs ?? 0) + 1);
  if (rows === null || fromUs >= toUs) return { rows: [], total: 0 };
  refuseTooManyRows(database, { fromUs, toUs });
  prepareEvents(database, filter);
  const events = `event AS e ${toEventJoins(filter)} WHERE e.id >= ? AND e.id < ?`;
  const ids = database
    .query<{ id: number }, number[]>(
      `SELECT e.id FROM ${events} ORDER BY ${ORDER_BY[page.order ?? "newest"]} LIMIT ? OFFSET ?`,
    )
    .all(fromUs, toUs, page.limit, page.offset)
    .map(({ id }) => id);
  const byId = new Map(readRowsById(database, ids).map((row) => [row.arrivedAtUs, row]));
  const { total } =
    page.isTotalWanted === false
      ? { total: 0 }
      : (database
          .query<{ total: number }, number[]>(`SELECT count(*) AS total FROM ${events}`)
          .get(fromUs, toUs) ?? { total: 0 });
  return { rows: ids.flatMap((id) => byId.get(id) ?? []), total };
}

import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { Window } from "#stats/filter.ts";
import type { LogOrder } from "#stats/log-order.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import { prepareEvents, toEventJoins } from "./chosen-events.ts";
import { readEdges } from "./ledger-edges.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { type EventKey, readRowsByKey, toKeyColumns, toLogOrder } from "./request-rows.ts";
import { refuseTooManyRows } from "./row-window.ts";

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

function toOrderBy(dialect: Dialect, order: LogOrder): string {
  const newest = toLogOrder(dialect, "e");
  const orders: { readonly [one in LogOrder]: string } = {
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
export function* scanPage(
  filter: ResolvedFilter,
  { window, page }: { readonly window: Window; readonly page: RequestPage },
): Script<Paged<RequestLogRow>> {
  const rows = (yield* readEdges())?.rows ?? null;
  const fromUs = Math.max(window.sinceUs ?? 0, rows?.firstUs ?? 0);
  const toUs = Math.min(window.untilUs ?? Number.MAX_SAFE_INTEGER, (rows?.lastUs ?? 0) + 1);
  if (rows === null || fromUs >= toUs) return { rows: [], total: 0 };
  yield* refuseTooManyRows({ fromUs, toUs });
  yield* prepareEvents(filter);
  const dialect = yield* dialectOf();
  const events = `event AS e ${toEventJoins(dialect, filter)} WHERE e.id >= ? AND e.id < ?`;
  const order = toOrderBy(dialect, page.order ?? "newest");
  const keys = yield* all<EventKey>(
    `SELECT ${toKeyColumns(dialect)} FROM ${events} ORDER BY ${order} LIMIT ? OFFSET ?`,
    [fromUs, toUs, page.limit, page.offset],
  );
  const listed = yield* readRowsByKey(keys);
  if (page.isTotalWanted === false) return { rows: listed, total: 0 };
  const counted = yield* one<{ total: number }>(`SELECT count(*) AS total FROM ${events}`, [fromUs, toUs]);
  return { rows: listed, total: counted?.total ?? 0 };
}

import type { LogOrder } from "../search/filters.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";

/** What of a list is asked for; rows beyond `PAGE_LIMIT_MAX` take another page. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  /** Only the request log takes it. */
  readonly order?: LogOrder | undefined;
}

/** Lists of admins are shown as a whole up to here; the longest that a server is made for have 10,000 rows. */
export const ROWS_MAX = 20 * PAGE_LIMIT_MAX;

/** A list with as many of its rows as one view shows. */
export interface WholeList<Row> {
  readonly rows: readonly Row[];
  /** How many there are on the server; more than `rows` has when `ROWS_MAX` cut them. */
  readonly total: number;
}

export type FetchPage<Row> = (
  page: PageQuery,
) => Promise<{ readonly rows: readonly Row[]; readonly total: number }>;

/** Page after page up to `ROWS_MAX` rows. A row that moved between two pages is there once; throws as a page does. */
export async function fetchWholeList<Row>(
  fetchPage: FetchPage<Row>,
  toId: (row: Row) => string,
): Promise<WholeList<Row>> {
  const found = new Map<string, Row>();
  for (let offset = 0; ; offset += PAGE_LIMIT_MAX) {
    const { rows, total } = await fetchPage({ limit: PAGE_LIMIT_MAX, offset });
    for (const row of rows) found.set(toId(row), row);
    const next = offset + PAGE_LIMIT_MAX;
    if (rows.length === 0 || next >= total || next >= ROWS_MAX) return { rows: [...found.values()], total };
  }
}

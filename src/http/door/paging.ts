import type { Page } from "#kernel/page.ts";

/** What every paginated list echoes beside its rows (specification, section 4; `total` from the decisions). */
export function pageView(page: Page, total: number) {
  return { limit: page.limit, offset: page.offset, total };
}

/** The page of a list that is in memory as a whole. */
export function slicePage<Row>(rows: readonly Row[], page: Page): readonly Row[] {
  return rows.slice(page.offset, page.offset + page.limit);
}

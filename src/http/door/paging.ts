import { Type } from "@sinclair/typebox";
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, type Page } from "#kernel/page.ts";
import type { QueryParam } from "./route.ts";

/** The parameters of every paginated list. Out of range they fall back to their defaults. */
export const PAGE_QUERY: readonly QueryParam[] = [
  {
    name: "limit",
    schema: Type.Integer({ minimum: 1, maximum: PAGE_LIMIT_MAX, default: PAGE_LIMIT_DEFAULT }),
    description: "Rows of one page.",
    example: "100",
  },
  {
    name: "offset",
    schema: Type.Integer({ minimum: 0, default: 0 }),
    description: "Rows before it.",
    example: "0",
  },
];

/** The fields that every paginated list echoes beside its rows (specification, section 4; `total` from the decisions). */
export function pageView(page: Page, total: number) {
  return { limit: page.limit, offset: page.offset, total };
}

/** The page of a list that is in memory as a whole. */
export function slicePage<Row>(rows: readonly Row[], page: Page): readonly Row[] {
  return rows.slice(page.offset, page.offset + page.limit);
}

import { compareCodeUnits } from "#kernel/text.ts";
import type { RequestRow } from "../../api/reports.ts";

/** The newest requests as the live tail has seen them come. */
export interface Tail {
  /** Newest first, `TAIL_ROWS_MAX` at most. */
  readonly rows: readonly RequestRow[];
  /** How many there are on the server with these filters. */
  readonly total: number;
  /** The rows that came with the last question that brought any; none at first. */
  readonly freshIds: ReadonlySet<string>;
  /** Grows with each question that brought some: two arrivals of three are two announcements. */
  readonly arrivals: number;
}

/** What is kept, however long it runs. */
export const TAIL_ROWS_MAX = 500;
/** Rows asked for at once. */
export const TAIL_PAGE_ROWS = 100;

/**
 * The tail after another look at the newest page. A request is logged when it ends and stands where it began, so new ones
 * also come between known ones. When none of a full page is known, requests were missed in between, and the tail begins
 * again with the page.
 */
export function followTail(
  tail: Tail | undefined,
  page: { readonly requests: readonly RequestRow[]; readonly total: number },
): Tail {
  const { requests, total } = page;
  if (tail === undefined) return { rows: requests, total, freshIds: new Set(), arrivals: 0 };
  const known = new Map(tail.rows.map((row) => [row.id, row]));
  const fresh = requests.filter(({ id }) => !known.has(id));
  if (fresh.length === 0) return { ...tail, total };
  const isGap = fresh.length === requests.length && requests.length >= TAIL_PAGE_ROWS;
  const rows = isGap ? requests : [...fresh, ...tail.rows].sort(compareNewestFirst);
  return {
    rows: rows.slice(0, TAIL_ROWS_MAX),
    total,
    freshIds: new Set(fresh.map(({ id }) => id)),
    arrivals: tail.arrivals + 1,
  };
}

/** An id begins with the instant. */
function compareNewestFirst(one: RequestRow, other: RequestRow): number {
  return compareCodeUnits(other.id, one.id);
}

import { compareCodeUnits } from "#kernel/text.ts";
import type { Bucket } from "#stats/bucket.ts";
import type { RequestRow, UsageBucket } from "../../api/reports.ts";
import { toBucketEnd } from "../../charts/bucket-range.ts";
import type { LogView } from "./log-view.ts";

/** What was recorded since a view of the log was read. */
export interface Tail {
  /** Where the next look goes on. */
  readonly cursor: string;
  /** Without those that the view has, newest first. */
  readonly rows: readonly RequestRow[];
  /** Those of the last look that brought any. */
  readonly freshIds: ReadonlySet<string>;
}

/** What one look found. */
export interface Look {
  readonly requests: readonly RequestRow[];
  readonly total: number;
  readonly cursor?: string | undefined;
  readonly gap?: boolean | undefined;
}

/** Rows that one look can bring. */
export const LOOK_ROWS_MAX = 100;
/** Rows that a tail holds: however long the log is followed, the view is read anew now and then. */
export const TAIL_ROWS_MAX = 500;

/**
 * The tail after another look at what was recorded; null when the view has to be read anew: the server does not know the cursor
 * any more, more came than a look brings or a tail holds, or what came has no bar yet.
 */
export function followTail(
  tail: Tail,
  look: Look,
  { view, bucket }: { view: LogView; bucket: Bucket },
): Tail | null {
  const { requests, total, cursor } = look;
  if (look.gap === true || cursor === undefined || total > requests.length) return null;
  const known = new Set([...view.rows, ...tail.rows].map(({ id }) => id));
  const fresh = requests.filter(({ id }) => !known.has(id));
  if (fresh.length === 0) return { ...tail, cursor };
  if (tail.rows.length + fresh.length > TAIL_ROWS_MAX) return null;
  if (view.bars !== null && fresh.some((row) => findBar(view.bars ?? [], row, bucket) === null)) return null;
  return {
    cursor,
    rows: [...fresh, ...tail.rows].sort(compareNewestFirst),
    freshIds: new Set(fresh.map(({ id }) => id)),
  };
}

/** The view with what came since: rows, total and bars of the same requests. */
export function addTail(
  view: LogView,
  tail: Tail | null,
  options: { rowsAPage: number; bucket: Bucket },
): LogView {
  if (tail === null || tail.rows.length === 0) return view;
  const { rowsAPage, bucket } = options;
  return {
    ...view,
    rows: [...tail.rows, ...view.rows].sort(compareNewestFirst).slice(0, rowsAPage),
    total: view.total + tail.rows.length,
    bars: view.bars === null ? null : addToBars(view.bars, tail.rows, bucket),
  };
}

function addToBars(
  bars: readonly UsageBucket[],
  rows: readonly RequestRow[],
  bucket: Bucket,
): readonly UsageBucket[] {
  const added = new Map<number, RequestRow[]>();
  for (const row of rows) {
    const place = findBar(bars, row, bucket);
    if (place !== null) added.set(place, [...(added.get(place) ?? []), row]);
  }
  return bars.map((bar, place) => (added.get(place) ?? []).reduce(count, bar));
}

function count(bar: UsageBucket, { outcome }: RequestRow): UsageBucket {
  const figure = outcome === "ok" || outcome === "cancelled" ? outcome : "failed";
  return { ...bar, requests: bar.requests + 1, [figure]: bar[figure] + 1 };
}

/** The bar that a request is counted in, by when it began; null when there is none for it. */
function findBar(bars: readonly UsageBucket[], { ts }: RequestRow, bucket: Bucket): number | null {
  const atMs = Date.parse(ts);
  const place = bars.findLastIndex(({ start }) => Date.parse(start) <= atMs);
  const bar = bars[place];
  return bar !== undefined && atMs < toBucketEnd(bucket, new Date(bar.start)).getTime() ? place : null;
}

/** An id begins with the instant. */
function compareNewestFirst(one: RequestRow, other: RequestRow): number {
  return compareCodeUnits(other.id, one.id);
}

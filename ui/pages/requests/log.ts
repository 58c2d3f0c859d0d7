import { keepPreviousData, type QueryKey, queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { compareCodeUnits } from "#kernel/text.ts";
import type { Bucket } from "#stats/bucket.ts";
import { KEYS } from "../../api/keys.ts";
import {
  fetchRecorded,
  fetchRequests,
  fetchSeries,
  type LogRow,
  type PageQuery,
  type RefusedRequest,
  type ReportNotes,
  type RequestRow,
  type UsageBucket,
} from "../../api/reports.ts";
import { toBucketEnd } from "../../charts/bucket-range.ts";
import { useOutdated } from "../../reports/answer.tsx";
import type { LogOrder, ReportQuery } from "../../search/filters.ts";
import { isDefaultOrder, type RequestsSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";

/** The part of the log that the address asks for. */
export interface Log {
  /** Refusals stand among the requests. */
  readonly rows: readonly LogRow[];
  /** Requests with these filters, on the server; null until it is known. */
  readonly total: number | null;
  /** Refusals with these filters, of those that the server keeps and shows to this person. */
  readonly refusalsTotal: number;
  /** The offset of the first row. */
  readonly offset: number;
  readonly rowsAPage: number;
  /** How many there are over time; null until it is known, or when `barsFailure` says why not. */
  readonly bars: readonly UsageBucket[] | null;
  readonly barsFailure: Error | null;
  readonly notes: ReportNotes | undefined;
  /** Nothing is there yet, or what is there answers an earlier question. */
  readonly isBusy: boolean;
  readonly isOutdated: boolean;
  readonly failure: Error | null;
  readonly retry: () => void;
  readonly live: Live;
}

/** How the log is followed. */
export interface Live {
  /** `ended`: this part of the log gets nothing new at its top: an older page, another order, or a window with an end. */
  readonly state: "on" | "paused" | "ended";
  /** In milliseconds since 1970; 0 before the first answer. */
  readonly updatedAtMs: number;
  readonly isFailing: boolean;
  /** Rows that came while the list was held in place. */
  readonly waiting: number;
  /** Shows them. */
  readonly showWaiting: () => void;
  readonly freshIds: ReadonlySet<string>;
}

/** The address's part of the log, followed as it is written. While it `isHeld`, because it is being read, what is new waits. */
export function useLog(report: Report, search: RequestsSearch, isHeld: boolean): Log {
  const { query, window, question } = report;
  const { bucket } = window;
  const rowsAPage = Number(search.rows ?? "100");
  const offset = (search.page ?? 0) * rowsAPage;
  const isNewest = offset === 0 && isDefaultOrder(search.order) && window.until === undefined;
  const asked = logViewQuery({
    query,
    page: { limit: rowsAPage, offset, order: search.order, refusals: "1" },
    bucket,
    isNewest,
  });
  const view = useQuery(asked);
  const isOutdated = useOutdated(
    `${question} ${offset} ${rowsAPage} ${search.order}`,
    view.isPending || view.isPlaceholderData,
  );
  const isPaused = search.live === "0";
  const { tail, updatedAtMs, failure } = useLiveTail({
    view: view.data,
    viewKey: asked.queryKey,
    viewAtMs: view.dataUpdatedAt,
    query,
    bucket,
    isOn: isNewest && !isPaused && !view.isPlaceholderData,
  });
  const current = useMemo(
    () => (view.data === undefined ? null : addTail(view.data, tail, { rowsAPage, bucket })),
    [view.data, tail, rowsAPage, bucket],
  );
  const [shown, showCurrent] = useHeld(current, isHeld && isNewest && !isOutdated);
  const waiting = useMemo(() => countNew(current, shown), [current, shown]);
  const rows = useMemo(
    () => (shown === null ? NO_ROWS : toLogRows(shown, search.order)),
    [shown, search.order],
  );
  return {
    rows,
    total: shown?.total ?? null,
    refusalsTotal: shown?.refusalsTotal ?? 0,
    offset,
    rowsAPage,
    bars: shown?.bars ?? null,
    barsFailure: shown?.barsFailure ?? null,
    notes: shown?.notes ?? undefined,
    isBusy: view.isPending || isOutdated,
    isOutdated,
    failure: view.error,
    retry: () => void view.refetch(),
    live: {
      state: !isNewest ? "ended" : isPaused ? "paused" : "on",
      updatedAtMs,
      isFailing: failure !== null || (view.error !== null && view.data === undefined),
      waiting,
      showWaiting: showCurrent,
      freshIds: shown === current && tail !== null ? tail.freshIds : NO_IDS,
    },
  };
}

const NO_ROWS: readonly LogRow[] = [];
const NO_IDS: ReadonlySet<string> = new Set();

/** What is shown while it is held: what was there when it began to be, until the present is asked for. */
function useHeld(current: LogView | null, isHeld: boolean): readonly [LogView | null, () => void] {
  const [held, setHeld] = useState<LogView | null>(null);
  if (isHeld && held === null && current !== null) setHeld(current);
  if (!isHeld && held !== null) setHeld(null);
  return [isHeld ? (held ?? current) : current, () => setHeld(null)];
}

function countNew(current: LogView | null, shown: LogView | null): number {
  if (current === null || shown === null || current === shown) return 0;
  const known = new Set(listIds(shown));
  return listIds(current).filter((id) => !known.has(id)).length;
}

function listIds({ rows, refusals }: Pick<LogView, "rows" | "refusals">): readonly string[] {
  return [...rows, ...refusals].map(({ id }) => id);
}

/** Refusals stand where they arrived; they have no size to be sorted by. */
export function toLogRows({ rows, refusals }: LogView, order: LogOrder = "newest"): readonly LogRow[] {
  if (refusals.length === 0) return rows;
  const both = [...rows, ...refusals];
  if (order === "newest") return both.sort(compareNewestFirst);
  return order === "oldest" ? both.sort(compareNewestFirst).reverse() : both;
}

/** What the page shows of the log at one moment: rows, how many there are of them, and the bars that count them all. */
export interface LogView {
  /** Newest first, or in the order that was asked for. */
  readonly rows: readonly RequestRow[];
  /** Those that arrived among the rows, in the same order. */
  readonly refusals: readonly RefusedRequest[];
  /** On the server, with these filters. */
  readonly total: number;
  readonly refusalsTotal: number;
  /** Null when they could not be had, for which `barsFailure` is the reason. */
  readonly bars: readonly UsageBucket[] | null;
  readonly barsFailure: Error | null;
  readonly notes: ReportNotes | null;
  /** What was recorded after it has to be added to the view. Null for a view that is not followed. */
  readonly cursor: string | null;
}

interface LogQuery {
  readonly query: ReportQuery;
  readonly page: PageQuery;
  readonly bucket: Bucket;
  /** The newest rows of a window that has no end: what is recorded from now on belongs to it. */
  readonly isNewest: boolean;
}

/**
 * Rows and bars are asked for together, so that they agree. The cursor comes first: what is recorded between the two questions
 * is then known twice, and never missed.
 */
function logViewQuery({ query, page, bucket, isNewest }: LogQuery) {
  return queryOptions({
    queryKey: [...KEYS.requests, "view", query, page, bucket, isNewest],
    queryFn: async ({ signal }): Promise<LogView> => {
      const cursor = isNewest
        ? (await fetchRecorded(query, { after: "", limit: 1, refusals: "1" }, signal)).cursor
        : undefined;
      const [log, series] = await Promise.all([
        fetchRequests(query, page, signal),
        fetchSeries({ ...query, bucket }, signal).catch(toFailure),
      ]);
      const isFailed = series instanceof Error;
      return {
        rows: log.requests,
        refusals: log.refusals ?? [],
        total: log.total,
        refusalsTotal: log.refusals_total ?? 0,
        bars: isFailed ? null : series.series,
        barsFailure: isFailed ? series : null,
        notes: isFailed ? null : series.notes,
        cursor: cursor ?? null,
      };
    },
    placeholderData: keepPreviousData,
  });
}

/** The rows are worth showing without their bars. */
function toFailure(cause: unknown): Error {
  if (cause instanceof Error && cause.name !== "AbortError") return cause;
  throw cause;
}

const LOOK_MS = 2_000;
/** The longest pause between two looks while the server refuses or does not answer. */
const PAUSE_MS_MAX = 60_000;

interface Followed {
  readonly view: LogView | undefined;
  readonly viewKey: QueryKey;
  /** When the view was read, in milliseconds since 1970. */
  readonly viewAtMs: number;
  readonly query: ReportQuery;
  readonly bucket: Bucket;
  readonly isOn: boolean;
}

interface LiveTail {
  readonly tail: Tail | null;
  /** The last time that the server told what is there, in milliseconds since 1970. */
  readonly updatedAtMs: number;
  readonly failure: Error | null;
}

/**
 * Looks every two seconds for what was recorded since the view was read, while the tab is in sight; after a failure less often. A
 * view that is read anew has another cursor, and begins with an empty tail.
 */
function useLiveTail({ view, viewKey, viewAtMs, query, bucket, isOn }: Followed): LiveTail {
  const cursor = view?.cursor ?? null;
  const failures = useRef(0);
  const look = useQuery({
    queryKey: [...KEYS.tail, query, bucket, cursor],
    queryFn: async ({ client, queryKey, signal }): Promise<Tail> => {
      const tail = client.getQueryData<Tail>(queryKey);
      if (tail === undefined || view === undefined) throw new Error("a tail begins with its view");
      failures.current += 1;
      const wanted = { after: tail.cursor, limit: LOOK_ROWS_MAX, refusals: "1" } as const;
      const found = await fetchRecorded(query, wanted, signal);
      failures.current = 0;
      const next = followTail(tail, found, { view, bucket });
      if (next === null)
        void client.invalidateQueries({ queryKey: viewKey, exact: true }, { cancelRefetch: false });
      return next ?? tail;
    },
    enabled: isOn && cursor !== null,
    ...(cursor !== null && {
      initialData: { cursor, rows: [], refusals: [], freshIds: new Set<string>() },
      initialDataUpdatedAt: viewAtMs,
    }),
    staleTime: LOOK_MS,
    refetchInterval: () => Math.min(PAUSE_MS_MAX, LOOK_MS * 2 ** failures.current),
    gcTime: 0,
    // A set among it, and rows that are told apart by identity.
    structuralSharing: false,
    retry: false,
  });
  return {
    tail: look.data ?? null,
    updatedAtMs: Math.max(viewAtMs, look.dataUpdatedAt),
    failure: look.error,
  };
}

/** What was recorded since a view of the log was read. */
export interface Tail {
  /** Where the next look goes on. */
  readonly cursor: string;
  /** Without those that the view has, newest first. */
  readonly rows: readonly RequestRow[];
  readonly refusals: readonly RefusedRequest[];
  /** Those of the last look that brought any. */
  readonly freshIds: ReadonlySet<string>;
}

/** What one look found. */
export interface Look {
  readonly requests: readonly RequestRow[];
  readonly refusals?: readonly RefusedRequest[] | undefined;
  readonly total: number;
  readonly cursor?: string | undefined;
  readonly gap?: boolean | undefined;
}

/** Rows that one look can bring. */
const LOOK_ROWS_MAX = 100;
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
  const { requests, refusals = [], total, cursor } = look;
  if (look.gap === true || cursor === undefined || total > requests.length) return null;
  const known = new Set([...listIds(view), ...listIds(tail)]);
  const isFresh = ({ id }: LogRow) => !known.has(id);
  const [fresh, refused] = [requests.filter(isFresh), refusals.filter(isFresh)];
  if (fresh.length + refused.length === 0) return { ...tail, cursor };
  if (listIds(tail).length + fresh.length + refused.length > TAIL_ROWS_MAX) return null;
  if (view.bars !== null && fresh.some((row) => findBar(view.bars ?? [], row, bucket) === null)) return null;
  return {
    cursor,
    rows: [...fresh, ...tail.rows].sort(compareNewestFirst),
    refusals: [...refused, ...tail.refusals].sort(compareNewestFirst),
    freshIds: new Set(listIds({ rows: fresh, refusals: refused })),
  };
}

/** The view with what came since: rows, total and bars of the same requests. */
export function addTail(
  view: LogView,
  tail: Tail | null,
  options: { rowsAPage: number; bucket: Bucket },
): LogView {
  if (tail === null || listIds(tail).length === 0) return view;
  const { rowsAPage, bucket } = options;
  const rows = [...tail.rows, ...view.rows].sort(compareNewestFirst);
  // What stands behind the last row of the page is on the next one.
  const last = rows.length > rowsAPage ? rows[rowsAPage - 1] : undefined;
  return {
    ...view,
    rows: rows.slice(0, rowsAPage),
    refusals: [...tail.refusals, ...view.refusals]
      .sort(compareNewestFirst)
      .filter((refusal) => last === undefined || compareNewestFirst(refusal, last) < 0)
      .slice(0, rowsAPage),
    total: view.total + tail.rows.length,
    refusalsTotal: view.refusalsTotal + tail.refusals.length,
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
function compareNewestFirst(one: LogRow, other: LogRow): number {
  return compareCodeUnits(other.id, one.id);
}

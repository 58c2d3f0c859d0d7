import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { ReportNotes, RequestRow, UsageBucket } from "../../api/reports.ts";
import { useOutdated } from "../../reports/use-outdated.ts";
import { isDefaultOrder, type RequestsSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { type LogView, logViewQuery } from "./log-view.ts";
import { addTail } from "./tail.ts";
import { useLiveTail } from "./use-live-tail.ts";

/** The part of the log that the address asks for. */
export interface Log {
  readonly rows: readonly RequestRow[];
  /** With these filters, on the server; null until it is known. */
  readonly total: number | null;
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
    page: { limit: rowsAPage, offset, order: search.order },
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
  return {
    rows: shown?.rows ?? NO_ROWS,
    total: shown?.total ?? null,
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

const NO_ROWS: readonly RequestRow[] = [];
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
  const known = new Set(shown.rows.map(({ id }) => id));
  return current.rows.filter(({ id }) => !known.has(id)).length;
}

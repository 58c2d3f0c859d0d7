import type { UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ReportNotes } from "../api/reports.ts";
import { useLatest } from "./use-latest.ts";

/** What `useQuery` gives for a report. */
export type AskedReport<Report> = Pick<
  UseQueryResult<Report & { readonly notes: ReportNotes }>,
  "data" | "error" | "isPlaceholderData" | "isPending"
>;

export interface Compared<Figures> {
  /** Null before the first answer. */
  readonly now: Figures | null;
  /** Of the window before; null when there is none, or not the whole of it. */
  readonly before: Figures | null;
  /** False while these are the figures of an earlier question, or there are none yet. */
  readonly isComplete: boolean;
}

/** The figures of both windows together; those of the last ones while the next are on their way. `toFigures` is always the same. */
export function useCompared<Report, Figures>(
  asked: AskedReport<Report>,
  previous: AskedReport<Report> | null,
  toFigures: (report: Report) => Figures,
): Compared<Figures> {
  const report = isSettled(asked) ? asked.data : undefined;
  const isKnown = previous === null || isSettled(previous);
  const earlier = previous === null || previous.error !== null ? undefined : previous.data;
  const fresh = useMemo((): Compared<Figures> | null => {
    if (report === undefined || !isKnown) return null;
    // With a part of it gone, any comparison would be with something else.
    const isWhole = earlier !== undefined && earlier.notes.countedWindow === null;
    return { now: toFigures(report), before: isWhole ? toFigures(earlier) : null, isComplete: true };
  }, [report, isKnown, earlier, toFigures]);
  const latest = useLatest(fresh);
  if (latest === null) return { now: null, before: null, isComplete: false };
  return fresh === null ? { ...latest, isComplete: false } : latest;
}

/** Answered for what is asked now. */
export function isSettled({ isPending, isPlaceholderData }: AskedReport<unknown>): boolean {
  return !isPending && !isPlaceholderData;
}

import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import type { ReportNotes } from "../api/reports.ts";
import { classNames } from "../components/class-names.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Outdated } from "../components/outdated.tsx";
import { formatInstant } from "../text/format.ts";

/** The answer to a question, and what is shown meanwhile. */
export interface Answer<Data> {
  /** Absent before the first answer; the last one while the next is on its way. */
  readonly data: Data | null | undefined;
  /** `data` answers an earlier question. */
  readonly isOutdated?: boolean;
  readonly failure: Error | null;
  readonly retry: () => unknown;
}

interface AnswerViewProps<Data> {
  readonly answer: Answer<Data>;
  /** As large as what comes: nothing else moves then. */
  readonly skeleton: ReactNode;
  readonly className?: string;
  readonly children: (data: Data) => ReactNode;
}

/** Why there is no answer, its place while it is on its way, and what is drawn from it. */
export function AnswerView<Data>({
  answer,
  skeleton,
  className,
  children,
}: AnswerViewProps<Data>): ReactNode {
  const { data, isOutdated = false, failure, retry } = answer;
  const isThere = data !== null && data !== undefined;
  return (
    <>
      {failure !== null && <ErrorNotice failure={failure} onRetry={() => void retry()} />}
      {(isThere || failure === null) && (
        <Outdated when={isOutdated} className={className}>
          {isThere ? children(data) : skeleton}
        </Outdated>
      )}
    </>
  );
}

/** The result of `useQuery` for a report. */
export type AskedReport<Report> = Pick<
  UseQueryResult<Report & { readonly notes: ReportNotes }>,
  "data" | "error" | "isPlaceholderData" | "isPending"
>;

/** Answered for what is asked now. */
export function isSettled({ isPending, isPlaceholderData }: AskedReport<unknown>): boolean {
  return !isPending && !isPlaceholderData;
}

/**
 * Whether what is shown answers an earlier question: `question` names what is asked now, `isWaiting` that its answer is not there.
 * A window that moves along with the clock is asked for anew each minute and stays the same question, so that nothing flickers.
 */
export function useOutdated(question: string, isWaiting: boolean): boolean {
  const [answered, setAnswered] = useState(question);
  if (!isWaiting && answered !== question) setAnswered(question);
  return isWaiting && answered !== question;
}

/** What was complete last, while the next is not: a picture never mixes two questions, and never goes away between them. */
export function useLatest<Value>(complete: Value | null): Value | null {
  const [latest, setLatest] = useState(complete);
  if (complete !== null && complete !== latest) setLatest(complete);
  return complete ?? latest;
}

export interface Compared<Figures> {
  /** Null before the first answer. */
  readonly now: Figures | null;
  /** The answer of the window before; null when there is none, or not the whole of it. */
  readonly before: Figures | null;
  /** False while these are the figures of an earlier question, or there are none yet. */
  readonly isComplete: boolean;
  /** False for all time, which nothing came before. */
  readonly isCompared: boolean;
}

/** The figures of both windows together; those of the last ones while the next are on their way. `toFigures` is always the same. */
export function useCompared<Report, Figures>(
  asked: AskedReport<Report>,
  previous: AskedReport<Report> | null,
  toFigures: (report: Report) => Figures,
): Compared<Figures> {
  const isCompared = previous !== null;
  const report = isSettled(asked) ? asked.data : undefined;
  const isKnown = previous === null || isSettled(previous);
  const earlier = previous === null || previous.error !== null ? undefined : previous.data;
  const fresh = useMemo(() => {
    if (report === undefined || !isKnown) return null;
    // With a part of it gone, any comparison would be with something else.
    const isWhole = earlier !== undefined && earlier.notes.countedWindow === null;
    return { now: toFigures(report), before: isWhole ? toFigures(earlier) : null };
  }, [report, isKnown, earlier, toFigures]);
  const latest = useLatest(fresh);
  return { now: null, before: null, ...latest, isComplete: fresh !== null, isCompared };
}

interface CountedWindowProps {
  readonly notes: ReportNotes | null | undefined;
  /** Its distance to what stands around it. */
  readonly className?: string;
}

/** Says which time was counted where it is not the one that was asked for. */
export function CountedWindow({ notes, className = "mb-4" }: CountedWindowProps): ReactNode {
  const counted = notes?.countedWindow ?? null;
  if (counted === null) return null;
  const [since, until] = [formatInstant(counted.since, "minute"), formatInstant(counted.until, "minute")];
  return (
    <p role="note" className={classNames("text-xs text-ink-soft", className)}>
      Counted from {since} to {until}: older requests are kept as sums only, which cannot be cut more finely.
    </p>
  );
}

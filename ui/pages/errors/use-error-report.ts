import { useQuery } from "@tanstack/react-query";
import { errorsQuery, type ErrorsReport, type ReportNotes } from "../../api/reports.ts";
import type { Report } from "../../search/report.ts";
import { toRefresh } from "../../reports/refresh.ts";
import { useCompared, type Compared } from "../../reports/use-compared.ts";
import { toTally, type Tally } from "./outcomes.ts";

export interface ErrorReport {
  /** Undefined before the first answer; the last one while the next is on its way. */
  readonly data: (ErrorsReport & { readonly notes: ReportNotes }) | undefined;
  readonly isStale: boolean;
  readonly tallies: Compared<Tally>;
  readonly failure: Error | null;
  readonly retry: () => void;
}

/**
 * How requests ended in the window and in the one before. It is asked for without the filter by outcome, since a share is
 * one of all that ended: the page narrows by outcome itself.
 */
export function useErrorReport({ query, previousQuery, window }: Report): ErrorReport {
  const { bucket } = window;
  const asked = useQuery({
    ...errorsQuery({ ...query, outcome: undefined, bucket }),
    ...toRefresh(window),
  });
  const previous = useQuery({
    ...errorsQuery({ ...(previousQuery ?? query), outcome: undefined, bucket }),
    enabled: previousQuery !== null,
  });
  const tallies = useCompared(asked, previousQuery === null ? null : previous, toReportTally);
  return {
    data: asked.data,
    isStale: asked.isPlaceholderData,
    tallies,
    failure: asked.error,
    retry: () => void asked.refetch(),
  };
}

function toReportTally({ series }: Pick<ErrorsReport, "series">): Tally {
  return toTally(series);
}

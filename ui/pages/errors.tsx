import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { errorsQuery, type ErrorsReport, type Outcome, type ReportNotes } from "../api/reports.ts";
import { Card } from "../components/card.tsx";
import { Absent } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Outdated } from "../components/outdated.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { Tile } from "../components/tile.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { CountedWindow } from "../reports/counted-window.tsx";
import { type Report, toRefresh, useReport } from "../search/report.ts";
import { TileCount, toComparison } from "../reports/tile-figures.tsx";
import { type Compared, useCompared } from "../reports/use-compared.ts";
import { useOutdated } from "../reports/use-outdated.ts";
import { formatCount, formatPercent } from "../text/format.ts";
import { ErrorLists } from "./errors/error-lists.tsx";
import { OutcomeCard } from "./errors/outcome-card.tsx";
import {
  countOf,
  FAILURES,
  type OutcomeCounts,
  toDenominator,
  toShare,
  toOutcomeCounts,
} from "./errors/outcomes.ts";

const route = getRouteApi("/shell/errors");

/** What failed, how often of what, where, how fast and for whom; and what to do about it. */
export function ErrorsPage() {
  const { ok, heat = "failures" } = route.useSearch();
  const report = useReport("7d");
  const { data, isOutdated, areTilesOutdated, compared, failure, retry } = useErrorReport(report);
  return (
    <>
      <PageHead
        title="Errors"
        lead="Requests that failed at the provider or never reached it. Requests that the caller cancelled are counted separately."
      />
      <FilterBar report={report} />
      {failure !== null && (
        <div className="mb-4">
          <ErrorNotice failure={failure} onRetry={retry} />
        </div>
      )}
      {(data !== undefined || failure === null) && (
        <>
          <Outdated when={areTilesOutdated}>
            <Tiles compared={compared} isCompared={report.previousQuery !== null} />
          </Outdated>
          <CountedWindow notes={data?.notes} />
          {data === undefined ? (
            <ReportSkeleton />
          ) : (
            <Outdated when={isOutdated}>
              {data.notes.isTruncated && <Truncated />}
              <OutcomeCard report={report} series={data.series} withOk={ok === "1"} />
              <ErrorLists {...{ report, data, heat }} />
            </Outdated>
          )}
        </>
      )}
    </>
  );
}

function Truncated() {
  return (
    <p role="note" className="mb-4 rounded-card bg-warn-soft px-4 py-2.5 text-ink">
      The report is truncated: the rarest rows are missing below the chart, and shares are approximate. Narrow
      the window or filter.
    </p>
  );
}

/** As high as the first look at what comes. */
function ReportSkeleton() {
  return (
    <div aria-busy>
      <Card className="mb-4">
        <Skeleton className="h-72 w-full" />
      </Card>
      <Card>
        <Skeleton className="h-96 w-full" />
      </Card>
    </div>
  );
}

interface ErrorReport {
  /** Undefined before the first answer; the last one while the next is on its way. */
  readonly data: (ErrorsReport & { readonly notes: ReportNotes }) | undefined;
  /** It answers an earlier question. */
  readonly isOutdated: boolean;
  /** They also wait for the window before. */
  readonly areTilesOutdated: boolean;
  readonly compared: Compared<OutcomeCounts>;
  readonly failure: Error | null;
  readonly retry: () => void;
}

/**
 * How requests ended in the window and in the one before. It is asked for without the filter by outcome, since a share is
 * one of all that ended: the page narrows by outcome itself.
 */
function useErrorReport({ query, previousQuery, window, question }: Report): ErrorReport {
  const { bucket } = window;
  const asked = useQuery({
    ...errorsQuery({ ...query, outcome: undefined, bucket }),
    ...toRefresh(window),
  });
  const previous = useQuery({
    ...errorsQuery({ ...(previousQuery ?? query), outcome: undefined, bucket }),
    enabled: previousQuery !== null,
  });
  const compared = useCompared(asked, previousQuery === null ? null : previous, toReportCounts);
  return {
    data: asked.data,
    isOutdated: useOutdated(question, asked.isPlaceholderData),
    areTilesOutdated: useOutdated(question, !compared.isComplete),
    compared,
    failure: asked.error,
    retry: () => void asked.refetch(),
  };
}

function toReportCounts({ series }: Pick<ErrorsReport, "series">): OutcomeCounts {
  return toOutcomeCounts(series);
}

interface TilesProps {
  readonly compared: Compared<OutcomeCounts>;
  /** False for all time, which nothing came before. */
  readonly isCompared: boolean;
}

/** How much failed, of what, and how; each compared with the previous window. */
function Tiles({ compared, isCompared }: TilesProps) {
  const { now } = compared;
  const count = (outcomes: readonly Outcome[]) => ({
    busy: now === null,
    value: <TileCount value={now === null ? null : countOf(now, outcomes)} />,
    goodWhen: "down" as const,
    ...toComparison(compared, isCompared, (counts) => countOf(counts, outcomes)),
  });
  return (
    <section
      aria-label="Sums of the window"
      className="mb-4 grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-5"
    >
      <div className="col-span-2 grid md:col-span-1">
        <Tile
          label="Failure rate"
          busy={now === null}
          value={now !== null && <FailureRate counts={now} />}
          hint={now !== null && `of ${formatCount(toDenominator(now, FAILURES))}`}
          goodWhen="down"
          {...toComparison(compared, isCompared, (counts) => toShare(counts, FAILURES))}
        />
      </div>
      <Tile label="Failed" {...count(FAILURES)} />
      <Tile label="Upstream errors" {...count(["upstream_error"])} />
      <Tile label="Unreachable" {...count(["unreachable"])} />
      <Tile label="Cancelled, not failed" {...count(["cancelled"])} goodWhen="neutral" />
    </section>
  );
}

/** The share of requests that failed. Those whose caller hung up count neither as failed nor as succeeded. */
function FailureRate({ counts }: { readonly counts: OutcomeCounts }) {
  const rate = toShare(counts, FAILURES);
  if (rate === null) return <Absent />;
  const of = `${formatCount(countOf(counts, FAILURES))} of ${formatCount(toDenominator(counts, FAILURES))}`;
  return <span title={`${of} requests that were not cancelled`}>{formatPercent(rate)}</span>;
}

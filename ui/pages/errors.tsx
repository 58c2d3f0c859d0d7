import { getRouteApi } from "@tanstack/react-router";
import { Card } from "../components/card.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { FilterBar } from "../filters/filter-bar.tsx";
import { useReport } from "../search/report.ts";
import { ErrorLists } from "./errors/error-lists.tsx";
import { OutcomeCard } from "./errors/outcome-card.tsx";
import { Tiles } from "./errors/tiles.tsx";
import { useErrorReport } from "./errors/use-error-report.ts";
import { CountedWindow } from "../reports/counted-window.tsx";

const route = getRouteApi("/shell/errors");

/** What failed, how often of what, where, how fast and for whom; and what to do about it. */
export function ErrorsPage() {
  const { ok, heat = "failures" } = route.useSearch();
  const report = useReport("7d");
  const { data, isStale, tallies, failure, retry } = useErrorReport(report);
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
          <Tiles tallies={tallies} isCompared={report.previousQuery !== null} />
          <CountedWindow notes={data?.notes} />
          {data === undefined ? (
            <ReportSkeleton />
          ) : (
            <div aria-busy={isStale || undefined} className={isStale ? "opacity-60" : undefined}>
              {data.notes.isTruncated && <Truncated />}
              <OutcomeCard report={report} series={data.series} withOk={ok === "1"} />
              <ErrorLists {...{ report, data, isStale, heat }} />
            </div>
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

import { useQuery } from "@tanstack/react-query";
import { utcMonday } from "d3-time";
import { mySeriesQuery } from "../../api/my.ts";
import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import type { Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { toIso } from "../../search/window.ts";
import { MEASURE_LABELS } from "../../reports/measure.ts";
import { DayCalendar } from "./day-calendar.tsx";

/** As many columns, the present week being the last. */
const WEEKS = 53;

/** Each day of the last year, whatever window the page looks at; a day narrows the window to itself. */
export function CalendarCard({ report, measure }: { readonly report: Report; readonly measure: Measure }) {
  const since = toIso(utcMonday.offset(utcMonday.floor(new Date(report.now - 1)), 1 - WEEKS).getTime());
  const days = useQuery(mySeriesQuery({ since, bucket: "day" }));
  return (
    <Card
      className="mb-4"
      title="The last 53 weeks"
      lead={`${MEASURE_LABELS[measure]} per UTC day, independent of the window. Select a day to show it.`}
    >
      {days.error !== null && <ErrorNotice failure={days.error} onRetry={() => void days.refetch()} />}
      {(days.data !== undefined || days.error === null) && (
        <div className="min-h-48">
          {days.data === undefined ? (
            <CalendarSkeleton />
          ) : (
            <DayCalendar {...{ report, measure, since }} days={days.data.series} />
          )}
        </div>
      )}
    </Card>
  );
}

function CalendarSkeleton() {
  return (
    <div aria-busy>
      <Skeleton className="h-48 w-full" />
    </div>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { utcMonday } from "d3-time";
import { useMemo } from "react";
import { myLimitsQuery } from "../api/limits.ts";
import { mySeriesQuery } from "../api/reports.ts";
import type { UsageBucket } from "../api/reports.ts";
import { useMe } from "../api/session.ts";
import { Calendar } from "../charts/calendar.tsx";
import { Button, buttonClass } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { WindowPicker } from "../filters/window-picker.tsx";
import { MyLimits } from "../limits/held-limits.tsx";
import { AnswerView } from "../reports/answer.tsx";
import { MEASURE_FORMATS, MEASURE_LABELS, toMeasured } from "../reports/figures.ts";
import { UsageReport } from "../reports/usage-report.tsx";
import type { Measure } from "../search/breakdown.ts";
import { readUsageSearch } from "../search/pages.ts";
import { RANGE_LABELS } from "../search/ranges.ts";
import { type Report, useReport } from "../search/report.ts";
import { toChosenSearch, toIso, toWindowSearch } from "../search/window.ts";

/** What one used oneself. Filters of other pages say nothing here: the reports about oneself have none. */
export function UsagePage() {
  const report = useReport("30d");
  const { name } = useMe();
  const { show = "cost" } = readUsageSearch(useSearch({ strict: false }));
  const { range } = report.window;
  const limits = useQuery(myLimitsQuery());
  // A server that does not give the first answer keeps nothing else back.
  const isAsking = limits.isPending && limits.failureCount === 0;
  return (
    <>
      <PageHead
        title="My usage"
        actions={
          <Link
            to="/requests"
            search={{ principal: name, ...toWindowSearch(report.window) }}
            className={buttonClass({})}
          >
            My requests
          </Link>
        }
      />
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <WindowPicker report={report} />
        <Button
          aria-pressed={range === "this-month"}
          onClick={() =>
            report.change({ range: "this-month", since: undefined, until: undefined, bucket: undefined })
          }
        >
          {RANGE_LABELS["this-month"]}
        </Button>
      </div>
      <UsageReport scope="own" report={report} isHeldBack={isAsking}>
        {limits.data !== undefined && limits.data.length > 0 && <MyLimits limits={limits.data} />}
        {/* Not seen until it is known whether there are limits, which would push it down. */}
        <div className={isAsking ? "invisible" : undefined}>
          <CalendarCard report={report} measure={show} />
        </div>
      </UsageReport>
    </>
  );
}

interface CalendarCardProps {
  readonly report: Report;
  readonly measure: Measure;
}

/** As many columns, the present week being the last. */
const WEEKS = 53;

/** Each day of the last year, whatever window the page looks at; a day narrows the window to itself. */
function CalendarCard({ report, measure }: CalendarCardProps) {
  const since = toIso(utcMonday.offset(utcMonday.floor(new Date(report.now - 1)), 1 - WEEKS).getTime());
  const { data, error, refetch } = useQuery(mySeriesQuery({ since, bucket: "day" }));
  return (
    <Card
      className="mb-4"
      title="The last 53 weeks"
      lead={`${MEASURE_LABELS[measure]} per UTC day, independent of the window. Select a day to show it.`}
    >
      <AnswerView
        answer={{ data: data?.series, failure: error, retry: refetch }}
        className="min-h-48"
        skeleton={
          <div aria-busy>
            <Skeleton className="h-48 w-full" />
          </div>
        }
      >
        {(days) => <DayCalendar {...{ report, measure, since, days }} />}
      </AnswerView>
    </Card>
  );
}

interface DayCalendarProps extends CalendarCardProps {
  readonly since: string;
  readonly days: readonly UsageBucket[];
}

function DayCalendar({ report, measure, since, days }: DayCalendarProps) {
  const cells = useMemo(
    () => days.map((day) => ({ start: day.start, value: toMeasured(day, measure), requests: day.requests })),
    [days, measure],
  );
  return (
    <Calendar
      days={cells}
      since={since}
      until={toIso(report.now)}
      label={`Your ${MEASURE_LABELS[measure].toLowerCase()} per day`}
      format={MEASURE_FORMATS[measure]}
      onDay={(start, end) => report.change(toChosenSearch(start, end))}
    />
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { myLimitsQuery } from "../api/limits.ts";
import { mySeriesQuery } from "../api/my.ts";
import { useMe } from "../api/session.ts";
import { TOP_SERIES_MAX } from "../charts/series.ts";
import { Button, buttonClass } from "../components/button.tsx";
import { Outdated } from "../components/outdated.tsx";
import { PageHead } from "../components/page-head.tsx";
import { WindowPicker } from "../filters/window-picker.tsx";
import { readUsageSearch } from "../search/pages.ts";
import { RANGE_LABELS } from "../search/ranges.ts";
import { toRefresh, useReport } from "../search/report.ts";
import { toWindowSearch } from "../search/window.ts";
import { CountedWindow } from "../reports/counted-window.tsx";
import { Tiles } from "../reports/tiles.tsx";
import { toSeriesTotals } from "../reports/totals.ts";
import { useCompared } from "../reports/use-compared.ts";
import { useOutdated } from "../reports/use-outdated.ts";
import { CalendarCard } from "./usage/calendar-card.tsx";
import { LimitsCard } from "./usage/limits-card.tsx";
import { ModelsCard } from "./usage/models-card.tsx";
import { SeriesCard } from "./usage/series-card.tsx";

/** What one used oneself. Filters of other pages say nothing here: the reports about oneself have none. */
export function UsagePage() {
  const report = useReport("30d");
  const { role, name } = useMe();
  const { show = "cost" } = readUsageSearch(useSearch({ strict: false }));
  const { window } = report;
  const { since, until, bucket, previous } = window;
  const series = useQuery({
    ...mySeriesQuery({ since, until, bucket, group_by: "model", order: show, top: TOP_SERIES_MAX }),
    ...toRefresh(window),
  });
  const before = useQuery({
    ...mySeriesQuery({ ...(previous ?? { since, until }), bucket }),
    enabled: previous !== null,
  });
  const limits = useQuery(myLimitsQuery());
  const totals = useCompared(series, previous === null ? null : before, toSeriesTotals);
  const isOutdated = useOutdated(report.question, !totals.isComplete);
  return (
    <>
      <PageHead
        title="My usage"
        actions={
          <Link
            to="/requests"
            search={{ principal: name, ...toWindowSearch(window) }}
            className={buttonClass({})}
          >
            My requests
          </Link>
        }
      />
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <WindowPicker report={report} />
        <Button
          aria-pressed={window.range === "this-month"}
          onClick={() =>
            report.change({ range: "this-month", since: undefined, until: undefined, bucket: undefined })
          }
        >
          {RANGE_LABELS["this-month"]}
        </Button>
      </div>
      <CountedWindow notes={series.data?.notes} />
      <SeriesCard report={report} asked={series} measure={show} />
      {(series.error === null || (totals.now !== null && !isOutdated)) && (
        <Outdated when={isOutdated}>
          <Tiles totals={totals} isCompared={previous !== null} canPrice={role === "admin"} />
        </Outdated>
      )}
      {limits.data !== undefined && limits.data.length > 0 && <LimitsCard limits={limits.data} />}
      {/* Not seen until it is known whether there are limits, which would push it down. */}
      <div className={isAsking(limits) ? "invisible" : undefined}>
        <CalendarCard report={report} measure={show} />
        <ModelsCard report={report} />
      </div>
    </>
  );
}

/** The first answer is on its way; a server that does not give it keeps nothing else back. */
function isAsking({
  isPending,
  failureCount,
}: {
  readonly isPending: boolean;
  readonly failureCount: number;
}) {
  return isPending && failureCount === 0;
}

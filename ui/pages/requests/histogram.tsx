import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { teamSeriesQuery } from "../../api/reports.ts";
import { StackedBars } from "../../charts/stacked-bars.tsx";
import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Outdated } from "../../components/outdated.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import type { Report } from "../../search/report.ts";
import { toChosenSearch } from "../../search/window.ts";
import { formatCount } from "../../text/format.ts";
import { useOutdated } from "../../reports/use-outdated.ts";
import { CountedWindow } from "../../reports/counted-window.tsx";
import { toOutcomeBars } from "./outcome-bars.ts";

const REFRESH_MS = 10_000;
const HEIGHT_PX = 132;
/** With the legend above the plot. */
const PLACE_CLASS = "h-41";

/** The requests of the window by how they ended; a bar, or a brush over several, becomes the window. */
export function Histogram({ report, isLive }: { readonly report: Report; readonly isLive: boolean }) {
  const { query, window, filters, change } = report;
  const { bucket } = window;
  const series = useQuery({
    ...teamSeriesQuery({ ...query, bucket }),
    refetchInterval: isLive ? REFRESH_MS : false,
  });
  const isOutdated = useOutdated(report.question, series.isPlaceholderData);
  const bars = useMemo(
    () => toOutcomeBars(series.data?.series ?? [], filters.outcome),
    [series.data, filters.outcome],
  );
  /** An end keeps nothing new from coming: the tail ends with it. */
  const narrow = (since: string, until: string) =>
    change({ ...toChosenSearch(since, until), live: undefined });
  return (
    <Card className="mb-4">
      {series.error !== null && series.data === undefined ? (
        <ErrorNotice failure={series.error} onRetry={() => void series.refetch()} />
      ) : series.data === undefined ? (
        <div aria-busy>
          <Skeleton className={PLACE_CLASS} />
        </div>
      ) : (
        <Outdated when={isOutdated}>
          <StackedBars
            buckets={bars.buckets}
            series={bars.series}
            bucket={bucket}
            label={`Requests by ${bucket} and outcome`}
            format={formatCount}
            height={HEIGHT_PX}
            onBucket={narrow}
            onRange={narrow}
            empty="No requests in this window."
          />
        </Outdated>
      )}
      <CountedWindow notes={series.data?.notes} className="mt-2" />
    </Card>
  );
}

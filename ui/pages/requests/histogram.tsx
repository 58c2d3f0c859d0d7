import { useMemo } from "react";
import { StackedBars } from "../../charts/stacked-bars.tsx";
import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Outdated } from "../../components/outdated.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import type { Report } from "../../search/report.ts";
import { toChosenSearch } from "../../search/window.ts";
import { formatCount } from "../../text/format.ts";
import { CountedWindow } from "../../reports/counted-window.tsx";
import { toOutcomeBars } from "./outcome-bars.ts";
import type { Log } from "./use-log.ts";

const HEIGHT_PX = 132;
/** With the legend above the plot. */
const PLACE_CLASS = "h-41";

/** The requests of the window by how they ended; a bar, or a brush over several, becomes the window. */
export function Histogram({ report, log }: { readonly report: Report; readonly log: Log }) {
  const { window, filters, change } = report;
  const { bucket } = window;
  const { bars: counted, barsFailure, isOutdated, notes, retry } = log;
  const bars = useMemo(
    () => (counted === null ? null : toOutcomeBars(counted, filters.outcome)),
    [counted, filters.outcome],
  );
  if (bars === null && log.failure !== null) return null;
  return (
    <Card className="mb-4">
      {barsFailure !== null ? (
        <ErrorNotice failure={barsFailure} onRetry={retry} />
      ) : bars === null ? (
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
            onWindow={(since, until) => change(toChosenSearch(since, until))}
            empty="No requests in this window."
          />
        </Outdated>
      )}
      <CountedWindow notes={notes} className="mt-2" />
    </Card>
  );
}

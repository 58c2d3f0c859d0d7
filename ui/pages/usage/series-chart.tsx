import { useMemo } from "react";
import type { UsageSeries } from "../../api/reports.ts";
import { StackedBars } from "../../charts/stacked-bars.tsx";
import type { Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { toChosenSearch } from "../../search/window.ts";
import { MEASURE_FORMATS, MEASURE_LABELS, toMeasured } from "../../reports/measure.ts";

export interface SeriesChartProps {
  readonly report: Report;
  readonly answer: UsageSeries;
  readonly measure: Measure;
}

export function SeriesChart({ report, answer, measure }: SeriesChartProps) {
  const { bucket, series: usage } = answer;
  const buckets = useMemo(
    () => usage.map((one) => ({ start: one.start, values: [toMeasured(one, measure)] })),
    [usage, measure],
  );
  const series = useMemo(() => [{ id: measure, label: MEASURE_LABELS[measure] }], [measure]);
  const narrow = (since: string, until: string) => report.change(toChosenSearch(since, until));
  const hasRequests = usage.some(({ requests }) => requests > 0);
  return (
    <StackedBars
      label={`Your ${MEASURE_LABELS[measure].toLowerCase()} per ${bucket}`}
      {...{ buckets, series, bucket }}
      format={MEASURE_FORMATS[measure]}
      onBucket={narrow}
      onRange={narrow}
      {...(measure === "cost" && { unpriced: (index: number) => usage[index]?.unpriced_requests ?? 0 })}
      empty={
        hasRequests ? "Nothing of this is known for your requests." : "You made no requests in this window."
      }
    />
  );
}

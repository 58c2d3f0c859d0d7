import { useMemo } from "react";
import type { UsageSeries } from "../../api/reports.ts";
import { StackedBars } from "../../charts/stacked-bars.tsx";
import type { Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { toChosenSearch } from "../../search/window.ts";
import { MEASURE_FORMATS, MEASURE_LABELS } from "../../reports/measure.ts";
import { toStack } from "../../reports/stack.ts";

export interface SeriesChartProps {
  readonly report: Report;
  readonly answer: UsageSeries;
  readonly measure: Measure;
}

const BY_MODEL = { by: "model", tagKey: null } as const;

/** What one used over time, by model. */
export function SeriesChart({ report, answer, measure }: SeriesChartProps) {
  const { series, buckets, bucket, totals } = useMemo(
    () => toStack({ report: answer, cut: BY_MODEL, measure, filters: {} }),
    [answer, measure],
  );
  const hasRequests = totals.some(({ requests }) => requests > 0);
  return (
    <StackedBars
      label={`Your ${MEASURE_LABELS[measure].toLowerCase()} per ${bucket}`}
      {...{ buckets, series, bucket }}
      format={MEASURE_FORMATS[measure]}
      onWindow={(since, until) => report.change(toChosenSearch(since, until))}
      empty={hasRequests ? "No data for your requests" : "You made no requests in this window."}
    />
  );
}

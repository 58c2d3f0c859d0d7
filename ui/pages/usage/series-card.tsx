import type { UsageSeries } from "../../api/reports.ts";
import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Outdated } from "../../components/outdated.tsx";
import { Segmented } from "../../components/segmented.tsx";
import type { Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { ChartSkeleton } from "../../components/skeleton.tsx";
import { useOutdated } from "../../reports/use-outdated.ts";
import { MEASURE_LABELS, MEASURE_OPTIONS } from "../../reports/measure.ts";
import { SeriesChart } from "./series-chart.tsx";

export interface SeriesCardProps {
  readonly report: Report;
  readonly measure: Measure;
  readonly asked: {
    readonly data: UsageSeries | undefined;
    readonly error: Error | null;
    readonly isPlaceholderData: boolean;
    readonly refetch: () => unknown;
  };
}

/** One's own usage over time; what it counts, the calendar counts too. */
export function SeriesCard({ report, asked, measure }: SeriesCardProps) {
  const { data, error, isPlaceholderData, refetch } = asked;
  const isOutdated = useOutdated(report.question, isPlaceholderData);
  return (
    <Card
      className="mb-4"
      title={`${MEASURE_LABELS[measure]} by model`}
      lead={`Per ${report.window.bucket}, in UTC. A bar narrows the window.`}
      actions={
        <Segmented
          label="Measure"
          options={MEASURE_OPTIONS}
          value={measure}
          onValueChange={(show) => report.change({ show: show === "cost" ? undefined : show })}
        />
      }
    >
      {error !== null && <ErrorNotice failure={error} onRetry={() => void refetch()} />}
      {(data !== undefined || error === null) && (
        <Outdated when={isOutdated} className="min-h-[19.75rem]">
          {data === undefined ? <ChartSkeleton /> : <SeriesChart {...{ report, measure }} answer={data} />}
        </Outdated>
      )}
    </Card>
  );
}

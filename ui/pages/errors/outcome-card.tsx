import { useMemo } from "react";
import type { ErrorsReport } from "../../api/reports.ts";
import type { Series } from "../../charts/series.ts";
import { StackedBars } from "../../charts/stacked-bars.tsx";
import { Card } from "../../components/card.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { toggleValue } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { toChosenSearch } from "../../search/window.ts";
import { formatCount } from "../../text/format.ts";
import { toOutcomeWord } from "../../text/outcomes.ts";
import { toDrawnOutcomes } from "./outcomes.ts";

export interface OutcomeCardProps {
  readonly report: Report;
  readonly series: ErrorsReport["series"];
  readonly withOk: boolean;
}

/** How requests ended over time; a bar or a brush becomes the window, an outcome the filter. */
export function OutcomeCard({ report, series, withOk }: OutcomeCardProps) {
  const { filters, window, change } = report;
  const outcomes = useMemo(() => toDrawnOutcomes(filters.outcome, withOk), [filters.outcome, withOk]);
  const bars = useMemo(() => {
    const drawn = outcomes.map((id): Series => ({ id, label: toOutcomeWord(id), kind: "outcome" }));
    const buckets = series.map((one) => ({ start: one.start, values: outcomes.map((id) => one[id]) }));
    return { series: drawn, buckets };
  }, [series, outcomes]);
  return (
    <Card
      className="mb-4"
      title="Outcomes over time"
      lead={`Per ${window.bucket}, in UTC. A bar narrows the window, an outcome adds a filter.`}
      actions={
        <SwitchField
          label="Include successful"
          checked={withOk}
          onCheckedChange={(on) => change({ ok: on ? "1" : undefined })}
        />
      }
    >
      <StackedBars
        {...bars}
        label={`Requests by ${window.bucket} and outcome`}
        bucket={window.bucket}
        format={formatCount}
        height={CHART_HEIGHT_PX}
        onWindow={(since, until) => change(toChosenSearch(since, until))}
        onSeries={(outcome) => change(toggleValue(filters, "outcome", outcome))}
        empty="No such requests in this window"
      />
    </Card>
  );
}

const CHART_HEIGHT_PX = 200;

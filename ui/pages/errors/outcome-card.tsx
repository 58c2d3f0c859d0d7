import { useMemo } from "react";
import type { ErrorsReport } from "../../api/reports.ts";
import { OutcomeHistogram } from "../../charts/outcome-histogram.tsx";
import { Card } from "../../components/card.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { toggleValue } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { toChosenSearch } from "../../search/window.ts";
import { formatCount } from "../../text/format.ts";
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
  const narrow = (since: string, until: string) => change(toChosenSearch(since, until));
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
      <OutcomeHistogram
        label={`Requests by ${window.bucket} and outcome`}
        buckets={series}
        bucket={window.bucket}
        outcomes={outcomes}
        format={formatCount}
        height={CHART_HEIGHT_PX}
        onBucket={narrow}
        onRange={narrow}
        onOutcome={(outcome) => change(toggleValue(filters, "outcome", outcome))}
        empty="No such requests in this window"
      />
    </Card>
  );
}

const CHART_HEIGHT_PX = 200;

import { Card } from "../../components/card.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Outdated } from "../../components/outdated.tsx";
import { Segmented } from "../../components/segmented.tsx";
import { ChartSkeleton, Skeleton } from "../../components/skeleton.tsx";
import { MEASURE_LABELS, MEASURE_OPTIONS } from "../../reports/measure.ts";
import { type Breakdown, BREAKDOWN_LABELS, BREAKDOWNS, type Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import type { StackAnswer } from "./use-stack.ts";
import { Chart } from "./chart.tsx";

const BREAKDOWN_OPTIONS = BREAKDOWNS.map((by) => ({ value: by, label: BREAKDOWN_LABELS[by] }));
export interface ChartCardProps {
  readonly report: Report;
  readonly answer: StackAnswer;
  readonly by: Breakdown;
  readonly tagged: string | undefined;
  readonly measure: Measure;
}

/** The chart with what it counts and what it is cut by. */
export function ChartCard({ report, answer, by, tagged, measure }: ChartCardProps) {
  const { stack, isOutdated, failure, retry, tagKeys } = answer;
  return (
    <Card
      className="mb-4"
      title={`${MEASURE_LABELS[measure]} by ${BREAKDOWN_LABELS[by].toLowerCase()}`}
      lead={`Per ${report.window.bucket}, in UTC. A bar narrows the window, a name adds a filter.`}
      actions={
        <>
          <Segmented
            label="Measure"
            options={MEASURE_OPTIONS}
            value={measure}
            onValueChange={(show) => report.change({ show: show === "cost" ? undefined : show })}
          />
          <Segmented
            label="What it is cut by"
            options={BREAKDOWN_OPTIONS}
            value={by}
            onValueChange={(next) =>
              report.change({ by: next === "model" ? undefined : next, tagged: undefined })
            }
          />
        </>
      }
    >
      {by === "tag" && (stack === null || tagKeys.length > 0) && (
        <TagKeys
          keys={tagKeys}
          chosen={tagged ?? tagKeys[0]}
          onChoose={(key) => report.change({ tagged: key })}
        />
      )}
      {failure !== null && <ErrorNotice failure={failure} onRetry={retry} />}
      {(stack !== null || failure === null) && (
        <Outdated when={isOutdated} className="min-h-[19.75rem]">
          {stack === null ? <ChartSkeleton /> : <Chart stack={stack} report={report} />}
        </Outdated>
      )}
    </Card>
  );
}

/** A request has one value of each tag, but several tags: only one of them at a time cuts the usage into parts. */
const KEYS_SHOWN_MAX = 12;

interface TagKeysProps {
  readonly keys: readonly string[];
  readonly chosen: string | undefined;
  readonly onChoose: (key: string) => void;
}

/** Which tag's values are told apart; its place is kept until the tags are known. */
function TagKeys({ keys, chosen, onChoose }: TagKeysProps) {
  const shown = keys.slice(0, KEYS_SHOWN_MAX);
  const isApart = chosen !== undefined && !shown.includes(chosen);
  const options = [...shown, ...(isApart ? [chosen] : [])].map((key) => ({ value: key, label: key }));
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2 text-xs text-ink-soft">
      <span>Values of the tag</span>
      {options.length === 0 ? (
        <Skeleton className="h-8 w-40" />
      ) : (
        <Segmented label="Tag" options={options} value={chosen ?? ""} onValueChange={onChoose} />
      )}
    </div>
  );
}

import type { ReactNode } from "react";
import { StackedBars } from "../../charts/stacked-bars.tsx";
import { Button } from "../../components/button.tsx";
import { BREAKDOWN_LABELS } from "../../search/breakdown.ts";
import { countFilters, NO_FILTERS } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { ALL_TIME, toChosenSearch } from "../../search/window.ts";
import { MEASURE_FORMATS, MEASURE_LABELS } from "../../reports/measure.ts";
import { toGroupSearch } from "../../reports/groups.ts";
import type { Stack } from "../../reports/stack.ts";

export interface ChartProps {
  readonly stack: Stack;
  readonly report: Report;
}

/** The usage over time by group: a bar narrows the window, a series adds its filter. */
export function Chart({ stack, report }: ChartProps) {
  const { series, buckets, bucket, measure, cut, groups } = stack;
  return (
    <StackedBars
      label={`${MEASURE_LABELS[measure]} by ${BREAKDOWN_LABELS[cut.by].toLowerCase()}, per ${bucket}`}
      {...{ series, buckets, bucket }}
      format={MEASURE_FORMATS[measure]}
      onWindow={(since, until) => report.change(toChosenSearch(since, until))}
      onSeries={(id) => {
        const group = groups.find((one) => one.id === id);
        const search = group === undefined ? null : toGroupSearch(group, cut);
        if (search !== null) report.change(search);
      }}
      empty={<Nothing stack={stack} report={report} />}
    />
  );
}

/** Why there is nothing to see, and what shows something. */
function Nothing({ stack, report }: ChartProps): ReactNode {
  const hasRequests = stack.totals.some(({ requests }) => requests > 0);
  if (hasRequests) {
    return stack.measure === "cost"
      ? "None of the requests in this window has a price."
      : "No tokens were reported in this window.";
  }
  return (
    <div className="flex flex-col items-center gap-2">
      <p>No requests in this window{countFilters(report.filters) > 0 && " match the filters"}.</p>
      <div className="flex flex-wrap justify-center gap-2">
        {countFilters(report.filters) > 0 && (
          <Button size="sm" onClick={() => report.change(NO_FILTERS)}>
            Show without filters
          </Button>
        )}
        {report.window.range !== "all" && (
          <Button size="sm" onClick={() => report.change(ALL_TIME)}>
            Show all time
          </Button>
        )}
      </div>
    </div>
  );
}

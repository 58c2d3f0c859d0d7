import { useMemo } from "react";
import type { UsageBucket } from "../../api/reports.ts";
import type { Bar, Series } from "../../charts/series.ts";
import { StackedBars } from "../../charts/stacked-bars.tsx";
import { Card } from "../../components/card.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { AnswerView, CountedWindow } from "../../reports/answer.tsx";
import type { OutcomeFilter } from "../../search/filters.ts";
import type { Report } from "../../search/report.ts";
import { toChosenSearch } from "../../search/window.ts";
import { formatCount } from "../../text/format.ts";
import { toOutcomeWord } from "../../text/outcomes.ts";
import type { Log } from "./log.ts";

const HEIGHT_PX = 132;
/** With the legend above the plot. */
const PLACE_CLASS = "h-41";

/** The requests of the window by how they ended; a bar, or a brush over several, becomes the window. */
export function Histogram({ report, log }: { readonly report: Report; readonly log: Log }) {
  const { window, filters, change } = report;
  const { bucket } = window;
  const { bars: counted, barsFailure: failure, isOutdated, notes, retry } = log;
  const bars = useMemo(
    () => (counted === null ? null : toOutcomeBars(counted, filters.outcome)),
    [counted, filters.outcome],
  );
  if (bars === null && log.failure !== null) return null;
  return (
    <Card className="mb-4">
      <AnswerView
        answer={{ data: failure === null ? bars : null, failure, isOutdated, retry }}
        skeleton={
          <div aria-busy>
            <Skeleton className={PLACE_CLASS} />
          </div>
        }
      >
        {({ buckets, series }) => (
          <StackedBars
            {...{ buckets, series, bucket }}
            label={`Requests by ${bucket} and outcome`}
            format={formatCount}
            height={HEIGHT_PX}
            onWindow={(since, until) => change(toChosenSearch(since, until))}
            empty="No requests in this window."
          />
        )}
      </AnswerView>
      <CountedWindow notes={notes} className="mt-2" />
    </Card>
  );
}

export interface OutcomeBars {
  readonly series: readonly Series[];
  readonly buckets: readonly Bar[];
}

type Figure = "ok" | "cancelled" | "failed";

const FIGURES: readonly Figure[] = ["ok", "cancelled", "failed"];

/**
 * Requests over time by how they ended, from the cheap series: it counts every failure as one, and with a filter by outcome
 * that one is the outcome itself. A series is drawn as the outcome that its `id` names.
 */
export function toOutcomeBars(
  buckets: readonly UsageBucket[],
  asked: readonly OutcomeFilter[] | undefined,
): OutcomeBars {
  // A filter of several outcomes leaves the bars as they are without one.
  const outcome = asked?.length === 1 ? asked[0] : undefined;
  const figures = toFigures(outcome);
  return {
    series: figures.map((figure) => ({ ...toSeries(figure, outcome), kind: "outcome" })),
    buckets: buckets.map((bucket) => ({
      start: bucket.start,
      values: figures.map((figure) => bucket[figure]),
    })),
  };
}

function toFigures(outcome: OutcomeFilter | undefined): readonly Figure[] {
  if (outcome === undefined) return FIGURES;
  if (outcome === "ok" || outcome === "cancelled") return [outcome];
  return outcome === "failed" ? ["cancelled", "failed"] : ["failed"];
}

function toSeries(figure: Figure, outcome: OutcomeFilter | undefined): Pick<Series, "id" | "label"> {
  if (figure !== "failed") return { id: figure, label: toOutcomeWord(figure) };
  if (outcome === "unreachable" || outcome === "upstream_error") {
    return { id: outcome, label: toOutcomeWord(outcome) };
  }
  return { id: "upstream_error", label: "failed" };
}

import type { UsageBucket } from "../../api/reports.ts";
import type { Bar, Series } from "../../charts/series.ts";
import type { OutcomeFilter } from "../../search/filters.ts";
import { toOutcomeWord } from "../../text/outcomes.ts";

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

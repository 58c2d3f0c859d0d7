import { UNIT_COLUMNS } from "#kernel/units.ts";
import type { ReportSubject } from "#stats/grouping.ts";
import type { EncodedReport, StatsStore, SummaryGrouping } from "#stats/store.ts";
import { encodeSummary, type SummaryPart } from "#stats/summary.ts";
import { joinCost } from "#storage/cells/sums.ts";
import type { Script } from "#storage/sql/script.ts";
import type { Fold, FoldSum } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { groupLabelSets } from "./label-groups.ts";
import { splitLeastUsed, type SubjectField, toSubjectLabels, toSubjects } from "./report-subjects.ts";
import { resolveFilter, toBilled } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";
import { SERIES_MEASURES } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";

type SummaryQuery = Parameters<StatsStore["readSummary"]>[0];

const FIELDS_OF: { readonly [grouping in SummaryGrouping]: readonly SubjectField[] } = {
  own: ["relay", "model", "endpoint"],
  admin: ["principal", "relay", "model", "endpoint"],
  team: ["principal", "provider", "model", "endpoint", "client", "tags"],
};
/** Failures are no usage; what a caller broke off is (decisions, "Reports"). */
const COUNTED = ["ok", "cancelled"];
const CANCELLED = COUNTED.indexOf("cancelled");

/**
 * The summary of `StatsStore.readSummary`, grouped and spelled by the report. When more than `sumsMax` sums would be in memory,
 * the least used stand together as `(other)`, and the report is `truncated`.
 */
export function* readSummary(query: SummaryQuery, sumsMax = SUMS_MAX): Script<EncodedReport> {
  const { window } = query;
  const asked = toBilled(yield* resolveFilter(query));
  const filter = { ...asked, results: asked.results.filter(({ outcome }) => COUNTED.includes(outcome)) };
  const fields = FIELDS_OF[query.grouping];
  const groups = yield* groupLabelSets(filter, toSubjectLabels(fields));
  const cut = yield* cutFiltered(window, { filter, groups });
  const subjects = toSubjects(groups, fields);
  const whole = yield* foldBy({ cut, filter, groups }, SERIES_MEASURES, toClass);
  if (whole.size <= sumsMax) {
    const parts = toSummaryParts(whole, subjects);
    return { ...encodeSummary(parts, query), snapped: cut.snapped };
  }
  const { keptOf, restOf, subjects: coarse } = splitLeastUsed(whole, subjects, sumsMax);
  const parts = [
    ...toSummaryParts(whole.regroup({ groupOf: keptOf }), subjects),
    ...toSummaryParts(whole.regroup({ groupOf: restOf, groupCount: coarse.length }), coarse),
  ];
  return { ...encodeSummary(parts, query), truncated: true, snapped: cut.snapped };
}

function toClass({ outcome }: { readonly outcome: string }): number {
  return COUNTED.indexOf(outcome);
}

function toSummaryParts(fold: Fold, subjects: readonly ReportSubject[]): readonly SummaryPart[] {
  return [...fold.sums()].flatMap((sum) => {
    const subject = subjects[sum.group];
    return subject === undefined ? [] : [{ subject, ...toFigures(sum) }];
  });
}

function toFigures(sum: FoldSum): Omit<SummaryPart, "subject"> {
  return {
    requests: sum.requests,
    cancelled: sum.ending === CANCELLED ? sum.requests : 0,
    pending: sum.pending_requests,
    costPico: sum.priced_requests === 0 ? null : joinCost(sum.cost_hi, sum.cost_lo),
    costReportedPico:
      sum.cost_reported_requests === 0 ? null : joinCost(sum.cost_reported_hi, sum.cost_reported_lo),
    totals: UNIT_COLUMNS.map((column) => sum.units[column]),
  };
}

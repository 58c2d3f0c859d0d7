import { encodeErrors, type ErrorsPart } from "#stats/errors.ts";
import type { Window } from "#stats/filter.ts";
import { OTHER, type ReportSubject } from "#stats/grouping.ts";
import type { EncodedReport, ReportNotes, StatsStore } from "#stats/store.ts";
import { BANDS } from "#storage/cells/measures.ts";
import type { Script } from "#storage/sql/script.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy, type FoldedWindow } from "./folded-window.ts";
import { groupLabelSets, NOT_CHOSEN } from "./label-groups.ts";
import {
  putTogether,
  splitLeastUsed,
  type SubjectField,
  toSubjectLabels,
  toSubjects,
} from "./report-subjects.ts";
import { resolveFilter, type Result } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";
import { readSeriesOf, refuseTooManyBuckets, SUMS_MAX } from "./series.ts";
import { cutWindow, readEdges, TO_DAYS } from "./window-cut.ts";

type ErrorsQuery = Parameters<StatsStore["readErrors"]>[0];

const FIELDS: readonly SubjectField[] = ["provider", "model", "endpoint", "client", "tags"];

/**
 * The series and the breakdown of `StatsStore.readErrors`, of one and the same window: where retention makes it snap, both
 * count whole days, or whole hours from the first one on of which the series can tell. When more than `sumsMax` sums would
 * be in memory, the rarest stand together as `(other)`, and the report is `truncated`. Throws `range_too_large` where the series
 * does.
 */
export function* readErrors(query: ErrorsQuery, sumsMax = SUMS_MAX): Script<EncodedReport> {
  const { context } = query;
  const filter = yield* resolveFilter(query);
  // The breakdown may snap to whole days; a count row by row has the window of its series.
  const whole = filter.rows === null ? cutWindow(yield* readEdges(), query.window, TO_DAYS).snapped : null;
  const window = within(query.window, whole);
  const asked = { ...query, window, nowUs: context.nowUs };
  refuseTooManyBuckets(asked);
  const series = yield* readSeriesOf(asked, filter);
  const groups = yield* groupLabelSets(filter, toSubjectLabels(FIELDS));
  const cut = yield* cutFiltered(series.snapped ?? window, { filter, groups });
  const { parts, isFolded } = yield* readParts({ cut, filter, groups }, sumsMax);
  const report = encodeErrors(series, parts, context);
  return {
    chunks: report.chunks,
    truncated: report.truncated || isFolded || series.truncated,
    snapped: series.snapped ?? whole,
  };
}

/** An end that was not given stays open: the series then begins with what matches, and ends with the present. */
function within(window: Window, whole: ReportNotes["snapped"]): Window {
  if (whole === null) return window;
  return {
    sinceUs: window.sinceUs === null ? null : whole.sinceUs,
    untilUs: window.untilUs === null ? null : whole.untilUs,
  };
}

const ERROR_MEASURES = ["requests", "duration_us", "last_seen_us", ...BANDS];

/** Counts how often each subject's requests ended in each way. */
function* readParts(
  window: FoldedWindow,
  sumsMax: number,
): Script<{ readonly parts: readonly ErrorsPart[]; readonly isFolded: boolean }> {
  const { filter, groups } = window;
  const subjects = toSubjects(groups, FIELDS);
  const results = new Map(filter.results.map((result) => [result.id, result]));
  const toOwn = (sum: FoldSum) => toErrorsPart(subjects[sum.group], results.get(sum.ending), sum);
  const whole = yield* foldBy(window, ERROR_MEASURES, ({ id }) => id);
  if (whole.size <= sumsMax) return { parts: [...whole.sums()].map(toOwn), isFolded: false };
  const { keptOf, restOf, subjects: ofRest } = splitLeastUsed(whole, subjects, sumsMax);
  const coarse = putTogether(filter.results.map(dropKind), (result) => JSON.stringify({ ...result, id: 0 }));
  const numberOf = new Map(filter.results.map(({ id }, index) => [id, coarse.numberOf[index] ?? NOT_CHOSEN]));
  const rest = whole.regroup({
    groupOf: restOf,
    groupCount: ofRest.length,
    endingOf: Int32Array.from({ length: filter.lastResult + 1 }, (_, id) => numberOf.get(id) ?? NOT_CHOSEN),
    endingCount: coarse.items.length,
  });
  const toRest = (sum: FoldSum) => toErrorsPart(ofRest[sum.group], coarse.items[sum.ending], sum);
  const kept = whole.regroup({ groupOf: keptOf });
  return { parts: [...[...kept.sums()].map(toOwn), ...[...rest.sums()].map(toRest)], isFolded: true };
}

/** An upstream's name for its error is as free as a tag. */
function dropKind(result: Result): Result {
  return { ...result, error_kind: result.error_kind === null ? null : OTHER };
}

function toErrorsPart(
  subject: ReportSubject | undefined,
  result: Result | undefined,
  sum: FoldSum,
): ErrorsPart {
  if (subject === undefined || result === undefined) throw new Error("a sum has no subject or no result");
  return {
    subject,
    outcome: result.outcome,
    errorKind: result.error_kind,
    statusCode: result.status_code,
    failure: result.failure,
    requests: sum.requests,
    durationUs: sum.duration_us,
    lastSeenUs: sum.last_seen_us,
    bands: sum.bands,
  };
}

import { UNBILLED_ENDPOINTS } from "#catalog/endpoint.ts";
import type { ReportSubject } from "#stats/grouping.ts";
import { dialectOf, gather, type Script } from "#storage/sql/script.ts";
import type { UnitTotals } from "#kernel/units.ts";
import { UNIT_COLUMNS } from "#kernel/units.ts";
import type { EncodedReport, StatsStore, SummaryGrouping } from "#stats/store.ts";
import type { SummaryPart } from "#stats/summary.ts";
import { encodeSummary } from "#stats/summary.ts";
import { CellSums, NOT_CHOSEN } from "./cell-sums.ts";
import { foldCombinations } from "./combination-fold.ts";
import type { MeasureSource } from "./measure-sources.ts";
import { toMeasureSources } from "./measure-sources.ts";
import { findPendingEvents, type PendingEvent } from "./pending-events.ts";
import { createSumReader, orFolded, SUMS_MAX } from "./report-sums.ts";
import { findSubjects, getSubject } from "./report-subjects.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { resolveFilter } from "./request-filter.ts";
import { CELL_MEASURES } from "#storage/cells/outcome-cells.ts";
import { type CellReading, readSealedCells } from "./sealed-cells.ts";
import { joinCost, toCostSums } from "#storage/cells/sums.ts";
import { addSources } from "./streamed-cells.ts";
import type { WindowCut } from "./window-cut.ts";
import { cutFiltered } from "./row-window.ts";

type SummaryQuery = Parameters<StatsStore["readSummary"]>[0];

/**
 * The summary of `StatsStore.readSummary`, grouped and spelled by the report. The team's is made of totals by combination; the
 * others are grouped by the database, since tags, of which any caller may send new ones, are no part of them. When more than
 * `sumsMax` sums would be in memory, the least used stand together as `(other)`, and the report is `truncated`.
 */
export function* readSummary(query: SummaryQuery, sumsMax = SUMS_MAX): Script<EncodedReport> {
  const filter = yield* resolveFilter(query);
  const cut = yield* cutFiltered({ window: query.window, into: "months" }, filter);
  const { window } = query;
  const pending = yield* findPendingEvents(filter, { window, snapped: cut.snapped, isGrouped: false });
  const counted = pending.filter((event) => event.counted > 0);
  const whole = function* parts() {
    const read = [
      ...(yield* readParts({ query, filter, cut }, sumsMax)),
      ...(yield* toPendingParts(counted)),
    ];
    return encodeSummary(read, query);
  };
  const folded = function* foldedParts() {
    const read = yield* readFoldedParts({ filter, cut, pending: counted }, sumsMax);
    return { ...encodeSummary(read, query), truncated: true };
  };
  return { ...(yield* orFolded(whole, folded)), snapped: cut.snapped };
}

interface Chosen {
  readonly filter: ResolvedFilter;
  readonly cut: WindowCut;
}

function* readParts(
  { query, filter, cut }: Chosen & { readonly query: SummaryQuery },
  sumsMax: number,
): Script<readonly SummaryPart[]> {
  const sealed = yield* readSealedCells({ cut, filter }, toCellReading(filter, sumsMax));
  const sources = yield* toMeasureSources(sealed?.rest ?? cut, filter);
  const sums = sealed?.sums ?? [];
  return [
    ...(yield* toParts(sums.map((sum) => ({ ...sum, combination: sum.group_id })))),
    ...(query.grouping === "team"
      ? yield* readByCombination(sources, sumsMax - sums.length)
      : yield* readByKey(sources, { grouping: query.grouping, sumsMax })),
  ];
}

/** In parts that may be of one subject. */
function* readFoldedParts(
  { filter, cut, pending }: Chosen & { readonly pending: readonly PendingEvent[] },
  sumsMax: number,
): Script<readonly SummaryPart[]> {
  const fold = yield* foldCombinations(yield* toMeasureSources(cut, filter), sumsMax);
  const groupOf = fold.coarseOf.map((coarse, id) => {
    const kept = fold.keptOf[id] ?? NOT_CHOSEN;
    return kept === NOT_CHOSEN ? coarse : kept;
  });
  const reading = { ...toCellReading(filter, Number.POSITIVE_INFINITY), groupOf };
  const sealed = yield* readSealedCells({ cut, filter }, reading);
  const rest = new CellSums(groupOf, reading.outcomes);
  yield* addSources(rest, yield* toMeasureSources(sealed?.rest ?? cut, filter));
  const sums = [...(sealed?.sums ?? []), ...rest.take()];
  const waiting = pending.map(({ combination }) => groupOf[combination] ?? NOT_CHOSEN);
  const figures = [...sums.map(toFigures), ...waiting.map(() => ONE_PENDING)];
  const subjects = yield* fold.toSubjects([...sums.map(({ group_id: group }) => group), ...waiting]);
  return figures.flatMap((figure, index) => {
    const subject = subjects[index];
    return subject === undefined || !isSummed(subject) ? [] : [{ subject, ...figure }];
  });
}

/** What one pending event adds to the requests that are counted already. */
const ONE_PENDING: Omit<SummaryPart, "subject"> = {
  requests: 0,
  cancelled: 0,
  pending: 1,
  costPico: null,
  totals: UNIT_COLUMNS.map(() => null),
};

function* toPendingParts(pending: readonly PendingEvent[]): Script<readonly SummaryPart[]> {
  if (pending.length === 0) return [];
  const subjects = yield* findSubjects(pending.map(({ combination }) => combination));
  return pending
    .map(({ combination }) => getSubject(subjects, combination))
    .filter(isSummed)
    .map((subject) => Object.assign({ subject }, ONE_PENDING));
}

/** A relay call may name no model, and what only asks or counts uses none. */
function isSummed({ model, endpoint }: Pick<ReportSubject, "model" | "endpoint">): boolean {
  return model !== null && !UNBILLED_ENDPOINTS.has(endpoint);
}

function toCellReading({ outcomes }: ResolvedFilter, combinationsMax: number): CellReading {
  return {
    outcomes: COUNTED.filter((outcome) => outcomes === null || outcomes.includes(outcome)),
    measuresMax: CELL_MEASURES.length,
    combinationsMax,
  };
}

interface Sums extends UnitTotals {
  readonly requests: number;
  readonly cancelled: number;
  readonly priced_requests: number;
  readonly cost_hi: number;
  readonly cost_lo: number;
}

interface CombinationSums extends Sums {
  readonly combination: number;
}

function* readByCombination(
  sources: readonly MeasureSource[],
  sumsMax: number,
): Script<readonly SummaryPart[]> {
  const { read } = createSumReader<CombinationSums>(sumsMax);
  const sums = yield* gather(sources, (source) => read(toCombinationSums(source.sql), source.bindings));
  return yield* toParts(sums);
}

function* toParts(sums: readonly CombinationSums[]): Script<readonly SummaryPart[]> {
  const subjects = yield* findSubjects(sums.map(({ combination }) => combination));
  const parts: SummaryPart[] = [];
  for (const sum of sums) {
    const subject = getSubject(subjects, sum.combination);
    if (isSummed(subject)) parts.push({ subject, ...toFigures(sum) });
  }
  return parts;
}

interface KeySums extends Sums {
  readonly principal: string;
  readonly model: string;
  readonly endpoint: string;
}

const KEYS = {
  own: { columns: "'' AS principal, c.model, c.endpoint", groups: "c.model, c.endpoint" },
  admin: {
    columns: "c.principal_name AS principal, c.model, c.endpoint",
    groups: "c.principal_name, c.model, c.endpoint",
  },
} as const;

/** By combination first, in the order of the tables: to sort their rows by text would take several times as long. */
function* readByKey(
  sources: readonly MeasureSource[],
  { grouping, sumsMax }: { readonly grouping: Exclude<SummaryGrouping, "team">; readonly sumsMax: number },
): Script<readonly SummaryPart[]> {
  const { columns, groups } = KEYS[grouping];
  const { read } = createSumReader<KeySums>(sumsMax);
  const isLeftOut = (yield* dialectOf()).isAnyOf("c.endpoint", "text");
  const sums = yield* gather(sources, (source) =>
    read(
      `SELECT ${columns}, ${toSums("sum(cancelled)")}
         FROM (${toCombinationSums(source.sql)}) AS s CROSS JOIN combination AS c ON c.id = s.combination
         WHERE c.model IS NOT NULL AND NOT (${isLeftOut}) GROUP BY ${groups}`,
      [...source.bindings, [...UNBILLED_ENDPOINTS]],
    ),
  );
  return sums.map(toKeyPart);
}

/** What it is not grouped by is left empty. */
function toKeyPart({ principal, model, endpoint, ...sums }: KeySums): SummaryPart {
  const subject = { principal, keyId: null, providerId: "", model, endpoint, client: null, tags: "" };
  return { subject, ...toFigures(sums) };
}

/** Failures are no usage; what a caller broke off is (decisions, "Reports"). */
const COUNTED = ["ok", "cancelled"];

function toCombinationSums(source: string): string {
  const cancelled = "SELECT id FROM result WHERE outcome = 'cancelled'";
  return `SELECT combination, ${toSums(`sum(CASE WHEN result IN (${cancelled}) THEN requests ELSE 0 END)`)}
    FROM (${source}) AS one WHERE result IN (SELECT id FROM result WHERE outcome IN (${COUNTED.map((outcome) => `'${outcome}'`).join(", ")})) GROUP BY combination`;
}

function toSums(cancelled: string): string {
  const plain = ["requests", "priced_requests", ...UNIT_COLUMNS];
  return [
    `${cancelled} AS cancelled`,
    ...plain.map((column) => `sum(${column}) AS ${column}`),
    toCostSums((column) => column),
  ].join(", ");
}

function toFigures(sum: Sums): Omit<SummaryPart, "subject"> {
  return {
    requests: sum.requests,
    cancelled: sum.cancelled,
    pending: 0,
    costPico: sum.priced_requests === 0 ? null : joinCost(sum.cost_hi, sum.cost_lo),
    totals: UNIT_COLUMNS.map((column) => sum[column]),
  };
}

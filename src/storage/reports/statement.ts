import { DAY_US } from "#kernel/clock.ts";
import { sha256Hex } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { REPORT_UNITS } from "#kernel/units.ts";
import {
  type Statement,
  STATEMENT_REPRICING_STATES,
  type StatementRepricing,
  type StatementRow,
  type StatsStore,
} from "#stats/store.ts";
import { toDay } from "#storage/cells/calendar.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { all, type Script } from "#storage/sql/script.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { groupLabelSets, type GroupLabel } from "./label-groups.ts";
import { resolveFilter } from "./request-filter.ts";
import { SERIES_MEASURES, toSeriesFigures } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";
import { BY_DAY, cutWindow, readEdges } from "./window-cut.ts";

type MonthQuery = Parameters<StatsStore["readStatement"]>[0];

/** The facts of a line of the hash, in their order there. */
const LABELS: readonly GroupLabel[] = [
  { label: "principal_id" },
  { label: "key_id" },
  { label: "provider_id" },
  { label: "model" },
  { label: "upstream_name" },
  { label: "endpoint" },
  // Tags that a key fixes count as those that a request sent.
  {
    label: "tags",
    toValue: (tags) => JSON.stringify(parseStoredTags(tags ?? "[]").tags.toSorted(compareCodeUnits)),
  },
  { label: "tier" },
  { label: "geo" },
  { label: "principal_name" },
];
const FACTS = LABELS.length - 1;

/**
 * `StatsStore.readStatement`, from cells of days, so that it is the same before and after rows are sealed or removed. Throws
 * `range_too_large` for more than `sumsMax` sums: a tag of its own on every request makes one each.
 */
export function* readStatement(query: MonthQuery, sumsMax = SUMS_MAX): Script<Statement> {
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, LABELS);
  const cut = cutWindow(yield* readEdges(), query.window, BY_DAY);
  const measures = [...SERIES_MEASURES, "unmetered_requests"];
  const fold = yield* foldBy({ cut, filter, groups, toPeriod: toDay, stepUs: DAY_US }, measures);
  if (fold.size > sumsMax)
    throw new ProxyError(
      "range_too_large",
      `The month has ${fold.size} sums of a day, a key, a model and tags, and a statement adds up ${sumsMax} at most.`,
      { param: "month" },
    );
  const sums = [...fold.sums()];
  const labelsOf = ({ group }: FoldSum) => groups.values[group] ?? [];
  const by = (
    name: StatementRow["by"],
    toValues: (labels: readonly (string | null)[]) => readonly string[],
  ) => toRows(name, sums, (sum) => toValues(labelsOf(sum)));
  return {
    hash: toHash(sums, labelsOf),
    total: toFigures(sums),
    rows: [
      ...by("principal", (labels) => [labels[FACTS] ?? ""]),
      ...by("key", (labels) => (labels[1] ? [labels[1]] : [])),
      ...by("tag", (labels) => parseStoredTags(labels[6] ?? "[]").tags),
    ],
    repricings: yield* readRepricings(query),
    truncated: false,
    snapped: cut.snapped,
  };
}

/** More say no more than that costs have changed often. */
const REPRICINGS_MAX = 100;
const STATES = STATEMENT_REPRICING_STATES.map((state) => `'${state}'`).join(", ");

/** By their own filters some of them may have changed nothing of the caller's: the hash tells that. */
function* readRepricings({ window: { sinceUs, untilUs } }: MonthQuery): Script<Statement["repricings"]> {
  return yield* all<StatementRepricing>(
    `SELECT state, changed_us AS "changedAtUs" FROM repricing
     WHERE state IN (${STATES})
       AND coalesce(from_us < ?, true) AND coalesce(until_us > ?, true) AND planned_us > ?
     ORDER BY coalesce(changed_us, planned_us) DESC, number DESC LIMIT ?`,
    [untilUs, sinceUs, sinceUs, REPRICINGS_MAX],
  );
}

function toFigures(sums: readonly FoldSum[]): Statement["total"] {
  const { requests, unpricedRequests, costPico } = toSeriesFigures(sums);
  const unmeteredRequests = sums.reduce((count, sum) => count + sum.unmetered_requests, 0);
  return { requests, unpricedRequests, unmeteredRequests, costPico };
}

/** The largest cost first. */
function toRows(
  by: StatementRow["by"],
  sums: readonly FoldSum[],
  toValues: (sum: FoldSum) => readonly string[],
): readonly StatementRow[] {
  const found = new Map<string, FoldSum[]>();
  for (const sum of sums) {
    for (const value of toValues(sum)) {
      const known = found.get(value);
      if (known === undefined) found.set(value, [sum]);
      else known.push(sum);
    }
  }
  const rows: StatementRow[] = [];
  for (const [value, ofValue] of found) rows.push({ by, value, ...toFigures(ofValue) });
  const toOrder = ({ costPico }: StatementRow) => costPico ?? -1n;
  return rows.toSorted(
    (left, right) =>
      Number(toOrder(right) > toOrder(left)) - Number(toOrder(right) < toOrder(left)) ||
      compareCodeUnits(left.value, right.value),
  );
}

/** SHA-256 over one line for each day and its facts, sorted: neither the order of events nor an engine's ids are in it. */
function toHash(sums: readonly FoldSum[], labelsOf: (sum: FoldSum) => readonly (string | null)[]): string {
  const ofLine = Map.groupBy(sums, (sum) => JSON.stringify([sum.period, ...labelsOf(sum).slice(0, FACTS)]));
  const lines = [...ofLine].map(([key, ofKey]) => {
    const { requests, unpricedRequests, unmeteredRequests, costPico } = toFigures(ofKey);
    const { units } = toSeriesFigures(ofKey);
    const quantities = REPORT_UNITS.map((unit) => units[unit] ?? null);
    const cost = costPico === null ? null : String(costPico);
    return `${key}${JSON.stringify([requests, unpricedRequests, unmeteredRequests, cost, ...quantities])}\n`;
  });
  return sha256Hex(lines.toSorted(compareCodeUnits).join(""));
}

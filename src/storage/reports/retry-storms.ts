import { HOUR_US } from "#kernel/clock.ts";
import { createStormFinder, RETRY_STORM_RULE } from "#stats/retry-storms.ts";
import type { RetryStorms, StatsStore } from "#stats/store.ts";
import { toHour } from "#storage/cells/calendar.ts";
import { joinCost } from "#storage/cells/sums.ts";
import { all, dialectOf, each, type Script } from "#storage/sql/script.ts";
import { toChosenBindings, toEventJoins, toWholeInputMeasure, type Wanted } from "./chosen-events.ts";
import { type GroupLabel, groupLabelSets, type LabelGroups, NOT_CHOSEN } from "./label-groups.ts";
import { resolveFilter, type ResolvedFilter } from "./request-filter.ts";
import { cutToRows } from "./row-window.ts";
import type { RawRange } from "./window-cut.ts";

type RetryStormsQuery = Parameters<StatsStore["readRetryStorms"]>[0];

const SUBJECT: readonly GroupLabel[] = [
  { label: "principal_name" },
  { label: "key_id" },
  { label: "relay_token_id" },
  { label: "model" },
  { label: "client" },
];

/** Requests of the hours that are read, as many as are priced for `readModelUse`. */
const ROWS_MAX = 200_000;
/** Storms that are told apart. */
const STORMS_MAX = 100;

interface AttemptRow {
  readonly id: number;
  readonly combination: number;
  readonly result: number;
  readonly duration_us: number;
  readonly input: number;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
}

/**
 * `StatsStore.readRetryStorms`: only rows tell what came after what. Of a window with more than `rowsMax` requests its newest
 * hours are read, one at least, which `snapped` says.
 */
export function* readRetryStorms(query: RetryStormsQuery, { rowsMax = ROWS_MAX } = {}): Script<RetryStorms> {
  const asked = yield* resolveFilter(query);
  // Who left may have been served: nobody knows.
  const filter = { ...asked, results: asked.results.filter(({ outcome }) => outcome !== "cancelled") };
  const groups = yield* groupLabelSets(filter, SUBJECT);
  const { cut, range } = yield* cutToRows(query.window, { filter, groups });
  if (range === null) return { storms: [], total: NOTHING, snapped: cut.snapped, truncated: false };
  const read = yield* takeNewest(range, rowsMax);
  const isWhole = read.fromUs === range.fromUs;
  const finder = createStormFinder();
  const failed = new Set(filter.results.flatMap(({ id, outcome }) => (outcome === "ok" ? [] : [id])));
  const failing = yield* keepFailing({ filter, groups }, read);
  const dialect = yield* dialectOf();
  yield* each<AttemptRow>(
    `SELECT e.id, e.combination, m.result, e.duration_us, ${toWholeInputMeasure(dialect)} AS input, e.cost_hi, e.cost_lo
     FROM event AS e ${toEventJoins(dialect, filter)} WHERE e.id >= ? AND e.id < ?
     ORDER BY ${dialect.eventKey.map((column) => `e.${column}`).join(", ")}`,
    [...toChosenBindings({ filter, groups: failing }), read.fromUs, read.toUs],
    ({ id, combination, result, duration_us: durationUs, input, cost_hi: high, cost_lo: low }) =>
      finder.add({
        subject: groups.groupOf[combination] ?? NOT_CHOSEN,
        arrivedAtUs: id,
        endedAtUs: id + durationUs,
        isFailed: failed.has(result),
        inputTokens: input > 0 ? input : null,
        costPico: high === null || low === null ? null : joinCost(high, low),
      }),
  );
  const storms = finder.finish();
  const costs = storms.flatMap(({ costPico }) => costPico ?? []);
  return {
    storms: storms.slice(0, STORMS_MAX).map(({ subject, ...storm }) => {
      const [principal = "", keyId = null, relayTokenId = null, model = null, client = null] =
        groups.values[subject] ?? [];
      return Object.assign(storm, { principal: principal ?? "", keyId, relayTokenId, model, client });
    }),
    total: {
      storms: storms.length,
      attempts: storms.reduce((count, { attempts }) => count + attempts, 0),
      costPico: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0n),
    },
    snapped: isWhole ? cut.snapped : { sinceUs: read.fromUs, untilUs: query.window.untilUs ?? read.toUs },
    truncated: storms.length > STORMS_MAX,
  };
}

const NOTHING: RetryStorms["total"] = { storms: 0, attempts: 0, costPico: null };

/** The newest hours of a range that together have at most `rowsMax` requests, or the newest one. */
function* takeNewest({ fromUs, toUs }: RawRange, rowsMax: number): Script<RawRange> {
  const hours = yield* all<{ hour: number; requests: number }>(
    `SELECT hour, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?
     GROUP BY hour ORDER BY hour DESC`,
    [toHour(fromUs), Math.ceil(toUs / HOUR_US)],
  );
  let count = 0;
  for (const [index, { requests }] of hours.entries()) {
    count += requests;
    const newer = hours[index - 1];
    if (count > rowsMax && newer !== undefined)
      return { fromUs: Math.max(fromUs, newer.hour * HOUR_US), toUs };
  }
  return { fromUs, toUs };
}

/** Leaves of the groups only those with as many failures as a storm has: most keys have none, and their rows stay in the database. */
function* keepFailing({ filter, groups }: Wanted, { fromUs, toUs }: RawRange): Script<LabelGroups> {
  const failures: ResolvedFilter = {
    ...filter,
    results: filter.results.filter(({ outcome }) => outcome !== "ok"),
  };
  const found = yield* all<{ combination: number; requests: number }>(
    `SELECT e.combination, count(*) AS requests FROM event AS e ${toEventJoins(yield* dialectOf(), filter)}
     WHERE e.id >= ? AND e.id < ? GROUP BY 1`,
    [...toChosenBindings({ filter: failures, groups }), fromUs, toUs],
  );
  const counts = new Float64Array(groups.count);
  for (const { combination, requests } of found) {
    const group = groups.groupOf[combination] ?? NOT_CHOSEN;
    if (group !== NOT_CHOSEN) counts[group] = (counts[group] ?? 0) + requests;
  }
  const isKept = (group: number) => (counts[group] ?? 0) >= RETRY_STORM_RULE.attemptsMin - 1;
  const shapes = groups.shapes.map((shape, index) =>
    isKept(groups.groupOf[index + 1] ?? NOT_CHOSEN) ? shape : 0,
  );
  return { ...groups, shapes };
}

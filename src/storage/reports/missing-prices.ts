import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { REPORT_UNITS, type ReportUnit } from "#kernel/units.ts";
import { OTHER } from "#stats/grouping.ts";
import { MISSING_PRICES_MAX, toUnpricedUses, type UnpricedUse } from "#stats/missing-prices.ts";
import type { Window } from "#stats/filter.ts";
import type { MissingPrices, StatsStore, UnpricedFacts } from "#stats/store.ts";
import { all, dialectOf, each, type Script } from "#storage/sql/script.ts";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import { findLack } from "#usage/cost.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { readPriceSets } from "./billed-sums.ts";
import {
  toChosenBindings,
  toEventJoins,
  toUnpricedMeasure,
  toWholeInputMeasure,
  type Wanted,
} from "./chosen-events.ts";
import { type GroupLabel, groupLabelSets, NOT_CHOSEN } from "./label-groups.ts";
import { hasLabel, resolveFilter, withConditions } from "./request-filter.ts";
import { cutToRows } from "./row-window.ts";
import { SUMS_MAX } from "./series.ts";
import type { RawRange } from "./window-cut.ts";

/** Rows that may be looked at one by one: some seconds. */
const ROWS_MAX = 10_000_000;
/** Names that keep to themselves where there are too many; a name has a row for each unit. */
const NAMES_MAX = Math.floor(MISSING_PRICES_MAX / REPORT_UNITS.length) - 2;

type MissingQuery = Parameters<StatsStore["readMissingPrices"]>[0];

const RELAYED = "relayed";
/** The labels that a label set is priced under: the model that was asked for, whether the relay was, the tier and the region. */
const NAME: readonly GroupLabel[] = [
  { label: "model" },
  { label: "provider_id", toValue: (id) => (id === RELAY_PROVIDER ? RELAYED : null) },
  { label: "tier" },
  { label: "geo" },
];

/**
 * `StatsStore.readMissingPrices`. Totals tell how many requests were unpriced, but not in which unit: the hours that have
 * some are read row by row, a day at a time, and hours whose rows were removed are left out. With more than `sumsMax` names
 * those that were used least stand together as `(other)`, and the report is `truncated`. Throws `range_too_large` before it reads
 * more rows than a limit allows.
 */
export function* readMissingPrices(
  query: MissingQuery,
  { sumsMax = SUMS_MAX, rowsMax = ROWS_MAX } = {},
): Script<MissingPrices> {
  const asked = yield* resolveFilter(query);
  // Without a model there is no price.
  const filter = withConditions(asked, hasLabel("model"));
  const groups = yield* groupLabelSets(filter, NAME);
  const whole = { filter: asked, groups: yield* groupLabelSets(asked, []) };
  const { cut, range } = yield* cutToRows(query.window, whole);
  const uses = new Map<string, NameUse>();
  const pricesOf = yield* readPriceSets();
  const isRead = yield* eachUnpriced({ range, rowsMax, filter, groups }, (row) => {
    const group = groups.groupOf[row.combination] ?? NOT_CHOSEN;
    const [, , tier = null, geo = null] = groups.values[group] ?? [];
    const lack = toLack({ tier, geo }, pricesOf.get(row.price_set));
    addUse(
      uses,
      { group, lack, facts: { tier, geo, inputMin: row.input_min, inputMax: row.input_max } },
      row,
    );
  });
  if (!isRead) {
    throw new ProxyError(
      "range_too_large",
      `Requests without a price are counted one by one, in hours of ${rowsMax} requests at most: choose a later since.`,
      { param: "since" },
    );
  }
  const isFolded = uses.size > sumsMax;
  const named = [...uses.values()].sort((one, other) => other.requests - one.requests);
  const namesMax = isFolded ? Math.max(Math.min(sumsMax, NAMES_MAX), 1) : named.length;
  const found = named.flatMap((use, rank) => {
    const [model = null, relayed = null] = groups.values[use.group] ?? [];
    const isRelayed = relayed === RELAYED;
    const { lack } = use;
    const name =
      rank < namesMax
        ? { model: model ?? "", isRelayed, lack, facts: [use.facts] }
        : { model: OTHER, isRelayed, lack: null, facts: [] };
    return toUses(use, name);
  });
  const report = toUnpricedUses(found);
  return { ...report, truncated: report.truncated || isFolded, snapped: cut.snapped };
}

interface UnpricedRows extends Wanted {
  readonly range: RawRange | null;
  readonly rowsMax: number;
}

/** Sums of the unpriced rows of a range, no day with another. False, and nothing was read, for hours of more than `rowsMax` rows. */
function* eachUnpriced(
  { range, rowsMax, filter, groups }: UnpricedRows,
  onRow: (row: UnpricedRow, day: number) => void,
): Script<boolean> {
  const ranges = range === null ? [] : yield* listUnpricedRanges(range, rowsMax);
  if (ranges === null) return false;
  const dialect = yield* dialectOf();
  const sql = `SELECT e.combination, m.price_set, count(*) AS requests, ${toUnpricedSums(dialect)}
    FROM event AS e ${toEventJoins(dialect, filter)} WHERE e.id >= ? AND e.id < ? GROUP BY e.combination, m.price_set`;
  for (const { fromUs, toUs } of ranges) {
    const day = Math.floor(fromUs / DAY_US);
    yield* each<UnpricedRow>(sql, [...toChosenBindings({ filter, groups }), fromUs, toUs], (row) =>
      onRow(row, day),
    );
  }
  return true;
}

/**
 * The units without a price by day and group of label sets, as far as rows are there; null where more than `rowsMax` rows would
 * have to be looked at.
 */
export function* readUnpricedUnits(
  window: Window,
  wanted: Wanted,
  rowsMax: number,
): Script<((place: { readonly day: number; readonly group: number }) => readonly ReportUnit[]) | null> {
  const { range } = yield* cutToRows(window, wanted);
  const found = new Map<string, Set<ReportUnit>>();
  const isRead = yield* eachUnpriced({ ...wanted, range, rowsMax }, (row, day) => {
    const key = `${day} ${wanted.groups.groupOf[row.combination] ?? NOT_CHOSEN}`;
    for (const unit of REPORT_UNITS) {
      if ((row[`${unit}_requests`] ?? 0) === 0) continue;
      const units = found.get(key) ?? new Set();
      found.set(key, units.add(unit));
    }
  });
  return isRead ? ({ day, group }) => [...(found.get(`${day} ${group}`) ?? [])] : null;
}

interface HourRow {
  readonly hour: number;
  readonly requests: number;
}

/** The hours of a range in which something was unpriced, those of one day and without a gap as one; null for too many rows. */
function* listUnpricedRanges(
  { fromUs, toUs }: RawRange,
  rowsMax: number,
): Script<readonly RawRange[] | null> {
  const hours = yield* all<HourRow>(
    `SELECT hour, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?
       GROUP BY hour HAVING sum(unpriced_requests) > 0 ORDER BY hour`,
    [Math.floor(fromUs / HOUR_US), Math.ceil(toUs / HOUR_US)],
  );
  if (hours.reduce((sum, { requests }) => sum + requests, 0) > rowsMax) return null;
  const ranges: { fromUs: number; toUs: number }[] = [];
  for (const { hour } of hours) {
    const from = Math.max(hour * HOUR_US, fromUs);
    const to = Math.min((hour + 1) * HOUR_US, toUs);
    const last = ranges.at(-1);
    if (last?.toUs === from && from % DAY_US !== 0) last.toUs = to;
    else ranges.push({ fromUs: from, toUs: to });
  }
  return ranges;
}

/** The condition of a label set that no price names; null where these prices hold. */
function toLack(
  conditions: { readonly tier: string | null; readonly geo: string | null },
  prices: AppliedPrices = {},
): UnpricedUse["lack"] {
  const kind = findLack({ tier: conditions.tier ?? undefined, prices });
  return kind === undefined ? null : { kind, value: conditions[kind] ?? "" };
}

type UnpricedRow = {
  readonly combination: number;
  readonly price_set: number;
  readonly requests: number;
  readonly input_min: number;
  readonly input_max: number;
} & {
  readonly [column: `${string}_requests` | `${string}_quantity` | `${string}_seen`]: number | null;
};

function toUnpricedSums(dialect: Parameters<typeof toUnpricedMeasure>[0]): string {
  const columns = REPORT_UNITS.map((unit) => {
    const { isUsed, quantity } = toUnpricedMeasure(dialect, unit);
    return `sum(CASE WHEN ${isUsed} THEN ${dialect.toConstant(1)} ELSE ${dialect.toConstant(0)} END) AS ${unit}_requests,
    sum(CASE WHEN ${isUsed} THEN ${quantity} END) AS ${unit}_quantity, max(CASE WHEN ${isUsed} THEN e.id END) AS ${unit}_seen`;
  });
  const input = toWholeInputMeasure(dialect);
  return [...columns, `min(${input}) AS input_min`, `max(${input}) AS input_max`].join(", ");
}

/** The usage under one name that lacks one thing. */
interface NameUse extends Pick<UnpricedUse, "lack"> {
  readonly group: number;
  facts: UnpricedFacts;
  requests: number;
  /** For each of the report's units. */
  readonly units: { requests: number; total: number; lastSeenUs: number }[];
}

function addUse(
  uses: Map<string, NameUse>,
  { group, lack, facts }: Pick<NameUse, "group" | "lack" | "facts">,
  row: UnpricedRow,
): void {
  const isUnpriced = REPORT_UNITS.some((unit) => (row[`${unit}_requests`] ?? 0) > 0);
  if (group === NOT_CHOSEN || !isUnpriced) return;
  const key = `${group} ${lack?.kind ?? ""}`;
  const use = uses.get(key) ?? {
    group,
    lack,
    facts,
    requests: 0,
    units: REPORT_UNITS.map(() => ({ requests: 0, total: 0, lastSeenUs: 0 })),
  };
  uses.set(key, use);
  use.requests += row.requests;
  use.facts = {
    ...facts,
    inputMin: Math.min(use.facts.inputMin, facts.inputMin),
    inputMax: Math.max(use.facts.inputMax, facts.inputMax),
  };
  for (const [index, unit] of REPORT_UNITS.entries()) {
    const sum = use.units[index];
    if (sum === undefined) continue;
    sum.requests += row[`${unit}_requests`] ?? 0;
    sum.total += row[`${unit}_quantity`] ?? 0;
    sum.lastSeenUs = Math.max(sum.lastSeenUs, row[`${unit}_seen`] ?? 0);
  }
}

function toUses(
  { units }: NameUse,
  name: Pick<UnpricedUse, "model" | "isRelayed" | "lack" | "facts">,
): readonly UnpricedUse[] {
  return REPORT_UNITS.flatMap((unit, index) => {
    const sum = units[index];
    return sum === undefined || sum.requests === 0 ? [] : [{ ...name, unit, ...sum }];
  });
}

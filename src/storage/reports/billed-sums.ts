import type { AppliedPrices } from "#kernel/price-variants.ts";
import { byUnit, isReportUnit, type Pico, type Unit, UNIT_TABLE } from "#kernel/units.ts";
import { joinCost, toCostSums } from "#storage/cells/sums.ts";
import { all, dialectOf, each, type Script } from "#storage/sql/script.ts";
import type { BilledQuantities } from "#usage/cost.ts";
import { toPrices } from "#usage/journal-line.ts";
import { toChosenBindings, toEventJoins, toBilledMeasures, type Wanted } from "./chosen-events.ts";
import { NOT_CHOSEN } from "./label-groups.ts";
import type { RawRange } from "./window-cut.ts";

/** Requests of one group and period that were billed at one set of prices. */
export interface BilledSum extends BilledQuantities {
  readonly prices: AppliedPrices;
  readonly group: number;
  readonly period: number;
  readonly requests: number;
  /** What they cost as they were recorded, each request rounded by itself; 0 where nothing had a price. */
  readonly costPico: Pico;
}

interface BilledWindow extends Wanted {
  readonly ranges: readonly RawRange[];
  readonly units: readonly Unit[];
  /** SQL over `event AS e`: which rows are read; all where absent. */
  readonly condition?: string;
  /** The length of a period; absent: all rows are of the period 0. */
  readonly stepUs?: number;
}

type BilledRow = {
  readonly at: number;
  readonly combination: number;
  readonly price_set: number;
  readonly requests: number;
  readonly cost_hi: number | null;
  readonly cost_lo: number | null;
} & { readonly [unit in Unit]?: number | null };

/**
 * Adds up quantities by the prices that they were billed at. Only rows tell those: totals keep costs without prices.
 */
export function* sumBilled({
  ranges,
  units,
  condition = "",
  stepUs,
  filter,
  groups,
}: BilledWindow): Script<readonly BilledSum[]> {
  const dialect = yield* dialectOf();
  const quantities = toBilledMeasures(dialect, units);
  const at = stepUs === undefined ? dialect.toConstant(0) : dialect.toStep("e.id", stepUs);
  const sums = units.map((unit) => `sum(${quantities.get(unit)}) AS ${unit}`);
  const sql = `SELECT ${at} AS at, e.combination, m.price_set, count(*) AS requests, ${sums.join(", ")},
      ${toCostSums("cost", (column) => `e.${column}`)}
    FROM event AS e ${toEventJoins(dialect, filter)} WHERE e.id >= ? AND e.id < ? ${condition} GROUP BY 1, 2, 3`;
  const found = new Map<string, GrowingSum>();
  for (const { fromUs, toUs } of ranges) {
    yield* each<BilledRow>(sql, [...toChosenBindings({ filter, groups }), fromUs, toUs], (row) => {
      const group = groups.groupOf[row.combination] ?? NOT_CHOSEN;
      if (group === NOT_CHOSEN) return;
      const key = `${row.at} ${group} ${row.price_set}`;
      const sum = found.get(key) ?? {
        group,
        period: row.at,
        priceSet: row.price_set,
        totals: new Map<Unit, number>(),
        requests: 0,
        costPico: 0n,
      };
      sum.requests += row.requests;
      sum.costPico += joinCost(row.cost_hi ?? 0, row.cost_lo ?? 0);
      found.set(key, sum);
      for (const unit of units) {
        const quantity = row[unit] ?? null;
        if (quantity !== null) sum.totals.set(unit, (sum.totals.get(unit) ?? 0) + quantity);
      }
    });
  }
  const pricesOf = yield* readPriceSets();
  return [...found.values()].map(({ group, period, priceSet, requests, totals, costPico }) => ({
    group,
    period,
    requests,
    costPico,
    prices: pricesOf.get(priceSet) ?? {},
    quantities: byUnit(units, (unit) => {
      const total = totals.get(unit);
      return total === undefined ? undefined : total / toScale(unit);
    }),
  }));
}

/** Seconds are added up in microseconds, so that the sum does not depend on the order. */
function toScale(unit: Unit): number {
  return isReportUnit(unit) ? UNIT_TABLE[unit].scale : 1;
}

interface GrowingSum {
  readonly group: number;
  readonly period: number;
  readonly priceSet: number;
  requests: number;
  costPico: Pico;
  readonly totals: Map<Unit, number>;
}

/** Price sets by their ids: some hundred. */
export function* readPriceSets(): Script<ReadonlyMap<number, AppliedPrices>> {
  const rows = yield* all<{ id: number; prices: string }>("SELECT id, prices FROM price_set");
  return new Map(rows.map(({ id, prices }) => [id, toPrices(JSON.parse(prices))]));
}

import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import { byUnit, isReportUnit, type Pico, type Unit, UNIT_TABLE } from "#kernel/units.ts";
import type { BilledUse, RequestBounds } from "#stats/store.ts";
import { joinCost, toCostSums } from "#storage/cells/sums.ts";
import { all, dialectOf, each, type Script } from "#storage/sql/script.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { toPrices } from "#usage/journal-line.ts";
import {
  toChosenBindings,
  toEventJoins,
  toBilledMeasures,
  toWholeInputMeasure,
  type Wanted,
} from "./chosen-events.ts";
import { NOT_CHOSEN } from "./label-groups.ts";
import type { RawRange } from "./window-cut.ts";

/** Requests of one group and period that were billed at one set of prices. */
export interface BilledSum extends BilledUse {
  readonly group: number;
  readonly period: number;
  readonly requests: number;
}

interface BilledWindow extends Wanted {
  readonly ranges: readonly RawRange[];
  readonly units: readonly Unit[];
  /** SQL over `event AS e`: which rows are read; all where absent. */
  readonly condition?: string;
  /** The length of a period; absent: all rows are of the period 0. */
  readonly stepUs?: number;
  readonly bounds?: RequestBounds;
}

type BilledRow = {
  readonly at: number;
  readonly combination: number;
  readonly price_set: number;
  readonly requests: number;
  readonly input_band: number;
  readonly minute_band: number;
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
  bounds = NO_BOUNDS,
  filter,
  groups,
}: BilledWindow): Script<readonly BilledSum[]> {
  const dialect = yield* dialectOf();
  const quantities = toBilledMeasures(dialect, units);
  const at = stepUs === undefined ? dialect.toConstant(0) : dialect.toStep("e.id", stepUs);
  const sums = units.map((unit) => `sum(${quantities.get(unit)}) AS ${unit}`);
  const { inputBand, minuteBand } = toBands(dialect, bounds);
  const sql = `SELECT ${at} AS at, e.combination, m.price_set, ${inputBand} AS input_band, ${minuteBand} AS minute_band, count(*) AS requests, ${sums.join(", ")},
      ${toCostSums("cost", (column) => `e.${column}`)}
    FROM event AS e ${toEventJoins(dialect, filter)} WHERE e.id >= ? AND e.id < ? ${condition} GROUP BY 1, 2, 3, 4, 5`;
  const found = new Map<string, GrowingSum>();
  for (const { fromUs, toUs } of ranges) {
    yield* each<BilledRow>(sql, [...toChosenBindings({ filter, groups }), fromUs, toUs], (row) => {
      const group = groups.groupOf[row.combination] ?? NOT_CHOSEN;
      if (group === NOT_CHOSEN) return;
      const key = `${row.at} ${group} ${row.price_set} ${row.input_band} ${row.minute_band}`;
      const sum = found.get(key) ?? {
        group,
        period: row.at,
        priceSet: row.price_set,
        inputTokens: row.input_band === 0 ? 0 : (bounds.inputOver[row.input_band - 1] ?? 0) + 1,
        endedAtUs: (bounds.minutes[row.minute_band - 1] ?? 0) * US_PER_MINUTE,
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
  return [...found.values()].map(({ priceSet, totals, ...sum }) =>
    Object.assign(sum, {
      prices: pricesOf.get(priceSet) ?? {},
      quantities: byUnit(units, (unit) => {
        const total = totals.get(unit);
        return total === undefined ? undefined : total / toScale(unit);
      }),
    }),
  );
}

export const NO_BOUNDS: RequestBounds = { inputOver: [], minutes: [] };
const US_PER_MINUTE = 60_000_000;

/** The number of bounds that a row of `event` is beyond. */
function toBands(dialect: Dialect, { inputOver, minutes }: RequestBounds) {
  const countMet = (conditions: readonly string[]) =>
    conditions.length === 0 ? dialect.toConstant(0) : conditions.map(dialect.toNumber).join(" + ");
  const input = toWholeInputMeasure(dialect);
  const endedAtUs = "(e.id + e.duration_us)";
  const inDayUs = `(${endedAtUs} - ${dialect.toStep(endedAtUs, DAY_US)})`;
  return {
    inputBand: countMet(inputOver.map((tokens) => `${input} > ${tokens}`)),
    minuteBand: countMet(minutes.map((minute) => `${inDayUs} >= ${minute * US_PER_MINUTE}`)),
  };
}

/** Seconds are added up in microseconds, so that the sum does not depend on the order. */
function toScale(unit: Unit): number {
  return isReportUnit(unit) ? UNIT_TABLE[unit].scale : 1;
}

interface GrowingSum {
  readonly group: number;
  readonly period: number;
  readonly priceSet: number;
  readonly inputTokens: number;
  readonly endedAtUs: InstantUs;
  requests: number;
  costPico: Pico;
  readonly totals: Map<Unit, number>;
}

/** Price sets by their ids: some hundred. */
export function* readPriceSets(): Script<ReadonlyMap<number, AppliedPrices>> {
  const rows = yield* all<{ id: number; prices: string }>("SELECT id, prices FROM price_set");
  return new Map(rows.map(({ id, prices }) => [id, toPrices(JSON.parse(prices))]));
}

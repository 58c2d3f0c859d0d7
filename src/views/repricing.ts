import { formatInstant } from "#kernel/clock.ts";
import { picoToNumber } from "#kernel/units.ts";
import type { RepricedUnit, Repricing } from "#stats/repricing.ts";

/** Re-pricings → wire JSON (specification of money, section 3). */

export function toRepricingView(repricing: Repricing) {
  const { figures } = repricing;
  return { ...toRepricingRow(repricing), changes: figures === null ? [] : figures.units.map(toUnitView) };
}

/** Without its changes by unit: as lists have it. */
export function toRepricingRow(repricing: Repricing) {
  const { id, state, isDryRun, terms, createdAtUs, figures, eventCount, doneCount, rowsFromUs, beyondPlan } =
    repricing;
  const { sinceUs, untilUs } = terms.query.window;
  const toInstant = (atUs: number | null) => (atUs === null ? null : formatInstant(atUs));
  return {
    id,
    state,
    dry_run: isDryRun,
    created_at: formatInstant(createdAtUs),
    changed_at: toInstant(repricing.changedAtUs),
    since: toInstant(sinceUs),
    until: toInstant(untilUs),
    ...(terms.history !== undefined && { prices: "history" as const }),
    models:
      terms.history === undefined
        ? terms.prices.map(([model]) => model)
        : [...(terms.query.filter.models ?? [])],
    unpriced_only: terms.isUnpricedOnly,
    progress: { done: Math.max(doneCount, 0), total: eventCount },
    total:
      figures === null
        ? null
        : {
            requests: figures.requests,
            cost_before: picoToNumber(figures.costBeforePico),
            cost_after: picoToNumber(figures.costAfterPico),
            difference: picoToNumber(figures.costAfterPico - figures.costBeforePico),
            unpriced_before: figures.unpricedBefore,
            unpriced_after: figures.unpricedAfter,
          },
    ...(rowsFromUs > 0 &&
      (sinceUs === null || sinceUs < rowsFromUs) && { rows_from: formatInstant(rowsFromUs) }),
    ...(beyondPlan !== undefined && {
      beyond_plan: {
        requests: beyondPlan.requests,
        difference: picoToNumber(beyondPlan.costPico),
        unpriced: beyondPlan.unpriced,
      },
    }),
    ...((repricing.goneCount ?? 0) > 0 && { rows_gone: repricing.goneCount }),
    ...(repricing.failure !== null && { failure: repricing.failure }),
  };
}

const MICROS = 1e6;

function toUnitView(unit: RepricedUnit) {
  return {
    model: unit.model,
    unit: unit.unit,
    ...(unit.tier !== null && { tier: unit.tier }),
    quantity: Number(unit.quantityMicros) / MICROS,
    requests: unit.requests,
    cost_before: picoToNumber(unit.costBeforePico),
    cost_after: picoToNumber(unit.costAfterPico),
    unpriced_before: unit.unpricedBefore,
    unpriced_after: unit.unpricedAfter,
  };
}

import { toCost } from "#stats/series.ts";
import type { RowState } from "#stats/breakdown-query.ts";
import type { ComparedCost, ComparedModel, ComparedUnit, WhatIf } from "#stats/what-if.ts";

/** The answer says of itself what it is. */
export const WHAT_IF_NOTE = "Same tokens, other prices; no forecast.";

/** A comparison → wire JSON. */
export function toWhatIfView({ units, models, total }: WhatIf, unitCosts: RowState) {
  return {
    note: WHAT_IF_NOTE,
    units: units.map(toUnitView),
    models: models.map(toModelView),
    total: toSumView(total),
    unit_costs: unitCosts,
  };
}

function toUnitView(compared: ComparedUnit) {
  const { from, to, unit, tier, geo, quantity, unpricedReason } = compared;
  return {
    from,
    to,
    unit,
    ...(tier !== null && { tier }),
    ...(geo !== null && { geo }),
    quantity,
    ...toCostsView(compared),
    ...(unpricedReason !== null && { unpriced_reason: unpricedReason }),
  };
}

function toModelView(compared: ComparedModel) {
  const { from, to, areDetailsLeftOut, conditionsLeftOut } = compared;
  return {
    from,
    to,
    ...toSumView(compared),
    cache_writes_as_input: areDetailsLeftOut,
    ...(conditionsLeftOut.length > 0 && { conditions_left_out: conditionsLeftOut }),
  };
}

function toSumView(compared: WhatIf["total"]) {
  const { requests, unpricedRequests } = compared;
  return { requests, unpriced_requests: unpricedRequests, ...toCostsView(compared) };
}

function toCostsView({ costPico, otherCostPico, differencePico }: ComparedCost) {
  return {
    cost: toCost(costPico),
    other_cost: toCost(otherCostPico),
    difference: toCost(differencePico),
  };
}

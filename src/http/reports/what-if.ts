import type { Catalog } from "#catalog/catalog.ts";
import { resolveModel } from "#catalog/resolve.ts";
import { route } from "#http/door/route.ts";
import { MODEL } from "#http/schemas/examples.ts";
import { WhatIf } from "#http/schemas/reports.ts";
import { WhatIfRequest } from "#http/schemas/requests.ts";
import { toModelScope } from "#identity/caller.ts";
import { filterBy } from "#stats/filter.ts";
import type { StatsStore } from "#stats/store.ts";
import { compareModels, toRequestBounds } from "#stats/what-if.ts";
import { toWhatIfView, WHAT_IF_NOTE } from "#views/what-if.ts";
import { FILTER_ERRORS, reportAnswer } from "./declared.ts";
import { parseTeamQuery, toBodyQuery, toJsonReport, toReportOptions } from "./report.ts";

interface WhatIfDeps {
  readonly catalog: Catalog;
  readonly stats: Pick<StatsStore, "readModelUse">;
}

const COSTS = { cost: 0.0048, other_cost: 0.0048, difference: 0 };

/** The usage of the team at other models' prices (specification of money, section 4), for each of its members as every report. */
export function whatIfRoutes({ catalog, stats }: WhatIfDeps) {
  return [
    route({
      method: "POST",
      path: "/stats/what-if",
      tag: "Statistics",
      access: "caller",
      summary: "What usage would have cost at other models' prices",
      description:
        "The quantities that were used of some models, priced as today's prices of others, each request by its own tier, region, length and hour where `unit_costs` is `exact`: the same tokens, and no forecast of how another model would answer. Units that the other model has no price for are named, never taken as zero. Nothing is changed.",
      body: WhatIfRequest,
      example: { models: { [MODEL.alias]: MODEL.alias } },
      answer: reportAnswer(WhatIf, {
        note: WHAT_IF_NOTE,
        units: [{ from: MODEL.alias, to: MODEL.alias, unit: "input_tokens", quantity: 1200, ...COSTS }],
        models: [
          {
            from: MODEL.alias,
            to: MODEL.alias,
            requests: 12,
            unpriced_requests: 0,
            ...COSTS,
            cache_writes_as_input: false,
          },
        ],
        total: { requests: 12, unpriced_requests: 0, ...COSTS },
        unit_costs: "exact",
      }),
      errors: [...FILTER_ERRORS, "model_not_found"],
      run: async ({ body, request, caller }) => {
        const snapshot = await catalog.snapshot();
        const scope = toModelScope(caller);
        const others = Object.entries(body.models).map(([from, to]) => {
          const { prices, variants } = resolveModel(snapshot, to, scope);
          return { from, to, prices: { prices, variants } };
        });
        const asked = parseTeamQuery(toBodyQuery(body, ["model"]), snapshot);
        const filter = filterBy({ ...asked.filter, models: others.map(({ from }) => from) });
        const bounds = toRequestBounds(others.map(({ prices }) => prices));
        const query = { ...asked, filter, bounds };
        const found = await stats.readModelUse(query, toReportOptions({ request, caller }));
        return toJsonReport(toWhatIfView(compareModels(found.uses, others), found.unitCosts), found);
      },
    }),
  ] as const;
}

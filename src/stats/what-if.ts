import type { AppliedPrices, ModelPrices } from "#kernel/price-variants.ts";
import {
  DETAIL_UNITS,
  findUnitPrice,
  type Pico,
  type PriceSet,
  REPORT_UNITS,
  type ReportUnit,
  toReportUnit,
} from "#kernel/units.ts";
import { choosePrices, priceTotals, toUnpricedReason } from "#usage/cost.ts";
import type { ModelUse } from "./store.ts";

/** A model whose usage is priced as another one's. */
export interface OtherModel {
  readonly from: string;
  readonly to: string;
  readonly prices: ModelPrices;
}

/** Two costs of the same quantities; an amount is null where nothing in it is known. */
export interface ComparedCost {
  readonly costPico: Pico | null;
  readonly otherCostPico: Pico | null;
  /** The other cost less the recorded one; null where one of the two leaves something out. */
  readonly differencePico: Pico | null;
}

/** One unit of one model at one tier and in one region. */
export interface ComparedUnit extends ComparedCost {
  readonly from: string;
  readonly to: string;
  readonly unit: ReportUnit;
  readonly tier: string | null;
  readonly geo: string | null;
  readonly quantity: number;
  /** Why the other model has no price for it; null when it has one. */
  readonly unpricedReason: string | null;
}

/** Conditions of prices that depend on each request, so that sums cannot meet them. */
export const REQUEST_CONDITIONS = ["input_over", "hours"] as const;

export interface ComparedModel extends ComparedCost {
  readonly from: string;
  readonly to: string;
  readonly requests: number;
  readonly unpricedRequests: number;
  /** Parts such as cache writes have a price of their own, and are counted at their unit's, where reports keep them. */
  readonly areDetailsLeftOut: boolean;
  readonly conditionsLeftOut: readonly (typeof REQUEST_CONDITIONS)[number][];
}

export interface WhatIf {
  readonly units: readonly ComparedUnit[];
  readonly models: readonly ComparedModel[];
  readonly total: ComparedCost & Pick<ComparedModel, "requests" | "unpricedRequests">;
}

/** The recorded usage of models at the prices of others (specification of money, section 4). Of each pair, those of `from` are in `uses`. */
export function compareModels(uses: readonly ModelUse[], others: readonly OtherModel[]): WhatIf {
  const compared = others.map((other) => {
    const used = uses.filter(({ model }) => model === other.from);
    return compareUses(used, other);
  });
  const models = compared.map(({ model }) => model);
  return {
    units: compared.flatMap(({ units }) => units),
    models,
    total: {
      requests: models.reduce((sum, { requests }) => sum + requests, 0),
      unpricedRequests: models.reduce((sum, { unpricedRequests }) => sum + unpricedRequests, 0),
      ...addCosts(models),
    },
  };
}

interface Compared {
  readonly units: readonly ComparedUnit[];
  readonly model: ComparedModel;
}

function compareUses(uses: readonly ModelUse[], other: OtherModel): Compared {
  const { from, to, prices } = other;
  const priced = uses.map((use) => ({ use, chosen: chooseForSums(prices, use) }));
  const parts = priced.map(({ use, chosen }) => compareUse(use, chosen, other));
  const model = {
    from,
    to,
    requests: uses.reduce((sum, { requests }) => sum + requests, 0),
    unpricedRequests: uses.reduce((sum, { unpricedRequests }) => sum + unpricedRequests, 0),
    ...addCosts(parts.map(({ sum }) => sum)),
    areDetailsLeftOut: priced.some(({ chosen }) => hasDetailPrice(chosen)),
    conditionsLeftOut: findLeftOut(prices),
  };
  return { units: parts.flatMap(({ units }) => units), model };
}

/** The conditions of prices that `chooseForSums` leaves out. */
export function findLeftOut({ variants }: ModelPrices): ComparedModel["conditionsLeftOut"] {
  return REQUEST_CONDITIONS.filter((name) =>
    variants.some(({ when }) => when[name === "hours" ? name : "inputOver"] !== undefined),
  );
}

/** Prices that hold for any request of a tier and region: sums do not tell how long a prompt was, nor when a request ended. */
export function chooseForSums(
  { prices, variants }: ModelPrices,
  { tier, geo }: Pick<ModelUse, "tier" | "geo">,
): AppliedPrices {
  const general = variants.filter(({ when }) => when.inputOver === undefined && when.hours === undefined);
  const facts = { tier: tier ?? undefined, geo: geo ?? undefined, usage: null, endedAtUs: 0 };
  return choosePrices({ prices, variants: general }, facts);
}

const NO_PRICE = "no price";

function compareUse(use: ModelUse, chosen: AppliedPrices, { from, to }: OtherModel) {
  const { tier, geo, costPico, unpricedRequests, unitCosts } = use;
  const isRecordedWhole = unpricedRequests === 0;
  const units = REPORT_UNITS.flatMap((unit): ComparedUnit[] => {
    const quantity = use.units[unit];
    if (quantity === undefined) return [];
    const { costPico: otherCostPico, unpricedUnits } = priceTotals({ [unit]: quantity }, chosen);
    const recorded = unitCosts?.[unit] ?? null;
    return [
      {
        from,
        to,
        unit,
        tier,
        geo,
        quantity,
        costPico: recorded,
        otherCostPico,
        differencePico: isRecordedWhole ? subtract(otherCostPico, recorded) : null,
        unpricedReason:
          unpricedUnits.length === 0
            ? null
            : (toUnpricedReason({ tier: tier ?? undefined, geo: geo ?? undefined, prices: chosen }) ??
              NO_PRICE),
      },
    ];
  });
  const otherCostPico = addUp(units.map((unit) => unit.otherCostPico));
  const isWhole = isRecordedWhole && units.every(({ unpricedReason }) => unpricedReason === null);
  const differencePico = isWhole ? (otherCostPico ?? 0n) - (costPico ?? 0n) : null;
  return { units, sum: { costPico, otherCostPico, differencePico } };
}

/** The difference is known where that of each part is. */
function addCosts(parts: readonly ComparedCost[]): ComparedCost {
  const differences = parts.map(({ differencePico }) => differencePico);
  return {
    costPico: addUp(parts.map(({ costPico }) => costPico)),
    otherCostPico: addUp(parts.map(({ otherCostPico }) => otherCostPico)),
    differencePico: differences.includes(null) ? null : (addUp(differences) ?? 0n),
  };
}

function subtract(other: Pico | null, cost: Pico | null): Pico | null {
  return other === null || cost === null ? null : other - cost;
}

/** Null when none of them is known. */
function addUp(amounts: readonly (Pico | null)[]): Pico | null {
  return amounts.reduce((sum, amount) => (amount === null ? sum : (sum ?? 0n) + amount), null);
}

/** True where a part of a unit, such as cache writes, costs otherwise than its unit. */
export function hasDetailPrice(prices: PriceSet): boolean {
  return DETAIL_UNITS.some(
    (unit) => findUnitPrice(prices, unit) !== findUnitPrice(prices, toReportUnit(unit)),
  );
}

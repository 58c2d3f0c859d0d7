import { type AppliedPrices, type ModelPrices, toMinutes } from "#kernel/price-variants.ts";
import {
  byUnit,
  DETAIL_UNITS,
  DETAILS_OF,
  findUnitPrice,
  type Pico,
  type PriceSet,
  type Quantities,
  REPORT_UNITS,
  type ReportUnit,
  toReportUnit,
  UNITS,
} from "#kernel/units.ts";
import {
  type BilledQuantities,
  choosePrices,
  toUnitCosts,
  toUnpricedReason,
  type UnitCosts,
} from "#usage/cost.ts";
import type { BilledUse, ModelUse, RequestBounds } from "./store.ts";

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
  const parts = uses.map((use) => compareUse(use, other));
  const model = {
    from,
    to,
    requests: uses.reduce((sum, { requests }) => sum + requests, 0),
    unpricedRequests: uses.reduce((sum, { unpricedRequests }) => sum + unpricedRequests, 0),
    ...addCosts(parts.map(({ sum }) => sum)),
    ...findLeftOut(uses, prices),
  };
  return { units: parts.flatMap(({ units }) => units), model };
}

/** Parts of a use that other prices leave out where sums alone are known. */
export function findLeftOut(
  uses: readonly ModelUse[],
  prices: ModelPrices,
): Pick<ComparedModel, "areDetailsLeftOut" | "conditionsLeftOut"> {
  const sums = uses.filter(({ billed }) => billed === null);
  if (sums.length === 0) return { areDetailsLeftOut: false, conditionsLeftOut: [] };
  return {
    areDetailsLeftOut: sums.some((use) => hasDetailPrice(chooseForSums(prices, use))),
    conditionsLeftOut: REQUEST_CONDITIONS.filter((name) =>
      prices.variants.some(({ when }) => when[name === "hours" ? name : "inputOver"] !== undefined),
    ),
  };
}

/** The bounds between which each of these prices are the same for all requests of a tier and region. */
export function toRequestBounds(prices: readonly ModelPrices[]): RequestBounds {
  const conditions = prices.flatMap(({ variants }) => variants.map(({ when }) => when));
  const toBounds = (bounds: readonly number[]) => [...new Set(bounds)].sort((one, other) => one - other);
  return {
    inputOver: toBounds(conditions.flatMap(({ inputOver }) => inputOver ?? [])),
    minutes: toBounds(conditions.flatMap(({ hours }) => (hours === undefined ? [] : toMinutes(hours)))),
  };
}

/** Prices that hold for any request of a tier and region: sums do not tell how long a prompt was, nor when a request ended. */
function chooseForSums(
  { prices, variants }: ModelPrices,
  { tier, geo }: Pick<ModelUse, "tier" | "geo">,
): AppliedPrices {
  const general = variants.filter(({ when }) => when.inputOver === undefined && when.hours === undefined);
  const facts = { tier: tier ?? undefined, geo: geo ?? undefined, usage: null, endedAtUs: 0 };
  return choosePrices({ prices, variants: general }, facts);
}

/** A use at prices other than it was billed at. */
export interface UsePrice {
  readonly costPico: Pico | null;
  readonly unitCosts: UnitCosts;
  /** Why some of a unit has no price, by the units of which some has none. */
  readonly unpriced: { readonly [unit in ReportUnit]?: string };
}

const NO_PRICE = "no price";

/** Prices a use by each request's own conditions as far as rows were read, else by the sums of a tier and region. */
export function priceUse(use: ModelUse, prices: ModelPrices): UsePrice {
  const { tier, geo, billed } = use;
  const labels = { tier: tier ?? undefined, geo: geo ?? undefined };
  const parts = new Map<AppliedPrices, Quantities[]>();
  const add = (chosen: AppliedPrices, quantities: Quantities) =>
    parts.set(chosen, [...(parts.get(chosen) ?? []), quantities]);
  let restPico = 0n;
  if (billed === null) add(chooseForSums(prices, use), use.units);
  for (const part of billed ?? []) {
    const { inputTokens, endedAtUs, quantities } = part;
    const usage = { shape: "exclusive", quantities: { input_tokens: inputTokens } } as const;
    const chosen = choosePrices(prices, { ...labels, usage, endedAtUs });
    add(chosen, quantities);
    restPico += toRest(part, chosen);
  }
  const sums = [...parts].map(([chosen, quantities]) => ({
    prices: chosen,
    quantities: addQuantities(quantities),
  }));
  const costs = sums.map(toUnitCosts);
  const unitCosts = byUnit(REPORT_UNITS, (unit) => addUp(costs.map((each) => each[unit])) ?? undefined);
  const costPico = addUp([...Object.values(unitCosts), restPico === 0n ? null : restPico]);
  const unpriced = byUnit(REPORT_UNITS, (unit) => {
    const part = sums.find((sum) => isUnpriced(sum, unit));
    return part && (toUnpricedReason({ ...labels, prices: part.prices }) ?? NO_PRICE);
  });
  return { costPico, unitCosts, unpriced };
}

/** At the prices that it was billed at a use costs what was recorded, which rounds each request by itself. */
function toRest({ prices, quantities, costPico }: BilledUse, chosen: PriceSet): Pico {
  const isSame = UNITS.every(
    (unit) => quantities[unit] === undefined || findUnitPrice(prices, unit) === findUnitPrice(chosen, unit),
  );
  if (!isSame) return 0n;
  return costPico - (addUp(Object.values(toUnitCosts({ prices, quantities }))) ?? 0n);
}

function isUnpriced({ prices, quantities }: BilledQuantities, unit: ReportUnit): boolean {
  return [unit, ...(DETAILS_OF[unit] ?? [])].some(
    (part) => (quantities[part] ?? 0) > 0 && findUnitPrice(prices, part) === null,
  );
}

function compareUse(use: ModelUse, { from, to, prices }: OtherModel) {
  const { tier, geo, costPico, unpricedRequests, billed } = use;
  const isRecordedWhole = unpricedRequests === 0;
  const recorded = (billed ?? []).map(toUnitCosts);
  const { unitCosts, unpriced, costPico: otherCostPico } = priceUse(use, prices);
  const units = REPORT_UNITS.flatMap((unit): ComparedUnit[] => {
    const quantity = use.units[unit];
    if (quantity === undefined) return [];
    const cost = addUp(recorded.map((each) => each[unit]));
    const other = unitCosts[unit] ?? null;
    const unpricedReason = unpriced[unit] ?? null;
    const isWhole = isRecordedWhole && unpricedReason === null;
    return [
      {
        from,
        to,
        unit,
        tier,
        geo,
        quantity,
        costPico: cost,
        otherCostPico: other,
        differencePico: isWhole ? subtract(other, cost) : null,
        unpricedReason,
      },
    ];
  });
  const isWhole = isRecordedWhole && Object.keys(unpriced).length === 0;
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
function addUp(amounts: readonly (Pico | null | undefined)[]): Pico | null {
  return amounts.reduce<Pico | null>(
    (sum, amount = null) => (amount === null ? sum : (sum ?? 0n) + amount),
    null,
  );
}

function addQuantities(all: readonly Quantities[]): Quantities {
  return byUnit(UNITS, (unit) =>
    all.reduce<number | undefined>(
      (sum, { [unit]: quantity }) => (quantity === undefined ? sum : (sum ?? 0) + quantity),
      undefined,
    ),
  );
}

/** True where a part of a unit, such as cache writes, costs otherwise than its unit. */
function hasDetailPrice(prices: PriceSet): boolean {
  return DETAIL_UNITS.some(
    (unit) => findUnitPrice(prices, unit) !== findUnitPrice(prices, toReportUnit(unit)),
  );
}

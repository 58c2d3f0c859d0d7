import { isRareUnit, type Unit, UNIT_TABLE } from "#kernel/units.ts";
import type { Capability } from "./capability.ts";
import { isEndpoint, toRow } from "./endpoint.ts";

interface PricedModel {
  readonly capabilities: readonly Capability[];
  readonly pricing: { readonly [unit in Unit]?: number | undefined };
}

type Way = readonly Unit[];

/** The units that answers of the capability may be told in: one of these ways is all that a model needs prices for. */
function toWays(capability: Capability): readonly Way[] {
  return isEndpoint(capability) ? toRow(capability).tells : [];
}

function isPriced({ pricing }: PricedModel, unit: Unit): boolean {
  return pricing[unit] !== undefined;
}

/** The units without which requests to the model are unpriced, in the first way that they may be told in. */
export function findMissedUnits(model: PricedModel): readonly Unit[] {
  const missed = model.capabilities.flatMap((capability): Way => {
    const ways = toWays(capability);
    if (ways.some((way) => way.every((unit) => isPriced(model, unit)))) return [];
    return (ways[0] ?? []).filter((unit) => !isPriced(model, unit));
  });
  return [...new Set(missed)];
}

/** True when the model's requests can use the unit. */
export function isUnitUsed({ capabilities }: Pick<PricedModel, "capabilities">, unit: Unit): boolean {
  const usedBy: readonly string[] = UNIT_TABLE[unit].usedBy;
  return capabilities.some((capability) => usedBy.includes(capability));
}

/** True when the model has no price for the unit although its requests may use it, and are not told in another way that has. */
export function isPriceMissed(model: PricedModel, unit: Unit): boolean {
  const usedBy: readonly string[] = UNIT_TABLE[unit].usedBy;
  return model.capabilities.some((capability) => {
    if (isPriced(model, unit) || !usedBy.includes(capability)) return false;
    const ways = toWays(capability);
    if (isRareUnit(unit) && !ways.some((way) => way.includes(unit))) return false;
    const others = ways.length > 1 ? ways.filter((way) => !way.includes(unit)) : [];
    return !others.some((way) => way.every((one) => isPriced(model, one)));
  });
}

import { UNITS, type Unit } from "#kernel/units.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Model, Pricing } from "../../../api/catalog.ts";
import type { TeamUsageRow } from "../../../api/reports.ts";
import { toPairId } from "./feed-diff.ts";

/** What a priced name is: an alias, an upstream name, a relayed name, or a name that no model has any more. */
export type NameKind = "model" | "upstream" | "relay" | "gone";

/** A unit that was used and has no price now. */
export interface MissingPrice {
  readonly id: string;
  readonly name: string;
  readonly kind: NameKind;
  readonly unit: Unit;
  readonly quantity: number;
  /** That had some of it. */
  readonly requests: number;
}

/** What was used without a price that holds now, the largest quantity first. */
export function toMissingPrices(
  usage: readonly TeamUsageRow[],
  models: readonly Model[],
  kept: Pricing["entries"],
): readonly MissingPrice[] {
  const byAlias = new Map(models.map((model) => [model.alias, model]));
  const named = new Set(kept.map(({ model, unit }) => toPairId(model, unit)));
  const missing = new Map<string, MissingPrice>();
  for (const { model: name, provider, units, requests } of usage) {
    const isRelayed = provider === RELAY_PROVIDER;
    const model = isRelayed ? undefined : byAlias.get(name);
    for (const unit of UNITS) {
      const quantity = units[unit] ?? 0;
      const isPriced =
        model === undefined ? named.has(toPairId(name, unit)) : model.pricing[unit] !== undefined;
      if (quantity === 0 || isPriced) continue;
      const kind = isRelayed ? "relay" : model === undefined ? "gone" : "model";
      const id = `${kind} ${toPairId(name, unit)}`;
      const before = missing.get(id);
      missing.set(id, {
        id,
        name,
        kind,
        unit,
        quantity: (before?.quantity ?? 0) + quantity,
        requests: (before?.requests ?? 0) + requests,
      });
    }
  }
  return [...missing.values()].sort((left, right) => right.quantity - left.quantity);
}

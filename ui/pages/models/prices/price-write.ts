import type { Unit } from "#kernel/units.ts";
import type { Model, ModelPatch, Pricing, PricingFeed } from "../../../api/catalog.ts";
import type { NameKind } from "./kind-badge.tsx";

/** One price that shall hold for a name. */
export interface PriceWish {
  readonly name: string;
  readonly kind: NameKind;
  readonly unit: Unit;
  readonly pricePerMillion: number;
}

/** How one price is set without changing what the other units cost. */
export type PriceWrite =
  | { readonly kind: "patch"; readonly alias: string; readonly patch: ModelPatch; readonly from: Model }
  | { readonly kind: "feed"; readonly feed: PricingFeed };

/**
 * A write of a model's prices is its complete set: of a name for a target what it overrides so far and the new price, of a
 * binding whose prices were written with it those and the new one. Any other binding takes prices from feeds, also from
 * later ones, and a complete set would cut it off from them; and for a relayed or deleted name there is no model. There,
 * a feed of one entry sets the pair alone.
 */
export function planPriceWrite(
  wish: PriceWish,
  models: readonly Model[],
  { entries }: Pick<Pricing, "entries">,
  version: string,
): PriceWrite {
  const model = wish.kind === "model" ? models.find(({ alias }) => alias === wish.name) : undefined;
  const own = entries.filter((price) => price.model === model?.alias);
  if (model === undefined || !hasOwnSet(model, own)) return { kind: "feed", feed: toFeed(wish, version) };
  const kept = Object.fromEntries(own.map(({ unit, price_per_million: price }) => [unit, price]));
  return {
    kind: "patch",
    alias: model.alias,
    from: model,
    patch: { pricing: { ...kept, [wish.unit]: wish.pricePerMillion } },
  };
}

function hasOwnSet(model: Model, own: Pricing["entries"]): boolean {
  if (model.target !== null) return true;
  return own.length > 0 && !model.pricing_inherited && own.every(({ version }) => version === null);
}

function toFeed({ name, unit, pricePerMillion }: PriceWish, version: string): PricingFeed {
  return { version, entries: [{ model: name, unit, price_per_million: pricePerMillion }] };
}

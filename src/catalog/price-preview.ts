import type { ModelPrices } from "#kernel/price-variants.ts";
import { UNITS, byUnit } from "#kernel/units.ts";
import { type FeedDraft, planFeedLoad } from "./feed.ts";
import type { PricingDraft, VariantsDraft } from "./model.ts";
import { planModelUpdate } from "./model-plan.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";
import { createWorkingCopy } from "./working-copy.ts";

/** Prices that may be written: the complete set of a model, or entries of a feed. */
export type PriceDraft =
  | {
      readonly kind: "model";
      readonly alias: string;
      readonly pricing?: PricingDraft | undefined;
      readonly priceVariants?: VariantsDraft | undefined;
    }
  | ({ readonly kind: "feed" } & Omit<FeedDraft, "version">);

export interface PricePreview {
  /** Models whose prices in force would change, those that inherit them included, by alias. */
  readonly models: readonly { readonly before: ResolvedModel; readonly after: ResolvedModel }[];
  /** Names whose own prices would change: requests of the relay are priced by exactly these. */
  readonly names: readonly NamePreview[];
}

interface NamePreview {
  readonly name: string;
  readonly before: ModelPrices;
  readonly after: ModelPrices;
}

/** Finds all that a write of prices would change, by the rules of the write itself; nothing is changed. Throws what the write throws. */
export function previewPrices(current: CatalogPicture, draft: PriceDraft): PricePreview {
  const copy = createWorkingCopy(current);
  copy.write(planWrites(current, draft));
  const models = current.models.flatMap((before) => {
    const after = copy.findModel(before.model.alias);
    return after === null || isSame(before, after) ? [] : [{ before, after }];
  });
  const written = new Set(
    [...copy.listWrittenPrices(), ...copy.listWrittenVariants()].map(({ name }) => name),
  );
  const names = [...written].flatMap((name) => {
    const preview = { name, before: toOwnPrices(current, name), after: toOwnPrices(copy, name) };
    return isSame(preview.before, preview.after) ? [] : [preview];
  });
  return { models, names };
}

const UNDATED = { actor: null, nowUs: 0 };

function planWrites(current: CatalogPicture, draft: PriceDraft): readonly CatalogWrite[] {
  if (draft.kind === "model") {
    const { alias, pricing, priceVariants } = draft;
    return planModelUpdate(alias, { pricing, priceVariants }, UNDATED)(current).writes;
  }
  const feed = { version: "preview", entries: draft.entries, removed: draft.removed };
  return planFeedLoad(feed, { loadedAtUs: Number.MAX_SAFE_INTEGER, actor: null })(current).writes;
}

function toOwnPrices(picture: CatalogPicture, name: string): ModelPrices {
  const prices = byUnit(UNITS, (unit) => picture.findPrice(name, unit)?.pricePico ?? undefined);
  return { prices, variants: picture.findVariants(name)?.variants ?? [] };
}

function isSame(left: ModelPrices, right: ModelPrices): boolean {
  return (
    UNITS.every((unit) => (left.prices[unit] ?? null) === (right.prices[unit] ?? null)) &&
    Bun.deepEquals(left.variants, right.variants, true)
  );
}

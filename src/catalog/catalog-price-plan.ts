import type { InstantUs } from "#kernel/clock.ts";
import type { Unit } from "#kernel/units.ts";
import type { CatalogMode, ParsedCatalogDraft, ParsedCatalogModel } from "./catalog-draft.ts";
import { planFeedRows, refuseTooManyPrices } from "./feed-plan.ts";
import { findOwnPrices, planPriceRemoval, planPrices, type WrittenPrices } from "./price-plan.ts";
import type { ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";
import type { WorkingCopy } from "./working-copy.ts";

/** Whether the draft's feeds price this unit of this name. */
export type IsFed = (name: string, unit: Unit) => boolean;

/** Brings the feed prices of a catalog to a draft's. */
export function putFeeds(
  copy: WorkingCopy,
  { feedVersions, feedPrices }: ParsedCatalogDraft,
  { mode, loadedAtUs }: { readonly mode: CatalogMode; readonly loadedAtUs: InstantUs },
): IsFed {
  const fed = new Map<string, Set<Unit>>();
  for (const { name, unit } of feedPrices) fed.set(name, (fed.get(name) ?? new Set()).add(unit));
  const isFed: IsFed = (name, unit) => fed.get(name)?.has(unit) === true;
  if (mode === "prune") {
    const stale = copy.prices.filter(
      ({ name, unit, feedVersion }) => feedVersion !== null && !isFed(name, unit),
    );
    copy.write(stale.map(({ name, unit }): CatalogWrite => ({ kind: "delete_price", name, unit })));
  }
  const rows = feedPrices.filter(({ name, unit }) => mode !== "add" || copy.findPrice(name, unit) === null);
  refuseTooManyPrices(copy, rows, "feeds");
  const writes = planFeedRows(copy, rows);
  copy.write(writes);
  const newest = feedVersions.at(-1);
  const isLoaded =
    newest !== undefined &&
    (newest !== copy.feed?.version ||
      writes.some((write) => write.kind === "put_price" && write.price.feedVersion === newest));
  if (isLoaded) copy.write([{ kind: "put_feed", feed: { version: newest, loadedAtUs } }]);
  else if (newest === undefined && mode === "prune") copy.write([{ kind: "put_feed", feed: null }]);
  return isFed;
}

/**
 * Writes the prices that stand with a model where they are others than the draft's, or takes them away where it has none.
 * A model may be priced by the alias of another one, so that this goes on until nothing is left to write: once a model at most.
 */
export function settlePrices(copy: WorkingCopy, models: readonly ParsedCatalogModel[], isFed: IsFed): void {
  for (let isDone = false; !isDone;) {
    isDone = true;
    for (const { draft, pricing } of models) {
      const resolved = copy.findModel(draft.alias);
      if (resolved === null) continue;
      const writes = planOwnPrices(copy, resolved, { pricing, isFed });
      if (writes.length > 0) isDone = false;
      copy.write(writes);
    }
  }
}

function planOwnPrices(
  copy: WorkingCopy,
  resolved: ResolvedModel,
  { pricing, isFed }: { readonly pricing: WrittenPrices | null; readonly isFed: IsFed },
): readonly CatalogWrite[] {
  const { model } = resolved;
  const isFedHere = (unit: Unit) => isFed(model.alias, unit);
  const own = findOwnPrices(copy, resolved, isFedHere);
  if (pricing === null) return own === null ? [] : planPriceRemoval(copy, model);
  const wanted = new Map([...pricing].filter(([unit]) => !isFedHere(unit)));
  if (own !== null && isSamePrices(own, wanted)) return [];
  const change = { before: model, after: model, written: pricing };
  // A feed goes before what is written with a model, as if it were loaded afterwards.
  return planPrices(copy, change).filter((write) => {
    if (write.kind === "put_price") return !isFedHere(write.price.unit);
    return write.kind !== "delete_price" || !isFedHere(write.unit);
  });
}

function isSamePrices(left: WrittenPrices, right: WrittenPrices): boolean {
  return left.size === right.size && [...left].every(([unit, price]) => right.get(unit) === price);
}

import type { InstantUs } from "#kernel/clock.ts";
import { planFeedEntries } from "./feed.ts";
import type { BegunPrice, HeldPrice } from "./held-price.ts";
import { planHistory, toPriceKey } from "./price-history.ts";
import { planPrices } from "./price-plan.ts";
import type { KeptSchedule, PriceSchedule } from "./scheduled-prices.ts";
import { type CatalogPicture, type CatalogSnapshot, createSnapshot } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";
import { createWorkingCopy, type WorkingCopy } from "./working-copy.ts";

/** The change that scheduled prices are once their moment has come; none where the model is gone. */
function planDue(current: CatalogPicture, { atUs, change }: PriceSchedule): readonly CatalogWrite[] {
  if (change.kind === "feed") {
    const { version, entries } = change;
    const writes = planFeedEntries(current, { version, entries, onFull: () => undefined });
    return [...writes, { kind: "put_feed", feed: { version, loadedAtUs: atUs } }];
  }
  const model = current.findModelById(change.modelId)?.model;
  if (model === undefined) return [];
  const { prices, variants } = change;
  const written = prices === null ? undefined : new Map(prices);
  return planPrices(current, { before: model, after: model, written, variants: variants ?? undefined });
}

/** One step of what is due: the picture before it, and its writes. */
export interface DueStep {
  readonly before: CatalogPicture;
  readonly after: CatalogPicture;
  readonly schedule: KeptSchedule;
  readonly writes: readonly CatalogWrite[];
}

/** The steps by which scheduled prices take force, in the order of their moments. */
export function planDueSteps(
  current: CatalogPicture,
  schedules: readonly KeptSchedule[],
): readonly DueStep[] {
  let before: CatalogPicture = current;
  return schedules.map((schedule) => {
    const after: WorkingCopy = createWorkingCopy(before);
    const writes = planDue(before, schedule);
    after.write(writes);
    const step = { before, after, schedule, writes };
    before = after;
    return step;
  });
}

/** The catalog once these have taken force. */
export function withDue(current: CatalogSnapshot, schedules: readonly KeptSchedule[]): CatalogSnapshot {
  const after = planDueSteps(current, schedules).at(-1)?.after;
  if (after === undefined) return current;
  return createSnapshot({
    providers: after.providers,
    models: after.models.map(({ model }) => model),
    prices: after.prices,
    variants: after.variantRows,
    feed: after.feed,
  });
}

/** The first of what is due later: those before have come. */
export function findFirstToCome(schedules: readonly KeptSchedule[], nowUs: InstantUs): number {
  const at = schedules.findIndex(({ atUs }) => atUs > nowUs);
  return at === -1 ? schedules.length : at;
}

/** Prices that will hold, the last first, and the moments at which prices that hold by then end. */
export function planToCome(
  current: CatalogPicture,
  schedules: readonly KeptSchedule[],
): { readonly begun: readonly HeldPrice[]; readonly endsUs: ReadonlyMap<string, InstantUs> } {
  const begun: BegunPrice[] = [];
  const untilUs = new Map<BegunPrice, InstantUs>();
  const endsUs = new Map<string, InstantUs>();
  const open = new Map<string, BegunPrice>();
  for (const { before, after, schedule, writes } of planDueSteps(current, schedules)) {
    const { atUs } = schedule;
    const steps = planHistory(before, after, { writes, stamp: {}, atUs });
    for (const ended of steps.ended) {
      const key = toHeldKey(ended);
      const price = open.get(key);
      if (price === undefined) endsUs.set(key, atUs);
      else untilUs.set(price, atUs);
      open.delete(key);
    }
    for (const price of steps.begun) {
      begun.push(price);
      open.set(toHeldKey(price), price);
    }
  }
  return {
    begun: begun
      .map((price): HeldPrice => Object.assign({ untilUs: untilUs.get(price) ?? null }, price))
      .toReversed(),
    endsUs,
  };
}

export function toHeldKey({ name, unit, when }: Pick<HeldPrice, "name" | "unit" | "when">): string {
  return `${toPriceKey(unit, when)} ${name}`;
}

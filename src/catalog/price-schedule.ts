import { type Actor, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { PriceVariant } from "#kernel/price-variants.ts";
import type { PricePico, PriceSet, Unit } from "#kernel/units.ts";
import { planFeedEntries } from "./feed.ts";
import type { BegunPrice, HeldPrice } from "./held-price.ts";
import { planHistory, toPriceKey } from "./price-history.ts";
import { planPrices } from "./price-plan.ts";
import type { KeptSchedule, PriceSchedule, ScheduledEntry } from "./scheduled-prices.ts";
import { type CatalogPicture, type CatalogSnapshot, createSnapshot } from "./snapshot.ts";
import type { CatalogPlan, CatalogWrite } from "./store.ts";
import { mergePrice } from "./variant-list.ts";
import { createWorkingCopy, type WorkingCopy } from "./working-copy.ts";

/** Prices of one name that hold from a moment to come on. */
export interface PricesToCome {
  /** A feed of before prices were kept by name may have several names under one. */
  readonly id: number;
  readonly atUs: InstantUs;
  /** An alias, or a name that prices are kept by. */
  readonly name: string;
  /** The feed's, whose prices leave all others of the name; null of a write of the model, which has whole sets. */
  readonly version: string | null;
  /** Null leaves prices. */
  readonly prices: PriceSet | null;
  /** Null leaves variants. */
  readonly variants: readonly PriceVariant[] | null;
}

/** The prices to come, the next first; those of a model that is gone are none. */
export function listPricesToCome(current: CatalogPicture): readonly PricesToCome[] {
  return current.schedules.flatMap(({ id, atUs, change }): readonly PricesToCome[] => {
    if (change.kind === "model") {
      const name = current.findModelById(change.modelId)?.model.alias;
      if (name === undefined) return [];
      const prices: PriceSet | null = change.prices && Object.fromEntries(change.prices);
      return [{ id, atUs, name, version: null, prices, variants: change.variants }];
    }
    const { version } = change;
    const byName = Map.groupBy(change.entries, ({ name }) => name);
    return [...byName].map(([name, ofName]) => Object.assign({ id, atUs, name, version }, toSets(ofName)));
  });
}

function toSets(entries: readonly ScheduledEntry[]): Pick<PricesToCome, "prices" | "variants"> {
  const prices: { [unit in Unit]?: PricePico } = {};
  let variants: readonly PriceVariant[] = [];
  for (const { unit, pricePico, when } of entries) {
    if (when === undefined) prices[unit] = pricePico;
    else variants = mergePrice(variants, { when, unit, pricePico });
  }
  return {
    prices: Object.keys(prices).length === 0 ? null : prices,
    variants: variants.length === 0 ? null : variants,
  };
}

/** Takes prices to come back. The plan throws `schedule_not_found`, also for those that have taken force. */
export function planScheduleDelete(id: number, actor: Actor): CatalogPlan<void> {
  return (current) => {
    const found = listPricesToCome(current).find((prices) => prices.id === id);
    if (found === undefined) {
      throw new ProxyError(
        "schedule_not_found",
        "No prices to come have this id: they have taken force, or were taken back.",
      );
    }
    const { name, version } = found;
    const target =
      version === null
        ? ({ targetKind: "model", targetRef: name } as const)
        : ({ targetKind: "pricing_feed", targetRef: version } as const);
    const entry = toAuditEntry(actor, { action: "pricing.unschedule", ...target });
    return {
      writes: [{ kind: "delete_schedule", id }],
      audit: entry === null ? [] : [entry],
      result: () => undefined,
    };
  };
}

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
    schedules: current.schedules.slice(schedules.length),
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

import { type Actor, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { PriceVariant } from "#kernel/price-variants.ts";
import type { PricePico, PriceSet, Unit } from "#kernel/units.ts";
import type { CatalogMode } from "./catalog-draft.ts";
import { planFeedEntries, refuseTooManyPrices } from "./feed.ts";
import type { BegunPrice, HeldPrice } from "./held-price.ts";
import { compareSheets } from "./price-history.ts";
import { findChanged, type PriceInheritance, readInheritance } from "./price-inheritance.ts";
import { planPrices } from "./price-plan.ts";
import { readSheets } from "./price-sheet.ts";
import {
  type DraftedPricesToCome,
  type KeptSchedule,
  type PriceSchedule,
  type PricesToCome,
  refuseTooManySchedules,
  type ScheduledEntry,
  toPricePairs,
} from "./scheduled-prices.ts";
import { type CatalogPicture, type CatalogSnapshot, createSnapshot, type ResolvedModel } from "./snapshot.ts";
import type { CatalogPlan, CatalogWrite } from "./store.ts";
import { mergePrice, toPriceKey } from "./variant-list.ts";
import { createWorkingCopy, type WorkingCopy } from "./working-copy.ts";

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

/**
 * Finds how many prices of a feed to come find no room in the list of their name, as things are: it has become
 * longer since they were loaded. They are left out when their moment comes.
 */
export function findLeftOut(current: CatalogPicture): (coming: PricesToCome) => number {
  const leftOut = new Map<string, number>();
  takeForce(createWorkingCopy(current), current.schedules, ({ id }, entries) => {
    for (const [name, ofName] of Map.groupBy(entries, (entry) => entry.name))
      leftOut.set(`${id} ${name}`, ofName.length);
  });
  return ({ id, name }) => leftOut.get(`${id} ${name}`) ?? 0;
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

/** The change of the prices to come of one name at one moment; null is none. */
export interface ToComeChange {
  readonly kind: "prices_to_come";
  readonly name: string;
  readonly before: DraftedPricesToCome | null;
  readonly after: DraftedPricesToCome | null;
}

interface ToComeDifference {
  /** By their moments. */
  readonly changes: readonly ToComeChange[];
  readonly gone: readonly PricesToCome[];
  /** Those of one moment in the order in which they take force. */
  readonly made: readonly DraftedPricesToCome[];
  /** How many the draft does not have, and that stay. */
  readonly keptCount: number;
}

/** Compares the prices to come with a draft of them all: what it has of a name at a moment takes the place of what is there. */
export function compareToCome(
  current: CatalogPicture,
  drafted: readonly DraftedPricesToCome[],
  mode: CatalogMode,
): ToComeDifference {
  const [changes, gone, made]: [ToComeChange[], PricesToCome[], DraftedPricesToCome[]] = [[], [], []];
  const there = Map.groupBy(listPricesToCome(current), ({ atUs }) => atUs);
  const wanted = Map.groupBy(drafted, ({ atUs }) => atUs);
  let keptCount = 0;
  for (const atUs of new Set([...there.keys(), ...wanted.keys()])) {
    const [was, all] = [there.get(atUs) ?? [], wanted.get(atUs) ?? []];
    const names = new Set(all.map(({ name }) => name));
    const known = new Set(was.map(({ name }) => name));
    const is = mode === "add" ? all.filter(({ name }) => !known.has(name)) : all;
    const replaced = mode === "prune" ? was : mode === "add" ? [] : was.filter(({ name }) => names.has(name));
    if (mode !== "prune") keptCount += was.filter(({ name }) => !names.has(name)).length;
    const ofMoment = compareMoment(replaced, is);
    // All of a moment is written again, since the later of two that meet wins.
    if (ofMoment.length > 0) {
      gone.push(...replaced);
      made.push(...is);
    }
    changes.push(...ofMoment);
  }
  const toMoment = ({ before, after }: ToComeChange) => (after ?? before)?.atUs ?? 0;
  return {
    changes: changes.toSorted((left, right) => toMoment(left) - toMoment(right)),
    gone,
    made,
    keptCount,
  };
}

function compareMoment(
  was: readonly PricesToCome[],
  is: readonly DraftedPricesToCome[],
): readonly ToComeChange[] {
  const [former, next] = [Map.groupBy(was.map(toDrafted), toName), Map.groupBy(is, toName)];
  return [...new Set([...former.keys(), ...next.keys()])].flatMap((name) => {
    const [olds, news] = [former.get(name) ?? [], next.get(name) ?? []];
    const length = Math.max(olds.length, news.length);
    return Array.from({ length }, (_, at): readonly ToComeChange[] => {
      const [before, after] = [olds[at] ?? null, news[at] ?? null];
      return Bun.deepEquals(before, after, true) ? [] : [{ kind: "prices_to_come", name, before, after }];
    }).flat();
  });
}

function toDrafted({ atUs, name, version, prices, variants }: PricesToCome): DraftedPricesToCome {
  return { atUs, name, version, prices, variants };
}

/** Writes a difference into a copy. Throws `model_not_found`, `too_many_schedules` and `invalid_pricing`. */
export function putToCome(copy: WorkingCopy, { gone, made }: ToComeDifference): readonly CatalogWrite[] {
  const names = Map.groupBy(gone, ({ id }) => id);
  const ids = [...names.keys()];
  // A feed of before prices were kept by name may have others under the same id.
  const spared = listPricesToCome(copy).filter(
    ({ id, name }) => names.get(id)?.every((each) => each.name !== name) === true,
  );
  const deletions = ids.map((id): CatalogWrite => ({ kind: "delete_schedule", id }));
  copy.write(deletions);
  const schedules = [...spared, ...made].map((prices) => toSchedule(copy, prices));
  refuseTooManySchedules(copy, schedules, "prices_to_come");
  const puts = schedules.map((schedule): CatalogWrite => ({ kind: "put_schedule", schedule }));
  refuseTooManyPrices(copy, puts, "prices_to_come");
  copy.write(puts);
  return [...deletions, ...puts];
}

function toSchedule(
  current: CatalogPicture,
  { atUs, name, version, prices, variants }: DraftedPricesToCome,
): PriceSchedule {
  const pairs = prices && toPricePairs(prices);
  if (version !== null) {
    const standard = (pairs ?? []).map(([unit, pricePico]) => ({ name, unit, pricePico }));
    const conditioned = (variants ?? []).flatMap(({ when, ...set }) =>
      toPricePairs(set).map(([unit, pricePico]) => ({ name, unit, pricePico, when })),
    );
    return { atUs, change: { kind: "feed", version, entries: [...standard, ...conditioned] } };
  }
  const modelId = current.findModel(name)?.model.id;
  if (modelId === undefined)
    throw new ProxyError(
      "model_not_found",
      "Prices to come without a feed are a model's, and there is none of this name in the catalog.",
      { param: "prices_to_come" },
    );
  return { atUs, change: { kind: "model", modelId, prices: pairs, variants } };
}

function toName({ name }: DraftedPricesToCome): string {
  return name;
}

/** Told of the prices of a feed that find no room in the list of their name when their moment comes. */
export type TellDropped = (schedule: KeptSchedule, dropped: readonly ScheduledEntry[]) => void;

/** Writes the prices of one moment into a copy. Those of a model that is gone are none. */
function takeForce(
  copy: WorkingCopy,
  schedules: readonly KeptSchedule[],
  tell: TellDropped = () => undefined,
): readonly CatalogWrite[] {
  const taken: CatalogWrite[] = [];
  for (const schedule of schedules) {
    const dropped: ScheduledEntry[] = [];
    const writes = planDue(copy, schedule, (entry) => void dropped.push(entry));
    copy.write(writes);
    taken.push(...writes);
    if (dropped.length > 0) tell(schedule, dropped);
  }
  return taken;
}

function planDue(
  current: CatalogPicture,
  { atUs, change }: PriceSchedule,
  drop: (entry: ScheduledEntry) => void,
): readonly CatalogWrite[] {
  if (change.kind === "feed") {
    const { version, entries } = change;
    const onFull = (_: number, entry: ScheduledEntry) => drop(entry);
    const writes = planFeedEntries(current, { version, entries, onFull });
    return [...writes, { kind: "put_feed", feed: { version, loadedAtUs: atUs } }];
  }
  const model = current.findModelById(change.modelId)?.model;
  if (model === undefined) return [];
  const { prices, variants } = change;
  const written = prices === null ? undefined : new Map(prices);
  return planPrices(current, { before: model, after: model, written, variants: variants ?? undefined });
}

/** The catalog once these have taken force: one copy, however many there are. */
export function withDue(
  current: CatalogSnapshot,
  schedules: readonly KeptSchedule[],
  tell: TellDropped,
): CatalogSnapshot {
  if (schedules.length === 0) return current;
  const copy = createWorkingCopy(current);
  takeForce(copy, schedules, tell);
  return createSnapshot({
    providers: current.providers,
    models: current.models.map(({ model }) => model),
    prices: copy.prices,
    variants: copy.variantRows,
    feed: copy.feed,
    schedules: current.schedules.slice(schedules.length),
  });
}

/** The first of what is due later: those before have come. */
export function findFirstToCome(schedules: readonly KeptSchedule[], nowUs: InstantUs): number {
  const at = schedules.findIndex(({ atUs }) => atUs > nowUs);
  return at === -1 ? schedules.length : at;
}

/** A schedule, and its prices that find no room in the list of their name. */
export type DroppedPrices = Parameters<TellDropped>;

interface PlannedToCome {
  /** All of them together. */
  readonly writes: readonly CatalogWrite[];
  /** Prices that will hold, the last first. */
  readonly begun: readonly HeldPrice[];
  /** Prices that hold by then and end, by `toHeldKey`. */
  readonly ended: ReadonlyMap<string, EndedPrice>;
  /** Prices of a schedule that find no room, by schedule. */
  readonly dropped: readonly DroppedPrices[];
  readonly inherited: readonly PriceInheritance[];
}

/** The price of a name that holds, and the moment at which it ends. */
export interface EndedPrice extends Pick<HeldPrice, "name" | "unit" | "when"> {
  readonly untilUs: InstantUs;
}

/** What scheduled prices do to the history, moment by moment: only names that one of them may change are looked at. */
export function planToCome(current: CatalogPicture, schedules: readonly KeptSchedule[]): PlannedToCome {
  const writes: CatalogWrite[] = [];
  const begun: BegunPrice[] = [];
  const untilUs = new Map<BegunPrice, InstantUs>();
  const held = new Map<string, EndedPrice>();
  const open = new Map<string, BegunPrice>();
  const dropped: DroppedPrices[] = [];
  const inherited: PriceInheritance[] = [];
  if (schedules.length === 0) return { writes, begun: [], ended: held, dropped, inherited };
  const copy = createWorkingCopy(current);
  const heirs = indexHeirs(current.models);
  for (const [atUs, ofMoment] of Map.groupBy(schedules, (schedule) => schedule.atUs)) {
    const names = listTouched(current, ofMoment, heirs);
    const [was, inheritedBefore] = [readSheets(copy, names), readInheritance(copy, names, atUs)];
    writes.push(...takeForce(copy, ofMoment, (...prices) => void dropped.push(prices)));
    inherited.push(...findChanged(inheritedBefore, readInheritance(copy, names, atUs)));
    const steps = compareSheets(names, { was, is: readSheets(copy, names), atUs });
    for (const ended of steps.ended) {
      const key = toHeldKey(ended);
      const price = open.get(key);
      if (price === undefined) held.set(key, { ...ended, untilUs: atUs });
      else untilUs.set(price, atUs);
      open.delete(key);
    }
    for (const price of steps.begun) {
      begun.push(price);
      open.set(toHeldKey(price), price);
    }
  }
  return {
    writes: withLastFeed(writes),
    begun: begun
      .map((price): HeldPrice => Object.assign({ untilUs: untilUs.get(price) ?? null }, price))
      .toReversed(),
    ended: held,
    dropped,
    inherited,
  };
}

/** The aliases that look for their prices under a name, without its own. */
type Heirs = ReadonlyMap<string, readonly string[]>;

function indexHeirs(models: Iterable<ResolvedModel>): Heirs {
  const heirs = new Map<string, string[]>();
  for (const { model, bound, upstreamName } of models) {
    for (const name of new Set([bound.alias, upstreamName]))
      if (name !== model.alias) heirs.getOrInsertComputed(name, () => []).push(model.alias);
  }
  return heirs;
}

function listTouched(
  current: CatalogPicture,
  schedules: readonly KeptSchedule[],
  heirs: Heirs,
): readonly string[] {
  const written = schedules.flatMap(({ change }): readonly string[] => {
    if (change.kind === "feed") return change.entries.map(({ name }) => name);
    const alias = current.findModelById(change.modelId)?.model.alias;
    return alias === undefined ? [] : [alias];
  });
  const names = new Set(written);
  return [...new Set([...names, ...[...names].flatMap((name) => heirs.get(name) ?? [])])];
}

/** Each load of a feed would be a statement of its own, and only the newest one stays. */
function withLastFeed(writes: readonly CatalogWrite[]): readonly CatalogWrite[] {
  const last = writes.findLast(({ kind }) => kind === "put_feed");
  return writes.filter((write) => write.kind !== "put_feed" || write === last);
}

export function toHeldKey({ name, unit, when }: Pick<HeldPrice, "name" | "unit" | "when">): string {
  return `${toPriceKey(unit, when)} ${name}`;
}

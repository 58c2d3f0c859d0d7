import type { InstantUs } from "#kernel/clock.ts";
import type { UsageBeginning, UsageEnding } from "#usage/event.ts";
import {
  Amounts,
  begin,
  type Counter,
  createEntry,
  end,
  type Entry,
  getCounter,
  isCountedFromBegin,
  isHeard,
  type LimitRefusals,
  type LimitUse,
  type MetLimit,
  settle,
  sweep,
  toMet,
  toOpenUses,
  toUse,
  toUses,
} from "./limit-entry.ts";
import { NONE_USED } from "./limit-counter.ts";
import { LimitIndex } from "./limit-index.ts";
import type { LimitSum } from "./limit-sums.ts";
import { type Limit, type LimitedRequest, isCountedAlike, toWatchedFrom, type UseWatch } from "./limit.ts";
import type { ToldUses, OpenUse } from "./open-elsewhere.ts";

/**
 * Every limit with what has been used of it. It is rebuilt from the ledger, and moves with each event: nothing else is
 * counted, so that it cannot drift. Synchronous; all calls are on the thread that serves requests.
 */
export class LimitBook {
  /** True when the ledger's sums are in of every limit. */
  isComplete = true;
  /** True when it is known of every limit what others have of it. */
  isHeard = true;
  #entries = new Map<string, Entry>();
  #index = new LimitIndex<Entry>([]);
  /** All that are under way, also those that no limit holds for: a limit that is made meanwhile does. */
  readonly #underWay = new Set<UsageBeginning>();
  readonly #watch: UseWatch | null;
  readonly #isShared: boolean;

  /** `isShared`: other processes let requests through that count as well. */
  constructor(watch: UseWatch | null = null, { isShared = false }: { readonly isShared?: boolean } = {}) {
    this.#watch = watch;
    this.#isShared = isShared;
  }

  /** True when there is a limit that could refuse or warn. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /**
   * Takes over another set of limits. Those that count as before keep what they have counted, or what is being added up for
   * them; the others are missing, and refuse nothing until `load`.
   */
  replace(limits: readonly Limit[]): void {
    const before = this.#entries;
    this.#entries = new Map();
    for (const limit of limits) {
      const known = before.get(limit.id);
      const isKept = known !== undefined && (known.isLoaded || known.isAsked);
      this.#entries.set(
        limit.id,
        isKept && isCountedAlike(known.limit, limit)
          ? { ...known, limit, watchedFrom: toWatchedFrom(limit) }
          : createEntry(limit, { isShared: this.#isShared, earlier: known }),
      );
    }
    this.#reindex(before);
  }

  /** Forgets what these have counted, as before their `load`. */
  forget(limits: readonly Pick<Limit, "id">[]): void {
    const before = this.#entries;
    this.#entries = new Map(before);
    for (const { id } of limits) {
      const earlier = before.get(id);
      if (earlier === undefined) continue;
      this.#entries.set(id, createEntry(earlier.limit, { isShared: this.#isShared, earlier }));
    }
    this.#reindex(before);
  }

  /** The limits whose sums are missing. They count from now on: the ledger has to be asked in the same turn. */
  askMissing(): readonly Limit[] {
    const missing = [...this.#entries.values()].flatMap(({ isLoaded, limit }) => (isLoaded ? [] : [limit]));
    // What they have seen meanwhile is in the ledger by now.
    this.forget(missing);
    this.#setAsked(missing, true);
    return missing;
  }

  /** Another book of the same limits, requests under way and refusals; all that the ledger has counts from its `load` on. */
  toSuccessor(): { readonly book: LimitBook; readonly missing: readonly Limit[] } {
    const book = new LimitBook(this.#watch, { isShared: this.#isShared });
    for (const request of this.#underWay) book.#underWay.add(request);
    book.#entries = this.#entries;
    book.forget([...this.#entries.values()].map(({ limit }) => limit));
    return { book, missing: book.askMissing() };
  }

  /** What the ledger held when they were asked for. Of limits that were made or changed meanwhile it is not taken in. */
  load(limits: readonly Pick<Limit, "id">[], sums: readonly LimitSum[]): void {
    for (const sum of sums) {
      const entry = this.#entries.get(sum.limitId);
      if (entry?.isAsked === true) getCounter(entry, sum).sums?.load(sum.parts);
    }
    for (const { id } of limits) {
      const entry = this.#entries.get(id);
      if (entry?.isAsked === true) entry.isLoaded = true;
    }
    this.giveUp(limits);
  }

  /** Instead of `load`: they are missing as before. */
  giveUp(limits: readonly Pick<Limit, "id">[]): void {
    this.#setAsked(limits, false);
  }

  /** True when the ledger's sums are missing of a limit that holds for the request. */
  isWaitedFor(request: LimitedRequest): boolean {
    let isWaited = false;
    this.#index.visit(request, ({ limit, isLoaded }) => (isWaited ||= limit.enabled && !isLoaded));
    return isWaited;
  }

  /** True when it is unknown what others have of a limit that holds for the request. */
  isUnheard(request: LimitedRequest): boolean {
    let isUnheard = false;
    this.#index.visit(request, (entry) => (isUnheard ||= entry.limit.enabled && !isHeard(entry)));
    return isUnheard;
  }

  /** The limits that a request meets which is about to begin. `hasPrice` tells whether all that it will use has a price. */
  findMet(request: UsageBeginning, nowUs: InstantUs, hasPrice: () => boolean): readonly MetLimit[] {
    let met: MetLimit[] | null = null;
    const asked = { request, nowUs, hasPrice };
    this.#index.visit(request, (entry, value) => {
      if (!entry.isLoaded) return;
      const found = toMet(entry, value, asked);
      if (found !== null) (met ??= []).push(found);
    });
    return met ?? NONE;
  }

  /** True when a limit that refuses holds for the caller, and has to know the model or what it costs. */
  dependsOnModel(request: LimitedRequest): boolean {
    return this.#index.someOfAnyModel(request, ({ limit }) => {
      const { enabled, action, model, measure } = limit;
      return (
        enabled &&
        action === "refuse" &&
        (model !== null || (measure !== "requests" && measure !== "concurrent"))
      );
    });
  }

  refused({ limit, value }: MetLimit, nowUs: InstantUs): void {
    const entry = this.#entries.get(limit.id);
    if (entry === undefined) return;
    entry.refusals.count += 1;
    entry.refusals.lastAtUs = nowUs;
    entry.elsewhere?.refused(value);
  }

  /** What is under way of limits that other processes share; null when there are none. */
  takeOpenUses(): readonly OpenUse[] | null {
    const shared = [...this.#entries.values()].filter(({ elsewhere }) => elsewhere !== null);
    return shared.length === 0 ? null : shared.flatMap(toOpenUses);
  }

  /** What other processes have under way, from now on. */
  hear(told: ToldUses): void {
    for (const { limit, counters, elsewhere } of this.#entries.values()) {
      const values = told.toElsewhere(limit, (value) => counters.get(value)?.underWay ?? 0);
      elsewhere?.hear(values, told.isToldByAll(limit));
    }
    this.isHeard = this.#entries.values().every(isHeard);
  }

  /** Some have not told in time: what was told so far counts. */
  stopHearing(): void {
    for (const { elsewhere } of this.#entries.values()) elsewhere?.stopHearing();
    this.isHeard = true;
  }

  /** Called once when a request's event is begun. */
  began(request: UsageBeginning): void {
    this.#underWay.add(request);
    if (this.#entries.size > 0) this.#begin(request);
  }

  #begin(request: UsageBeginning): void {
    this.#index.visit(request, (entry, value) => {
      const counter = begin(entry, value, request);
      if (isCountedFromBegin(entry.limit)) this.#tell(entry, counter, request.arrivedAtUs);
    });
  }

  /** Called once when its event is written, in the same turn. `named`: under the model that its answer named, where it began without one. */
  ended(request: UsageBeginning, ending: UsageEnding, named?: UsageBeginning): void {
    this.#underWay.delete(request);
    if (this.#entries.size > 0) this.#end(request, ending, named);
  }

  #end(request: UsageBeginning, ending: UsageEnding, named: UsageBeginning | undefined): void {
    const amounts = new Amounts(request, ending);
    this.#index.visit(request, (entry, value) => {
      const counter = end(entry, value, { request, amounts });
      if (counter !== null && !isCountedFromBegin(entry.limit)) this.#tell(entry, counter, amounts.endedAtUs);
    });
    if (named === undefined) return;
    // Limits of that model have not seen it begin, and the ledger has it among theirs.
    this.#index.visit(named, (entry, value) => {
      if (entry.limit.model === null) return;
      begin(entry, value, named);
      const counter = end(entry, value, { request: named, amounts });
      if (counter !== null) this.#tell(entry, counter, amounts.endedAtUs);
    });
  }

  /**
   * Called once when a pending event is settled, in the same turn: it counts where it was settled, and no longer where its
   * request ended.
   */
  settled(request: UsageBeginning, before: UsageEnding, after: UsageEnding): void {
    if (this.#entries.size === 0) return;
    const amounts = { before: new Amounts(request, before), after: new Amounts(request, after) };
    this.#index.visit(request, (entry, value) => {
      const counter = settle(entry, value, { request, ...amounts });
      this.#tell(entry, counter, amounts.after.endedAtUs);
    });
  }

  /** Tells the watch of all that was counted. */
  tellAll(nowUs: InstantUs): void {
    for (const entry of this.#entries.values())
      for (const counter of entry.counters.values()) this.#tell(entry, counter, nowUs);
  }

  /** Called instead of `ended` when the event could not be written. */
  lost(request: UsageBeginning): void {
    this.#underWay.delete(request);
    this.#index.visit(request, (entry, value) => void end(entry, value, { request, amounts: null }));
  }

  /** What was used of a limit, the most used first; one row without `each`, or none when nothing was. */
  listUses(limitId: string, nowUs: InstantUs): readonly LimitUse[] {
    const entry = this.#entries.get(limitId);
    if (entry === undefined || !entry.isLoaded) return [];
    return toUses(entry, nowUs);
  }

  /** What was used by one value of `each`. */
  findUse(limitId: string, value: string, nowUs: InstantUs): LimitUse {
    const entry = this.#entries.get(limitId);
    return entry === undefined ? { value, label: value, ...NONE_USED } : toUse(entry, value, nowUs);
  }

  refusalsOf(limitId: string): LimitRefusals {
    return this.#entries.get(limitId)?.refusals ?? { count: 0, lastAtUs: null };
  }

  /** Drops values of `each` that have nothing under way and nothing in their window. */
  sweep(nowUs: InstantUs): void {
    for (const entry of this.#entries.values()) sweep(entry, nowUs);
  }

  #tell({ limit, isLoaded, watchedFrom }: Entry, counter: Counter, atUs: InstantUs): void {
    if (this.#watch === null || !isLoaded || counter.sums === null) return;
    const used = counter.sums.usedAt(atUs).amount;
    if (used >= watchedFrom) this.#watch.moved(limit, counter, { used, atUs });
  }

  #setAsked(limits: readonly Pick<Limit, "id">[], isAsked: boolean): void {
    for (const { id } of limits) {
      const entry = this.#entries.get(id);
      if (entry !== undefined) entry.isAsked = isAsked;
    }
    this.isComplete = this.#entries.values().every(({ isLoaded }) => isLoaded);
  }

  /** Requests that are under way begin in the entries that count anew, which are not those of `before`. */
  #reindex(before: ReadonlyMap<string, Entry>): void {
    // One that is disabled counts on: it may be enabled again.
    this.#index = new LimitIndex(this.#entries.values());
    this.isComplete = this.#entries.values().every(({ isLoaded }) => isLoaded);
    this.isHeard = this.#entries.values().every(isHeard);
    for (const request of this.#underWay) {
      this.#index.visit(request, (entry, value) => {
        if (before.get(entry.limit.id)?.counters === entry.counters) return;
        begin(entry, value, request);
      });
    }
  }
}

const NONE: readonly MetLimit[] = [];

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
  type LimitUse,
  type MetLimit,
  sweep,
  toLabel,
  toMet,
  toOpenUses,
  toUse,
  toUses,
} from "./limit-entry.ts";
import type { OpenUse } from "./limit-board.ts";
import { LimitIndex } from "./limit-index.ts";
import type { LimitSum } from "./limit-sums.ts";
import { type Limit, type LimitedRequest, isCountedAlike } from "./limit.ts";
import type { ToldUses } from "./open-elsewhere.ts";
import { toWatchedFrom, type UseWatch } from "./use-watch.ts";

/** What a limit does to requests: for the views of it. */
export interface LimitRefusals {
  readonly count: number;
  readonly lastAtUs: InstantUs | null;
}

/**
 * Every limit with what has been used of it. It is rebuilt from the ledger, and moves with each event: nothing else is
 * counted, so that it cannot drift. Synchronous; all calls are on the thread that serves requests.
 */
export class LimitBook {
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

  /** Whether there is a limit that could refuse or warn. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /**
   * Takes over another set of limits. Those that count as before keep what they have counted; returns the others, which
   * refuse nothing until `load`.
   */
  replace(limits: readonly Limit[]): readonly Limit[] {
    const before = this.#entries;
    this.#entries = new Map();
    const missing: Limit[] = [];
    for (const limit of limits) {
      const known = before.get(limit.id);
      // One that was never loaded begins again: what it has seen meanwhile is in the ledger by now.
      if (known?.isLoaded === true && isCountedAlike(known.limit, limit)) {
        this.#entries.set(limit.id, { ...known, limit, watchedFrom: toWatchedFrom(limit) });
      } else {
        const entry = createEntry(limit, { isShared: this.#isShared, earlier: known });
        this.#entries.set(limit.id, entry);
        if (!entry.isLoaded) missing.push(limit);
      }
    }
    this.#index = this.#toIndex();
    this.#countUnderWay(before);
    return missing;
  }

  /** Forgets what these have counted, as before their `load`. */
  forget(limits: readonly Limit[]): void {
    for (const { id } of limits) {
      const earlier = this.#entries.get(id);
      if (earlier === undefined) continue;
      this.#entries.set(id, createEntry(earlier.limit, { isShared: this.#isShared, earlier }));
    }
    const kept = new Map(this.#entries);
    for (const limit of limits) kept.delete(limit.id);
    this.#index = this.#toIndex();
    this.#countUnderWay(kept);
  }

  /** Another book of the same limits, requests under way and refusals; all that the ledger has counts from its `load` on. */
  toSuccessor(): { readonly book: LimitBook; readonly missing: readonly Limit[] } {
    const isShared = this.#isShared;
    const book = new LimitBook(this.#watch, { isShared });
    for (const request of this.#underWay) book.#underWay.add(request);
    for (const [id, earlier] of this.#entries)
      book.#entries.set(id, createEntry(earlier.limit, { isShared, earlier }));
    book.#index = book.#toIndex();
    book.#countUnderWay(new Map());
    const all = [...this.#entries.values()].map(({ limit }) => limit);
    return { book, missing: all.filter(({ measure }) => measure !== "concurrent") };
  }

  /** What the ledger held when `replace` or `forget` was called. */
  load(limits: readonly Limit[], sums: readonly LimitSum[]): void {
    for (const { limitId, value, label, parts } of sums) {
      const entry = this.#entries.get(limitId);
      if (entry === undefined || entry.isLoaded) continue;
      getCounter(entry, value, label).sums?.load(parts);
    }
    for (const { id } of limits) {
      const entry = this.#entries.get(id);
      if (entry !== undefined) entry.isLoaded = true;
    }
  }

  /** Whether the ledger's sums are missing of a limit that holds for the request. */
  isWaitedFor(request: LimitedRequest): boolean {
    let isWaited = false;
    this.#index.visit(request, ({ limit, isLoaded }) => (isWaited ||= limit.enabled && !isLoaded));
    return isWaited;
  }

  /** The limits that a request meets which is about to begin. `hasPrice` tells whether all that it will use has a price. */
  findMet(request: UsageBeginning, nowUs: InstantUs, hasPrice: () => boolean): readonly MetLimit[] {
    let met: MetLimit[] | null = null;
    this.#index.visit(request, (entry, value) => {
      if (!entry.isLoaded) return;
      const found = toMet(entry, value, { nowUs, hasPrice });
      if (found !== null) (met ??= []).push(found);
    });
    return met ?? NONE;
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
    for (const { limit, counters, elsewhere } of this.#entries.values())
      elsewhere?.hear(told.toElsewhere(limit, (value) => counters.get(value)?.underWay ?? 0));
  }

  /** Called once when a request's event is begun. */
  began(request: UsageBeginning): void {
    this.#underWay.add(request);
    if (this.#entries.size === 0) return;
    this.#index.visit(request, (entry, value) => {
      const counter = getCounter(entry, value, toLabel(entry, value, request));
      begin(entry, counter, request);
      if (isCountedFromBegin(entry.limit)) this.#tell(entry, counter, request.arrivedAtUs);
    });
  }

  /** Called once when its event is written, in the same turn. */
  ended(request: UsageBeginning, ending: UsageEnding): void {
    this.#underWay.delete(request);
    if (this.#entries.size === 0) return;
    const amounts = new Amounts(request, ending);
    this.#index.visit(request, (entry, value) => {
      const counter = getCounter(entry, value, toLabel(entry, value, request));
      end(entry, counter, { request, amounts });
      if (!isCountedFromBegin(entry.limit)) this.#tell(entry, counter, amounts.endedAtUs);
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
    this.#index.visit(request, (entry, value) => {
      getCounter(entry, value, toLabel(entry, value, request)).underWay -= 1;
    });
  }

  /** What was used of a limit, the most used first; one row without `each`, or none when nothing was. */
  listUses(limitId: string, nowUs: InstantUs): readonly LimitUse[] {
    const entry = this.#entries.get(limitId);
    if (entry === undefined || !entry.isLoaded) return [];
    return toUses(entry, nowUs).sort((one, other) => compareUses(other, one));
  }

  /** What was used by one value of `each`. */
  findUse(limitId: string, value: string, nowUs: InstantUs): LimitUse {
    const entry = this.#entries.get(limitId);
    return entry === undefined
      ? { value, label: value, amount: 0n, unpriced: 0 }
      : toUse(entry, value, nowUs);
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

  #toIndex(): LimitIndex<Entry> {
    // One that is disabled counts on: it may be enabled again.
    return new LimitIndex(this.#entries.values());
  }

  /** Requests that are under way begin in the entries that did not know of them. */
  #countUnderWay(known: ReadonlyMap<string, Entry>): void {
    for (const request of this.#underWay) {
      this.#index.visit(request, (entry, value) => {
        if (known.get(entry.limit.id)?.counters === entry.counters) return;
        begin(entry, getCounter(entry, value, toLabel(entry, value, request)), request);
      });
    }
  }
}

const NONE: readonly MetLimit[] = [];

function compareUses(one: LimitUse, other: LimitUse): number {
  if (one.amount !== other.amount) return one.amount < other.amount ? -1 : 1;
  return one.label < other.label ? 1 : one.label > other.label ? -1 : 0;
}

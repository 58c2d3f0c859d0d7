import type { InstantUs } from "#kernel/clock.ts";
import type { ReportedUsage, UsageBeginning, UsageEnding } from "#usage/event.ts";
import { normaliseUsage } from "#usage/normalise.ts";
import { createWindowSums, type Used, type WindowSums } from "./limit-counter.ts";
import { LimitIndex } from "./limit-index.ts";
import type { LimitSum } from "./limit-sums.ts";
import { isSliding } from "./limit-window.ts";
import { type Limit, isCountedAlike } from "./limit.ts";
import type { UseWatch } from "./use-watch.ts";

/**
 * Values of one `each` that are counted apart; what comes beyond shares one count, which is called `(other)`. Callers choose
 * the values of tags freely.
 */
export const EACH_VALUES_MAX = 100_000;
export const OTHER_VALUES = "(other)";

/** What one limit, or one value of its `each`, has counted. */
export interface LimitUse extends Used {
  readonly value: string;
  readonly label: string;
}

/** A limit that a request has met. */
export interface MetLimit extends Used {
  readonly limit: Limit;
  /** The first instant at which it lets a request through again; null when that is not known, or never. */
  readonly freeAtUs: InstantUs | null;
  /** True where it is the missing price of the model that is refused. */
  readonly isUnpriced: boolean;
}

interface Counter {
  readonly value: string;
  readonly label: string;
  /** Requests that have begun and not ended. */
  underWay: number;
  /** Null for `concurrent`. */
  readonly sums: WindowSums | null;
}

/** A limit with what it counts. */
interface Entry {
  readonly limit: Limit;
  readonly counters: Map<string, Counter>;
  /** False until the ledger's sums are in: nothing is refused on half of them. */
  isLoaded: boolean;
  /** Since the start. */
  readonly refusals: { count: number; lastAtUs: InstantUs | null };
}

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

  constructor(watch: UseWatch | null = null) {
    this.#watch = watch;
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
        this.#entries.set(limit.id, { ...known, limit });
      } else {
        const refusals = known?.refusals ?? { count: 0, lastAtUs: null };
        const isLoaded = limit.measure === "concurrent";
        this.#entries.set(limit.id, { limit, counters: new Map(), isLoaded, refusals });
        if (!isLoaded) missing.push(limit);
      }
    }
    this.#index = this.#toIndex();
    this.#countUnderWay(before);
    return missing;
  }

  /** Forgets what these have counted, as before their `load`. */
  forget(limits: readonly Limit[]): void {
    for (const limit of limits) {
      const entry = this.#entries.get(limit.id);
      if (entry === undefined) continue;
      this.#entries.set(limit.id, {
        ...entry,
        counters: new Map(),
        isLoaded: limit.measure === "concurrent",
      });
    }
    const kept = new Map(this.#entries);
    for (const limit of limits) kept.delete(limit.id);
    this.#index = this.#toIndex();
    this.#countUnderWay(kept);
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

  /** The limits that a request meets which is about to begin. `hasPrice` tells whether all that it will use has a price. */
  findMet(request: UsageBeginning, nowUs: InstantUs, hasPrice: () => boolean): readonly MetLimit[] {
    let met: MetLimit[] | null = null;
    this.#index.visit(request, (entry, value) => {
      if (!entry.isLoaded) return;
      const found = toMet(entry, findCounter(entry, value), { nowUs, hasPrice });
      if (found !== null) (met ??= []).push(found);
    });
    return met ?? NONE;
  }

  refused({ limit }: MetLimit, nowUs: InstantUs): void {
    const refusals = this.#entries.get(limit.id)?.refusals;
    if (refusals === undefined) return;
    refusals.count += 1;
    refusals.lastAtUs = nowUs;
  }

  /** Called once when a request's event is begun. */
  began(request: UsageBeginning): void {
    this.#underWay.add(request);
    if (this.#entries.size > 0)
      this.#index.visit(request, (entry, value) => {
        const counter = getCounter(entry, value, toLabel(entry, value, request));
        begin(entry, counter, request);
        if (this.#watch !== null && isCountedFromBegin(entry.limit))
          tellMoved(this.#watch, entry, counter, request.arrivedAtUs);
      });
  }

  /** Called once when its event is written, in the same turn. */
  ended(request: UsageBeginning, ending: UsageEnding): void {
    this.#underWay.delete(request);
    if (this.#entries.size === 0) return;
    const endedAtUs = request.arrivedAtUs + ending.durationUs;
    const amounts = new Amounts(ending);
    this.#index.visit(request, (entry, value) => {
      const counter = getCounter(entry, value, toLabel(entry, value, request));
      counter.underWay -= 1;
      const unpriced = ending.unpriced ? 1 : 0;
      if (!isCountedFromBegin(entry.limit)) counter.sums?.add(endedAtUs, amounts.get(entry.limit), unpriced);
      // It has been counted, and what it was short of is known only now.
      else if (unpriced > 0) counter.sums?.add(request.arrivedAtUs, 0n, unpriced);
      if (this.#watch !== null && !isCountedFromBegin(entry.limit))
        tellMoved(this.#watch, entry, counter, endedAtUs);
    });
  }

  /** Tells the watch of all that was counted. */
  tellAll(nowUs: InstantUs): void {
    const watch = this.#watch;
    if (watch === null) return;
    for (const entry of this.#entries.values())
      for (const counter of entry.counters.values()) tellMoved(watch, entry, counter, nowUs);
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
    const uses = [...entry.counters.values()].map((counter) => toUse(counter, nowUs));
    return uses.sort((one, other) => compareUses(other, one));
  }

  /** What was used by one value of `each`. */
  findUse(limitId: string, value: string, nowUs: InstantUs): LimitUse {
    const entry = this.#entries.get(limitId);
    const counter = entry === undefined ? undefined : findCounter(entry, value);
    return counter === undefined ? { value, label: value, amount: 0n, unpriced: 0 } : toUse(counter, nowUs);
  }

  refusalsOf(limitId: string): LimitRefusals {
    return this.#entries.get(limitId)?.refusals ?? { count: 0, lastAtUs: null };
  }

  /** Drops values of `each` that have nothing under way and nothing in their window. */
  sweep(nowUs: InstantUs): void {
    for (const { limit, counters } of this.#entries.values()) {
      if (limit.each === null) continue;
      const isEmpty = ({ underWay, sums }: Counter) => underWay === 0 && (sums?.isEmptyAt(nowUs) ?? true);
      const other = counters.get(OTHER_VALUES);
      // A request that is under way in it would otherwise end in a counter of its own.
      if (other !== undefined && !isEmpty(other)) continue;
      for (const [value, counter] of counters) if (isEmpty(counter)) counters.delete(value);
    }
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

function tellMoved(watch: UseWatch, { limit, isLoaded }: Entry, counter: Counter, atUs: InstantUs): void {
  if (isLoaded) watch.moved(limit, counter, atUs);
}

/** What a sliding window counts of requests is when they began. */
function isCountedFromBegin({ measure, window }: Limit): boolean {
  return measure === "requests" && window !== null && isSliding(window);
}

function begin({ limit }: Entry, counter: Counter, { arrivedAtUs }: UsageBeginning): void {
  counter.underWay += 1;
  if (isCountedFromBegin(limit)) counter.sums?.add(arrivedAtUs, 1n, 0);
}

/** What a request has used, in each measure; tokens are added up at most once, for all limits together. */
class Amounts {
  readonly #ending: UsageEnding;
  #tokens: bigint | null = null;

  constructor(ending: UsageEnding) {
    this.#ending = ending;
  }

  get({ measure }: Limit): bigint {
    if (measure === "requests") return 1n;
    if (measure === "cost") return this.#ending.costPico ?? 0n;
    return (this.#tokens ??= toTokens(this.#ending.usage));
  }
}

/** Input, cached or not, and output. */
function toTokens(usage: ReportedUsage | null): bigint {
  if (usage === null) return 0n;
  const { input_tokens = 0, cached_input_tokens = 0, output_tokens = 0 } = normaliseUsage(usage);
  return BigInt(Math.round(input_tokens + cached_input_tokens + output_tokens));
}

/** Null when the limit lets it through. */
function toMet(
  { limit }: Entry,
  counter: Counter | undefined,
  { nowUs, hasPrice }: { readonly nowUs: InstantUs; readonly hasPrice: () => boolean },
): MetLimit | null {
  const { measure, amount, window } = limit;
  if (!limit.enabled) return null;
  if (measure === "cost" && limit.unpriced === "refuse" && !hasPrice()) {
    return { limit, ...usedOf(counter, nowUs), freeAtUs: null, isUnpriced: true };
  }
  if (counter === undefined) return null;
  const used = usedOf(counter, nowUs);
  // Those under way will be recorded as well, and a request counts as one however it ends.
  const begun = measure === "requests" && !isCountedFromBegin(limit) ? BigInt(counter.underWay) : 0n;
  if (used.amount + begun < amount) return null;
  const isCalendar = window !== null && !isSliding(window);
  const freeAtUs = isCalendar ? null : (counter.sums?.fallsTo(amount - 1n, nowUs) ?? null);
  return { limit, ...used, freeAtUs, isUnpriced: false };
}

function usedOf(counter: Counter | undefined, nowUs: InstantUs): Used {
  if (counter === undefined) return { amount: 0n, unpriced: 0 };
  const { sums, underWay } = counter;
  return sums === null ? { amount: BigInt(underWay), unpriced: 0 } : sums.usedAt(nowUs);
}

function toUse(counter: Counter, nowUs: InstantUs): LimitUse {
  const { amount, unpriced } = usedOf(counter, nowUs);
  return { value: counter.value, label: counter.label, amount, unpriced };
}

function findCounter({ counters }: Entry, value: string): Counter | undefined {
  return counters.get(value) ?? (counters.size > EACH_VALUES_MAX ? counters.get(OTHER_VALUES) : undefined);
}

function getCounter(entry: Entry, value: string, label: string): Counter {
  const { counters, limit } = entry;
  const known = findCounter(entry, value);
  if (known !== undefined) return known;
  const isOther = counters.size >= EACH_VALUES_MAX;
  const named = isOther ? { value: OTHER_VALUES, label: OTHER_VALUES } : { value, label };
  const counter = {
    ...named,
    underWay: 0,
    sums: limit.window === null ? null : createWindowSums(limit.window),
  };
  counters.set(named.value, counter);
  return counter;
}

function toLabel({ limit }: Entry, value: string, { principalName }: UsageBeginning): string {
  return limit.each?.kind === "principal" ? principalName : value;
}

function compareUses(one: LimitUse, other: LimitUse): number {
  if (one.amount !== other.amount) return one.amount < other.amount ? -1 : 1;
  return one.label < other.label ? 1 : one.label > other.label ? -1 : 0;
}

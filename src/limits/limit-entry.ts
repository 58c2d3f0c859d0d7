import type { InstantUs } from "#kernel/clock.ts";
import { isUnmetered, type ReportedUsage, type UsageBeginning, type UsageEnding } from "#usage/event.ts";
import { normaliseUsage } from "#usage/normalise.ts";
import { createWindowSums, NOTHING_USED, type WindowSums } from "./limit-counter.ts";
import type { Used } from "./limit-sums.ts";
import { isSliding } from "./limit-window.ts";
import type { Limit } from "./limit.ts";
import { toWatchedFrom } from "./use-watch.ts";
import type { OpenUse } from "./limit-board.ts";
import { OpenElsewhere } from "./open-elsewhere.ts";

/**
 * Values of one `each` that are counted apart; what comes beyond shares one count, which is called `(other)`. Callers choose
 * the values of tags freely.
 */
const EACH_VALUES_MAX = 100_000;
export const OTHER_VALUES = "(other)";

/** What one limit, or one value of its `each`, has counted. */
export interface LimitUse extends Used {
  readonly value: string;
  readonly label: string;
}

/** What a limit does to requests: for the views of it. */
export interface LimitRefusals {
  readonly count: number;
  readonly lastAtUs: InstantUs | null;
}

/** A limit that a request has met. */
export interface MetLimit extends Used {
  readonly limit: Limit;
  /** The value of its `each` that the request counts in. */
  readonly value: string;
  /** The first instant at which it lets a request through again; null when that is not known, or never. */
  readonly freeAtUs: InstantUs | null;
  readonly why: MetReason;
}

/** Its amount is used up, the model lacks a price, or as many requests as it allows have ended without their usage. */
export type MetReason = "used" | "unpriced" | "unknown";

export interface Counter {
  readonly value: string;
  readonly label: string;
  /** Requests that have begun and not ended. */
  underWay: number;
  /** Null for `concurrent`. */
  readonly sums: WindowSums | null;
}

/** A limit with what it counts. */
export interface Entry {
  readonly limit: Limit;
  readonly counters: Map<string, Counter>;
  /** False until the ledger's sums are in: nothing is refused on half of them. */
  isLoaded: boolean;
  /** Whether they are asked for: what it counts begins where they end. */
  isAsked: boolean;
  /** From how much on its watch hears of it: worked out once, since each request asks. */
  readonly watchedFrom: bigint;
  /** Since the start. */
  readonly refusals: { count: number; lastAtUs: InstantUs | null };
  /** Null where no other process takes part, and for all but `concurrent`: the ledger has what the others used. */
  readonly elsewhere: OpenElsewhere | null;
}

/** A limit of which nothing is counted yet. What it has refused, and what others have of it, stays with it. */
export function createEntry(
  limit: Limit,
  { isShared, earlier }: { readonly isShared: boolean; readonly earlier: Entry | undefined },
): Entry {
  const isConcurrent = limit.measure === "concurrent";
  return {
    limit,
    counters: new Map(),
    isLoaded: isConcurrent,
    isAsked: false,
    watchedFrom: toWatchedFrom(limit),
    refusals: earlier?.refusals ?? { count: 0, lastAtUs: null },
    elsewhere: earlier?.elsewhere ?? (isShared && isConcurrent ? new OpenElsewhere() : null),
  };
}

/** What a sliding window counts of requests is when they began. */
export function isCountedFromBegin({ measure, window }: Limit): boolean {
  return measure === "requests" && window !== null && isSliding(window);
}

const ONE_REQUEST: Used = { ...NOTHING_USED, amount: 1n };

export function begin({ limit }: Entry, counter: Counter, { arrivedAtUs }: UsageBeginning): void {
  counter.underWay += 1;
  if (isCountedFromBegin(limit)) counter.sums?.add(arrivedAtUs, ONE_REQUEST);
}

/** Its event is written. */
export function end(
  { limit }: Entry,
  counter: Counter,
  { request, amounts }: { readonly request: UsageBeginning; readonly amounts: Amounts },
): void {
  counter.underWay -= 1;
  const { endedAtUs, unpriced, unknown } = amounts;
  if (!isCountedFromBegin(limit))
    counter.sums?.add(endedAtUs, { amount: amounts.get(limit), unpriced, unknown });
  // It has been counted, and what it was short of is known only now.
  else if (unpriced + unknown > 0) counter.sums?.add(request.arrivedAtUs, { amount: 0n, unpriced, unknown });
}

/** Drops values of `each` that have nothing under way and nothing in their window. */
export function sweep({ limit, counters }: Entry, nowUs: InstantUs): void {
  if (limit.each === null) return;
  const isEmpty = ({ underWay, sums }: Counter) => underWay === 0 && (sums?.isEmptyAt(nowUs) ?? true);
  const other = counters.get(OTHER_VALUES);
  // A request that is under way in it would otherwise end in a counter of its own.
  if (other !== undefined && !isEmpty(other)) return;
  for (const [value, counter] of counters) if (isEmpty(counter)) counters.delete(value);
}

/** What a request has used, in each measure; tokens are added up at most once, for all limits together. */
export class Amounts {
  readonly endedAtUs: InstantUs;
  /** 1 when some of it had no price. */
  readonly unpriced: number;
  /** 1 when its usage was not told. */
  readonly unknown: number;
  readonly #ending: UsageEnding;
  #tokens: bigint | null = null;

  constructor(request: UsageBeginning, ending: UsageEnding) {
    this.endedAtUs = request.arrivedAtUs + ending.durationUs;
    this.unpriced = ending.unpriced ? 1 : 0;
    this.unknown = isUnmetered(ending) ? 1 : 0;
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
export function toMet(
  entry: Entry,
  value: string,
  { nowUs, hasPrice }: { readonly nowUs: InstantUs; readonly hasPrice: () => boolean },
): MetLimit | null {
  const { limit, elsewhere } = entry;
  const { measure, amount, window, unknownMax } = limit;
  if (!limit.enabled) return null;
  const counter = findCounter(entry, value);
  if (measure === "cost" && limit.unpriced === "refuse" && !hasPrice()) {
    return { limit, value, ...usedOf(counter, nowUs), freeAtUs: null, why: "unpriced" };
  }
  const held = elsewhere?.values.get(value)?.held ?? 0;
  // An amount of zero is of a limit that cannot be read: it lets nothing through.
  if (counter === undefined && held === 0 && amount > 0n) return null;
  const used = usedOf(counter, nowUs);
  // Those under way will be recorded as well, and a request counts as one however it ends.
  const begun = measure === "requests" && !isCountedFromBegin(limit) ? (counter?.underWay ?? 0) : held;
  const inAll = begun === 0 ? used.amount : used.amount + BigInt(begun);
  const why = inAll >= amount ? "used" : used.unknown >= (unknownMax ?? Infinity) ? "unknown" : null;
  if (why === null) return null;
  const isFree = (left: Used) => left.amount < amount && left.unknown < (unknownMax ?? Infinity);
  const isCalendar = window !== null && !isSliding(window);
  const freeAtUs = isCalendar ? null : (counter?.sums?.fallsTo(isFree, nowUs) ?? null);
  return { limit, value, ...used, amount: inAll, freeAtUs, why };
}

function usedOf(counter: Counter | undefined, nowUs: InstantUs): Used {
  if (counter === undefined) return NOTHING_USED;
  const { sums, underWay } = counter;
  return sums === null ? { ...NOTHING_USED, amount: BigInt(underWay) } : sums.usedAt(nowUs);
}

/** What was used by one value of `each`, here and elsewhere. */
export function toUse(entry: Entry, value: string, nowUs: InstantUs): LimitUse {
  const counter = findCounter(entry, value);
  const told = entry.elsewhere?.values.get(value);
  const { amount, unpriced, unknown } = usedOf(counter, nowUs);
  return {
    value: counter?.value ?? value,
    label: counter?.label ?? told?.label ?? value,
    amount: amount + BigInt(told?.open ?? 0),
    unpriced,
    unknown,
  };
}

/** Each value of `each` that is counted, here or elsewhere, the most used first. */
export function toUses(entry: Entry, nowUs: InstantUs): LimitUse[] {
  const { counters, elsewhere } = entry;
  const values = elsewhere === null ? counters.keys() : new Set(counters.keys()).union(elsewhere.values);
  return [...values].map((value) => toUse(entry, value, nowUs)).sort((one, other) => compareUses(other, one));
}

function compareUses(one: LimitUse, other: LimitUse): number {
  if (one.amount !== other.amount) return one.amount < other.amount ? -1 : 1;
  return one.label < other.label ? 1 : one.label > other.label ? -1 : 0;
}

/** What other processes have to know of it. Each refusal is told once. */
export function toOpenUses({ limit, counters, elsewhere }: Entry): OpenUse[] {
  if (elsewhere === null) return [];
  const refused = elsewhere.takeRefused();
  const amount = Number(limit.amount);
  const uses: OpenUse[] = [];
  for (const value of new Set(counters.keys()).union(refused)) {
    const counter = counters.get(value);
    const open = counter?.underWay ?? 0;
    const wanted = Math.max(open, Math.min(amount, open + (refused.get(value) ?? 0)));
    if (wanted > 0) uses.push({ limitId: limit.id, value, label: counter?.label ?? value, open, wanted });
  }
  return uses.length > 0 ? uses : [{ limitId: limit.id, value: "", label: "", open: 0, wanted: 0 }];
}

/** Whether it is known what others have of it. */
export function isHeard({ elsewhere }: Entry): boolean {
  return elsewhere === null || elsewhere.isHeard;
}

export function findCounter({ counters }: Entry, value: string): Counter | undefined {
  return counters.get(value) ?? (counters.size > EACH_VALUES_MAX ? counters.get(OTHER_VALUES) : undefined);
}

export function getCounter(entry: Entry, value: string, label: string): Counter {
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

export function toLabel({ limit }: Entry, value: string, { principalName }: UsageBeginning): string {
  return limit.each?.kind === "principal" ? principalName : value;
}

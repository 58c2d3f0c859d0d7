import type { InstantUs } from "#kernel/clock.ts";
import { isUnknown, type UsageBeginning, type UsageEnding } from "#usage/event.ts";
import type { ReportQuantities } from "#kernel/units.ts";
import { normaliseUsage } from "#usage/cost.ts";
import { createWindowSums, NONE_USED, type WindowSums } from "./limit-counter.ts";
import type { Used } from "./limit-sums.ts";
import { isSliding } from "./limit-window.ts";
import { MEASURES, type Limit, toWatchedFrom } from "./limit.ts";
import { OpenElsewhere, type OpenUse } from "./open-elsewhere.ts";

/**
 * Values of one `each` that are counted apart; what comes beyond shares one count, which is called `(other)`. Callers choose
 * the values of tags freely.
 */
const EACH_VALUES_MAX = 100_000;
/** Values of a tag that one principal brings into a window; those that it makes up beyond share a count of its own. */
export const TAG_VALUES_OF_PRINCIPAL_MAX = 100;
/** Begins the name of each count that several values share. No tag begins so. */
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
type MetReason = "used" | "unpriced" | "unknown";

export interface Counter {
  readonly value: string;
  readonly label: string;
  /** The principal that has brought the value of a tag; null of other values, and of counts that several share. */
  readonly broughtBy: string | null;
  /** Requests that have begun and not ended. */
  underWay: number;
  /** Null for `concurrent`. */
  readonly sums: WindowSums | null;
}

/** A limit with what it counts. */
export interface Entry {
  readonly limit: Limit;
  readonly counters: Map<string, Counter>;
  /** How many values of a tag each principal has brought, by its id. */
  readonly brought: Map<string, number>;
  /** Requests under way that count with other values: they end there, also when their value has a count of its own by then. */
  readonly sharing: Map<UsageBeginning, Counter>;
  /** False until the ledger's sums are in: nothing is refused on half of them. */
  isLoaded: boolean;
  /** True when they are asked for: what it counts begins where they end. */
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
    brought: new Map(),
    sharing: new Map(),
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

function makeCounter(entry: Entry, value: string, { principalId, principalName }: UsageBeginning): Counter {
  const label = entry.limit.each?.kind === "principal" ? principalName : value;
  return getCounter(entry, { value, label, principalId, principalName });
}

const ONE_REQUEST: Used = { ...NONE_USED, amount: 1n };

/** Returns where it counts. */
export function begin(entry: Entry, value: string, request: UsageBeginning): Counter {
  const counter = entry.counters.get(value) ?? makeCounter(entry, value, request);
  if (counter.value !== value) entry.sharing.set(request, counter);
  counter.underWay += 1;
  if (isCountedFromBegin(entry.limit)) counter.sums?.add(request.arrivedAtUs, ONE_REQUEST);
  return counter;
}

/** Its event is written; null: it could not be. Returns where it counted; null where it did not begin. */
export function end(
  entry: Entry,
  value: string,
  { request, amounts }: { readonly request: UsageBeginning; readonly amounts: Amounts | null },
): Counter | null {
  const shared = entry.sharing.size === 0 ? undefined : entry.sharing.get(request);
  const counter = shared ?? entry.counters.get(value);
  if (counter === undefined) return null;
  if (shared !== undefined) entry.sharing.delete(request);
  counter.underWay -= 1;
  if (amounts === null) return counter;
  const { limit } = entry;
  const { endedAtUs, unpriced, unknown } = amounts;
  if (!isCountedFromBegin(limit))
    counter.sums?.add(endedAtUs, { amount: amounts.get(limit), unpriced, unknown });
  // It has been counted, and what it was short of is known only now.
  else if (unpriced + unknown > 0) counter.sums?.add(request.arrivedAtUs, { amount: 0n, unpriced, unknown });
  return counter;
}

/** Its event has ended otherwise than was known. Returns where it counts. */
export function settle(
  entry: Entry,
  value: string,
  {
    request,
    before,
    after,
  }: { readonly request: UsageBeginning; readonly before: Amounts; readonly after: Amounts },
): Counter {
  const counter = entry.counters.get(value) ?? makeCounter(entry, value, request);
  const { limit } = entry;
  const [unpriced, unknown] = [after.unpriced - before.unpriced, after.unknown - before.unknown];
  if (isCountedFromBegin(limit)) {
    counter.sums?.add(request.arrivedAtUs, { amount: 0n, unpriced, unknown });
  } else {
    counter.sums?.add(before.endedAtUs, {
      amount: -before.get(limit),
      unpriced: -before.unpriced,
      unknown: -before.unknown,
    });
    const { unpriced: short, unknown: untold } = after;
    counter.sums?.add(after.endedAtUs, { amount: after.get(limit), unpriced: short, unknown: untold });
  }
  return counter;
}

/** Drops values of `each` that have nothing under way and nothing in their window. */
export function sweep({ limit, counters, brought }: Entry, nowUs: InstantUs): void {
  if (limit.each === null) return;
  for (const [value, { underWay, sums, broughtBy }] of counters) {
    if (underWay > 0 || sums?.isEmptyAt(nowUs) === false) continue;
    counters.delete(value);
    if (broughtBy !== null) brought.set(broughtBy, (brought.get(broughtBy) ?? 1) - 1);
  }
  for (const [principalId, count] of brought) if (count === 0) brought.delete(principalId);
}

/** What a request has used, in each measure; tokens are added up at most once, for all limits together. */
export class Amounts {
  readonly endedAtUs: InstantUs;
  /** 1 when some of it had no price. */
  readonly unpriced: number;
  /** 1 when its usage was not told, or not yet. */
  readonly unknown: number;
  readonly #ending: UsageEnding;
  #quantities: ReportQuantities | null = null;

  constructor(request: UsageBeginning, ending: UsageEnding) {
    this.endedAtUs = request.arrivedAtUs + ending.durationUs;
    this.unpriced = ending.unpriced ? 1 : 0;
    this.unknown = isUnknown(ending) ? 1 : 0;
    this.#ending = ending;
  }

  get({ measure }: Limit): bigint {
    if (measure === "requests") return 1n;
    if (measure === "cost") return this.#ending.costPico ?? 0n;
    const { usage } = this.#ending;
    if (usage === null) return 0n;
    const quantities = (this.#quantities ??= normaliseUsage(usage));
    let sum = 0;
    for (const unit of MEASURES[measure].units) sum += quantities[unit] ?? 0;
    return BigInt(Math.round(sum));
  }
}

/** Null when the limit lets it through. */
export function toMet(
  entry: Entry,
  ownValue: string,
  {
    request,
    nowUs,
    hasPrice,
  }: { readonly request: UsageBeginning; readonly nowUs: InstantUs; readonly hasPrice: () => boolean },
): MetLimit | null {
  const { limit, elsewhere } = entry;
  const { measure, amount, window, unknownMax } = limit;
  if (!limit.enabled) return null;
  const value = toCounted(entry, ownValue, request.principalId);
  const counter = entry.counters.get(value);
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
  if (counter === undefined) return NONE_USED;
  const { sums, underWay } = counter;
  return sums === null ? { ...NONE_USED, amount: BigInt(underWay) } : sums.usedAt(nowUs);
}

/** What was used by one value of `each`, here and elsewhere. */
export function toUse(entry: Entry, value: string, nowUs: InstantUs): LimitUse {
  const counter = entry.counters.get(value) ?? entry.counters.get(OTHER_VALUES);
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

/** True when it is known what others have of it. */
export function isHeard({ elsewhere }: Entry): boolean {
  return elsewhere === null || elsewhere.isHeard;
}

/** A value of `each`, and whose request brings it. */
interface Brought {
  readonly value: string;
  readonly label: string;
  readonly principalId: string;
  readonly principalName: string;
}

export function getCounter(entry: Entry, { value, label, principalId, principalName }: Brought): Counter {
  const { counters, limit, brought } = entry;
  const counted = toCounted(entry, value, principalId);
  const known = counters.get(counted);
  if (known !== undefined) return known;
  const isOwn = counted === value;
  const broughtBy = isOwn && limit.each?.kind === "tag" ? principalId : null;
  if (broughtBy !== null) brought.set(broughtBy, (brought.get(broughtBy) ?? 0) + 1);
  const counter = {
    value: counted,
    label: isOwn ? label : counted === OTHER_VALUES ? counted : `${OTHER_VALUES} of ${principalName}`,
    broughtBy,
    underWay: 0,
    sums: limit.window === null ? null : createWindowSums(limit.window),
  };
  counters.set(counted, counter);
  return counter;
}

/** The value that a request of this principal counts with: its own, or one that it shares with others. */
function toCounted({ counters, limit, brought }: Entry, value: string, principalId: string): string {
  if (counters.has(value)) return value;
  if (limit.each?.kind === "tag" && (brought.get(principalId) ?? 0) >= TAG_VALUES_OF_PRINCIPAL_MAX)
    return `${OTHER_VALUES} ${principalId}`;
  return counters.size < EACH_VALUES_MAX ? value : OTHER_VALUES;
}

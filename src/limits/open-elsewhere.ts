import type { Limit } from "./limit.ts";

/** What other processes have of one limit of `concurrent`, or of one value of its `each`. */
export interface Elsewhere {
  readonly label: string;
  /** Requests under way. */
  readonly open: number;
  /** How much of the amount is not this process's: what they have open, and what those have to get that refuse requests. */
  readonly held: number;
}

const NO_VALUES: ReadonlyMap<string, Elsewhere> = new Map();

/** One limit of `concurrent` as other processes have told of it, and what this one has refused since it told of itself. */
export class OpenElsewhere {
  #values = NO_VALUES;
  #isHeard = false;
  readonly #refused = new Map<string, number>();

  /** By the value of `each`. */
  get values(): ReadonlyMap<string, Elsewhere> {
    return this.#values;
  }

  /** True when each of them has told of the limit since it was made: before that it is unknown what they hold. */
  get isHeard(): boolean {
    return this.#isHeard;
  }

  refused(value: string): void {
    this.#refused.set(value, (this.#refused.get(value) ?? 0) + 1);
  }

  /** Requests that were refused since the last call, by value. */
  takeRefused(): ReadonlyMap<string, number> {
    const taken = new Map(this.#refused);
    this.#refused.clear();
    return taken;
  }

  hear(values: ReadonlyMap<string, Elsewhere>, isToldByAll: boolean): void {
    this.#values = values;
    this.#isHeard ||= isToldByAll;
  }

  /** What was told so far counts, although some have not told of it. */
  stopHearing(): void {
    this.#isHeard = true;
  }
}

/** What was told of one limit and value, by the process that told it. */
type Told = ReadonlyMap<string, OpenUse>;

/** What others have told, by limit and value. */
export class ToldUses {
  readonly #told = new Map<string, Map<string, Map<string, OpenUse>>>();
  readonly #knownTo = new Map<string, Set<string>>();
  readonly #peerCount: number;
  readonly #ownId: string;
  readonly #turn: number;

  constructor({ ownId, peers, turn }: BoardAnswer) {
    this.#ownId = ownId;
    this.#turn = turn;
    this.#peerCount = peers.length;
    for (const { id, uses } of peers) for (const use of uses) this.#add(id, use);
  }

  /** True when every other process that lives knows the limit. */
  isToldByAll({ id }: Pick<Limit, "id">): boolean {
    return (this.#knownTo.get(id)?.size ?? 0) === this.#peerCount;
  }

  /** Each value of a limit that another process has told of. `ownOpen`: what this process has of a value. */
  toElsewhere(
    { id, amount }: Pick<Limit, "id" | "amount">,
    ownOpen: (value: string) => number,
  ): ReadonlyMap<string, Elsewhere> {
    const values = this.#told.get(id);
    if (values === undefined) return NO_VALUES;
    return new Map(
      [...values].map(
        ([value, told]) =>
          [value, this.#sum(told, { amount: Number(amount), ownOpen: ownOpen(value) })] as const,
      ),
    );
  }

  #sum(told: Told, { amount, ownOpen }: { readonly amount: number; readonly ownOpen: number }): Elsewhere {
    let [label, open] = ["", 0];
    for (const use of told.values()) {
      label = use.label;
      open += use.open;
    }
    const wants = [...told].map(([id, { wanted }]) => ({ id, wanted }));
    const share = toShare({ amount, ownId: this.#ownId, turn: this.#turn }, wants);
    // Where it is passed, each keeps its share of what it has: if all of them let nobody in, all would be empty a moment later.
    return { label, open, held: Math.max(amount - share, Math.min(open, amount - ownOpen)) };
  }

  #add(peerId: string, use: OpenUse): void {
    let knownTo = this.#knownTo.get(use.limitId);
    if (knownTo === undefined) this.#knownTo.set(use.limitId, (knownTo = new Set<string>()));
    knownTo.add(peerId);
    if (use.wanted === 0) return;
    let values = this.#told.get(use.limitId);
    if (values === undefined) this.#told.set(use.limitId, (values = new Map<string, Map<string, OpenUse>>()));
    let told = values.get(use.value);
    if (told === undefined) values.set(use.value, (told = new Map<string, OpenUse>()));
    told.set(peerId, use);
  }
}

interface ShareRequest {
  readonly amount: number;
  readonly ownId: string;
  readonly turn: number;
}

/**
 * How much of an amount a process may have open that could use all of it. Those that want less than an even part have what
 * they want, the others the same each; a rest goes to the first of them. Processes that want more than there is come to
 * shares that add up to the amount, each by itself.
 */
export function toShare(
  { amount, ownId, turn }: ShareRequest,
  others: readonly { readonly id: string; readonly wanted: number }[],
): number {
  const rest = others.toSorted((one, other) => one.wanted - other.wanted);
  let left = amount;
  for (;;) {
    const [least] = rest;
    if (least === undefined) return left;
    if (least.wanted > Math.floor(left / (rest.length + 1))) break;
    left -= least.wanted;
    rest.shift();
  }
  const count = rest.length + 1;
  const before = rest.filter(({ id }) => id < ownId).length;
  // With less than one for each they take turns, else who comes after the others would never have any.
  const rank = left < count ? (before + turn) % count : before;
  return Math.floor(left / count) + (rank < left % count ? 1 : 0);
}

/**
 * What one process says of a limit of `concurrent`, or of one value of its `each`. One with nothing open and nothing wanted
 * says that it knows the limit.
 */
export interface OpenUse {
  readonly limitId: string;
  readonly value: string;
  readonly label: string;
  /** Requests under way. */
  readonly open: number;
  /** As many as it would have open: more than are open when it has refused some since it said so last. */
  readonly wanted: number;
}

/** Another process that serves. */
export interface Peer {
  readonly id: string;
  readonly uses: readonly OpenUse[];
}

export interface BoardAnswer {
  readonly ownId: string;
  /** All that live, also those that have said nothing yet: what was open at one that ended, or was given up, counts no more. */
  readonly peers: readonly Peer[];
  /** A number that is the same for all who ask at one time, and moves on: it says whose turn it is where fewer may begin than want to. */
  readonly turn: number;
}

/** Where processes that share limits tell each other what is under way. */
export interface LimitBoard {
  /** Says what this process has, in place of what it said last, and returns what the others have said. */
  exchange(own: readonly OpenUse[]): Promise<BoardAnswer>;
}

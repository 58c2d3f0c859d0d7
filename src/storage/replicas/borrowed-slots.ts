import type { SlotHolder, SlotLoan, SlotSource } from "#catalog/slots.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { Loan } from "./slot-shares.ts";
import type { SlotClaim } from "./slot-bank.ts";

/** Between two claims of one queue: requests that come one after the other are claimed for together. */
const CLAIM_MS_MIN = 10;
/** Slots that were not needed for so long go back by themselves; while others lack them they go back at once. */
const IDLE_MS_MAX = 2_000;
/** It stays until another replica lacks it: a request that comes in an outage of the database could not get one. */
const IDLE_KEPT = 1;

export interface BorrowedSlotsDeps {
  readonly bank: { claim(claim: SlotClaim): Promise<Loan> };
  /** Whether slots may be used: others take them over when the replica was not heard for long. */
  readonly isHeard: () => boolean;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/**
 * The slots that this replica has borrowed, by queue. What is used is never above what the database has written down: it is
 * counted here first when slots go back, and there first when they come. Without a database it goes on with what it has.
 */
export class BorrowedSlots implements SlotSource {
  readonly #deps: BorrowedSlotsDeps;
  readonly #queues = new Map<string, QueueSlots>();

  constructor(deps: BorrowedSlotsDeps) {
    this.#deps = deps;
  }

  open(queue: string, holder: SlotHolder): SlotLoan {
    const opened = new QueueSlots(queue, holder, this.#deps);
    this.#queues.set(queue, opened);
    return opened;
  }

  /** Slots that this replica has, over all queues. */
  get count(): number {
    let count = 0;
    for (const { lent } of this.#queues.values()) count += lent;
    return count;
  }

  /** After a sign of life: `shortPools` are those of which another replica wants more than it has. */
  heard(shortPools: readonly string[]): void {
    const short = new Set(shortPools);
    for (const [queue, slots] of this.#queues) slots.heard(short.has(queue));
  }

  /** What the database was restored to may lack what is borrowed: it is told again. */
  tellAll(): void {
    for (const slots of this.#queues.values()) slots.tell();
  }

  /** Others may take the slots from now on. */
  cut(): void {
    for (const slots of this.#queues.values()) slots.cut();
  }
}

class QueueSlots implements SlotLoan {
  readonly #queue: string;
  readonly #holder: SlotHolder;
  readonly #deps: BorrowedSlotsDeps;
  lent = 0;
  #limit = 0;
  /** What is left to this replica while others are short; null: none is. */
  #share: number | null = null;
  #isShortElsewhere = false;
  #usedAtMs = 0;
  /** What was claimed last, unless less was wanted since: waiting for it is no reason to claim again. */
  #claimed = 0;
  #isClaiming = false;
  #isClaimDue = false;
  /** Counts cuts: what was claimed before one is not to be used. */
  #cuts = 0;

  constructor(queue: string, holder: SlotHolder, deps: BorrowedSlotsDeps) {
    this.#queue = queue;
    this.#holder = holder;
    this.#deps = deps;
  }

  allow(limit: number): number {
    const isLowered = limit < this.#limit;
    this.#limit = limit;
    if (!this.#deps.isHeard()) return 0;
    const { inUse } = this.#holder;
    const wanted = this.#wanted();
    if (wanted >= this.lent) this.#usedAtMs = this.#deps.monotonicMs();
    this.#claimed = Math.min(this.#claimed, Math.max(wanted, this.lent));
    const isShort = this.#isShort() && wanted > this.#claimed;
    const isSpare = this.lent > Math.max(inUse, this.#share ?? this.lent);
    // Requests that began while the queue had no limit.
    const isUntold = inUse > this.lent;
    if (isShort || isSpare || isUntold || (isLowered && this.lent > limit)) this.#claimSoon();
    return Math.min(limit, this.lent, this.#share ?? limit);
  }

  heard(isShortElsewhere: boolean): void {
    this.#isShortElsewhere = isShortElsewhere;
    if (!isShortElsewhere && this.#share !== null) {
      this.#share = null;
      this.#holder.advance();
    }
    if (this.#isShort() || (this.lent > 0 && (isShortElsewhere || this.#isIdle()))) this.#claimSoon();
  }

  tell(): void {
    if (this.lent > 0) this.#claimSoon();
  }

  cut(): void {
    if (this.lent === 0) return;
    this.lent = 0;
    this.#cuts += 1;
    this.#holder.cut();
  }

  #wanted(): number {
    return Math.min(this.#limit, this.#holder.inUse + this.#holder.waiting);
  }

  #isShort(): boolean {
    const { inUse, waiting } = this.#holder;
    return waiting > 0 && inUse >= this.lent && this.lent < this.#limit;
  }

  #isIdle(): boolean {
    const { inUse, waiting } = this.#holder;
    return (
      this.lent > Math.max(inUse + waiting, IDLE_KEPT) &&
      this.#deps.monotonicMs() - this.#usedAtMs > IDLE_MS_MAX
    );
  }

  /** In a turn of its own: of several requests that come together each has told by then what it wants. */
  #claimSoon(): void {
    this.#isClaimDue = true;
    if (this.#isClaiming) return;
    this.#isClaiming = true;
    queueMicrotask(() => void this.#claimAll());
  }

  async #claimAll(): Promise<void> {
    try {
      while (this.#isClaimDue) {
        this.#isClaimDue = false;
        await this.#claim();
        if (this.#isClaimDue) await sleep(CLAIM_MS_MIN);
      }
    } catch (cause) {
      // The next sign of life asks again where a request waits.
      this.#deps.log.debug("slots could not be borrowed", describeCause(cause));
    } finally {
      this.#isClaiming = false;
    }
  }

  async #claim(): Promise<void> {
    const { inUse } = this.#holder;
    const wanted = this.#wanted();
    if (this.#isShortElsewhere || this.lent > this.#limit) {
      this.lent = Math.min(this.lent, Math.max(inUse, Math.min(wanted, this.#share ?? wanted)));
    } else if (this.#isIdle()) {
      this.lent = Math.max(wanted, IDLE_KEPT);
    }
    this.lent = Math.max(this.lent, inUse);
    this.#claimed = wanted;
    const cuts = this.#cuts;
    const claim = { pool: this.#queue, limit: this.#limit, keep: this.lent, wanted };
    const { lent, share } = await this.#deps.bank.claim(claim);
    if (cuts !== this.#cuts) return;
    const isMore = lent > this.lent || share === null;
    this.lent = lent;
    this.#share = share;
    if (isMore) this.#holder.advance();
    // What it has above its share goes back as requests end; what is idle of it now.
    if (share !== null && lent > Math.max(this.#holder.inUse, share)) this.#claimSoon();
  }
}

import type { SlotHolder, SlotLease, SlotSource } from "#catalog/slots.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { SlotClaim, SlotGrant } from "./slot-pool.ts";

/** Between two claims of one queue: requests that come one after the other are claimed for together. */
const CLAIM_MS_MIN = 10;
/** Slots that were not needed for so long go back by themselves; while others lack them they go back at once. */
const IDLE_MS_MAX = 2_000;
/** It stays until another replica lacks it: a request that comes in an outage of the database could not get one. */
const IDLE_KEPT = 1;

export interface SlotLeasesDeps {
  readonly pools: { claim(claim: SlotClaim): Promise<SlotGrant> };
  /** False: no slot may be used, since others take them over when no heartbeat has arrived for long. */
  readonly isLeased: () => boolean;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/**
 * The slots that this replica leases, by queue. What is used is never above what the database has written down: it is
 * counted here first when slots go back, and there first when they come. Without a database it goes on with what it has.
 */
export class SlotLeases implements SlotSource {
  readonly #deps: SlotLeasesDeps;
  readonly #queues = new Map<string, QueueLease>();

  constructor(deps: SlotLeasesDeps) {
    this.#deps = deps;
  }

  open(queue: string, holder: SlotHolder): SlotLease {
    const opened = new QueueLease(queue, holder, this.#deps);
    this.#queues.set(queue, opened);
    return opened;
  }

  /** Slots that this replica has, over all queues. */
  get count(): number {
    let count = 0;
    for (const { slots } of this.#queues.values()) count += slots;
    return count;
  }

  /** After a heartbeat: `shortPools` are those of which another replica wants more than it has. */
  update(shortPools: readonly string[]): void {
    const short = new Set(shortPools);
    for (const [queue, lease] of this.#queues) lease.update(short.has(queue));
  }

  /** Claims all leases again: a database that was restored may lack them. */
  reclaim(): void {
    for (const lease of this.#queues.values()) lease.reclaim();
  }

  /** Others may take the slots from now on. */
  cut(): void {
    for (const lease of this.#queues.values()) lease.cut();
  }
}

class QueueLease implements SlotLease {
  readonly #queue: string;
  readonly #holder: SlotHolder;
  readonly #deps: SlotLeasesDeps;
  slots = 0;
  #limit = 0;
  /** Slots that are left to this replica while others are short; null: none is. */
  #quota: number | null = null;
  #isShortElsewhere = false;
  #usedAtMs = 0;
  /** Slots of the last claim, unless fewer were wanted since: waiting for them is no reason to claim again. */
  #claimed = 0;
  #isClaiming = false;
  #isClaimDue = false;
  /** Counts cuts: what was claimed before one is not to be used. */
  #cuts = 0;

  constructor(queue: string, holder: SlotHolder, deps: SlotLeasesDeps) {
    this.#queue = queue;
    this.#holder = holder;
    this.#deps = deps;
  }

  allow(limit: number): number {
    const isLowered = limit < this.#limit;
    this.#limit = limit;
    if (!this.#deps.isLeased()) return 0;
    const { inUse } = this.#holder;
    const wanted = this.#wanted();
    if (wanted >= this.slots) this.#usedAtMs = this.#deps.monotonicMs();
    this.#claimed = Math.min(this.#claimed, Math.max(wanted, this.slots));
    const isShort = this.#isShort() && wanted > this.#claimed;
    const isSpare = this.slots > Math.max(inUse, this.#quota ?? this.slots);
    // Requests that began while the queue had no limit.
    const isUnclaimed = inUse > this.slots;
    if (isShort || isSpare || isUnclaimed || (isLowered && this.slots > limit)) this.#claimSoon();
    return Math.min(limit, this.slots, this.#quota ?? limit);
  }

  update(isShortElsewhere: boolean): void {
    this.#isShortElsewhere = isShortElsewhere;
    if (!isShortElsewhere && this.#quota !== null) {
      this.#quota = null;
      this.#holder.advance();
    }
    if (this.#isShort() || (this.slots > 0 && (isShortElsewhere || this.#isIdle()))) this.#claimSoon();
  }

  reclaim(): void {
    if (this.slots > 0) this.#claimSoon();
  }

  cut(): void {
    if (this.slots === 0) return;
    this.slots = 0;
    this.#cuts += 1;
    this.#holder.cut();
  }

  #wanted(): number {
    return Math.min(this.#limit, this.#holder.inUse + this.#holder.waiting);
  }

  #isShort(): boolean {
    const { inUse, waiting } = this.#holder;
    return waiting > 0 && inUse >= this.slots && this.slots < this.#limit;
  }

  #isIdle(): boolean {
    const { inUse, waiting } = this.#holder;
    const isSpare = this.slots > Math.max(inUse + waiting, IDLE_KEPT);
    return isSpare && this.#deps.monotonicMs() - this.#usedAtMs > IDLE_MS_MAX;
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
      // The next heartbeat asks again where a request waits.
      this.#deps.log.debug("slots could not be borrowed", describeCause(cause));
    } finally {
      this.#isClaiming = false;
    }
  }

  async #claim(): Promise<void> {
    const { inUse } = this.#holder;
    const wanted = this.#wanted();
    if (this.#isShortElsewhere || this.slots > this.#limit) {
      this.slots = Math.min(this.slots, Math.max(inUse, Math.min(wanted, this.#quota ?? wanted)));
    } else if (this.#isIdle()) {
      this.slots = Math.max(wanted, IDLE_KEPT);
    }
    this.slots = Math.max(this.slots, inUse);
    this.#claimed = wanted;
    const cuts = this.#cuts;
    const claim = { pool: this.#queue, limit: this.#limit, keep: this.slots, wanted };
    const { slots, quota } = await this.#deps.pools.claim(claim);
    if (cuts !== this.#cuts) return;
    const isMore = slots > this.slots || quota === null;
    this.slots = slots;
    this.#quota = quota;
    if (isMore) this.#holder.advance();
    // Slots above the quota go back as requests end, and idle ones now.
    if (quota !== null && slots > Math.max(this.#holder.inUse, quota)) this.#claimSoon();
  }
}

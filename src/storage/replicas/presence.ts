import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { joinNext } from "#kernel/join-next.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { LimitBoard } from "#limits/limit-board.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { Barrier } from "./barrier.ts";
import { Follower, Hints, type Memory } from "./follower.ts";
import type { Freshness } from "./freshness.ts";
import { Heartbeat, Reachability, TrustWindow } from "./heartbeat.ts";
import { Mutator } from "./mutation.ts";
import { OpenUseBoard } from "./open-use.ts";
import { PeerMaintenance, SLOT_LEASE_MS } from "./peer-maintenance.ts";
import { IdleTimes, type ReplicaIdentity, ReplicaRow } from "./replica-row.ts";
import { SlotLeases } from "./slot-leases.ts";
import { SlotPools } from "./slot-pool.ts";

export interface PresenceHealth {
  /** Milliseconds for which memory is believed without asking. */
  readonly trustLeftMs: number;
  readonly isDatabaseUp: boolean;
  /** False: requests are refused. */
  readonly isServing: boolean;
  /** Time that the last change waited for other replicas; null before the first. */
  readonly barrierMs: number | null;
}

export interface Presence {
  readonly freshness: Freshness;
  readonly slots: SlotLeases;
  readonly limitBoard: LimitBoard;
  health(): PresenceHealth;
  /** Changes no longer wait for this replica, whose slots are free again. To be called when nothing is served any more. */
  close(): Promise<void>;
}

export interface PresenceOptions {
  readonly identity: Omit<ReplicaIdentity, "id">;
  /** For heartbeats, and what is read after them (`PURPOSES.presence`): no request waits for one. */
  readonly pulse: Postgres;
  /** For changing the catalog. */
  readonly postgres: Postgres;
  readonly schema: string;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** For tests, which do not wait a minute. */
  readonly slotLeaseMs?: number;
}

/** Between two heartbeats, and how late a change is noticed where notifications are lost. */
const HEARTBEAT_MS = 250;

/**
 * Joins the replicas. Fulfilled when memory is loaded. Throws DatabaseUnreachableError, SetupError and what `Memory` throws,
 * and leaves no row then.
 */
export async function openPresence(options: PresenceOptions): Promise<Presence> {
  const replica = new Replica(options);
  await replica.open();
  return replica;
}

class Replica implements Presence {
  readonly #options: PresenceOptions;
  readonly #row: ReplicaRow;
  readonly #trust: TrustWindow;
  readonly #maintenance: PeerMaintenance;
  readonly #mutator: Mutator;
  readonly #hints: Hints;
  readonly #reachability: Reachability;
  readonly #heartbeat: Heartbeat;
  /** Without a grace there is no trust to renew, and a question that writes nothing is cheaper. */
  readonly #poll: () => Promise<void>;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #beating: Promise<void> = Promise.resolve();
  #stopListening: (() => Promise<void>) | null = null;
  #closing: Promise<void> | null = null;

  readonly slots: SlotLeases;
  readonly limitBoard: LimitBoard;
  readonly freshness: Freshness = {
    isTrusted: () => this.#trust.isOpen(),
    refreshed: () => (this.#options.identity.graceMs > 0 ? this.#heartbeat.beat() : this.#poll()),
    mutate: (step) => this.#mutator.mutate(step),
  };

  constructor(options: PresenceOptions) {
    const { identity, pulse, postgres, schema, memory, clock, ids, log } = options;
    const { slotLeaseMs = SLOT_LEASE_MS } = options;
    const id = ids.uuid();
    const idleTimes = new IdleTimes();
    const trust = new TrustWindow(clock, identity.graceMs);
    const lease = new TrustWindow(clock, identity.graceMs + slotLeaseMs);
    const hints = new Hints({ postgres: pulse, schema });
    const slots = new SlotLeases({
      pools: new SlotPools({ postgres: pulse, replicaId: id, notify: () => hints.send() }),
      isLeased: () => lease.isOpen(),
      monotonicMs: () => clock.monotonicMs(),
      log,
    });
    // The database was restored: what memory has, and what is leased, may be unknown to it.
    const onForeign = () => {
      trust.end();
      slots.reclaim();
    };
    const follower = new Follower({ postgres: pulse, memory, onForeign });
    const barrier = new Barrier({ postgres: pulse, clock, idleTimes, ownId: id });
    const refreshed = () => this.freshness.refreshed();
    this.#options = options;
    this.#hints = hints;
    this.#row = new ReplicaRow(pulse, { ...identity, id });
    this.#trust = trust;
    this.#maintenance = new PeerMaintenance({ postgres: pulse, clock, idleTimes, slotLeaseMs, log });
    this.#mutator = new Mutator({ postgres, hints, barrier, refreshed, clock, ids });
    this.#reachability = new Reachability(postgres, log);
    this.#heartbeat = new Heartbeat({
      row: this.#row,
      follower,
      trust,
      lease,
      slots,
      idleTimes,
      reachability: this.#reachability,
      clock,
    });
    this.#poll = joinNext(() => follower.poll());
    this.slots = slots;
    this.limitBoard = new OpenUseBoard(pulse, id);
  }

  async open(): Promise<void> {
    const { log } = this.#options;
    await this.#heartbeat.begin();
    const hint = () => void this.#heartbeat.beat().catch(() => undefined);
    try {
      this.#stopListening = await this.#hints.listen(hint);
    } catch (cause) {
      log.warn(
        "PostgreSQL notifies of nothing: changes are noticed a quarter of a second later",
        describeCause(cause),
      );
    }
    this.#schedule();
  }

  health(): PresenceHealth {
    const trustLeftMs = this.#trust.leftMs();
    const isDatabaseUp = this.#reachability.isUp;
    return {
      trustLeftMs,
      isDatabaseUp,
      isServing: isDatabaseUp || trustLeftMs > 0,
      barrierMs: this.#mutator.barrierMs,
    };
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#leave());
  }

  async #leave(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#heartbeat.end();
    await this.#beating;
    await this.#heartbeat.beat().catch(() => undefined);
    await this.#stopListening?.().catch(() => undefined);
    try {
      await this.#row.remove();
    } catch (cause) {
      this.#options.log.warn("the database was not told that this replica ends", describeCause(cause));
    }
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beatOnce().finally(() => this.#schedule());
    }, HEARTBEAT_MS);
  }

  async #beatOnce(): Promise<void> {
    this.#heartbeat.cutExpired();
    try {
      await this.#heartbeat.beat();
      await this.#maintenance.run(this.#heartbeat.peers);
    } catch (cause) {
      this.#options.log.debug("a heartbeat failed", describeCause(cause));
    }
  }
}

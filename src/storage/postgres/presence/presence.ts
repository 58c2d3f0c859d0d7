import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { joinNext } from "#kernel/join-next.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { LimitBoard } from "#limits/limit-board.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { BorrowedSlots } from "./borrowed-slots.ts";
import { Housekeeping, SLOT_LEASE_MS } from "./housekeeping.ts";
import { SlotBank } from "./slot-bank.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import { Barrier } from "./barrier.ts";
import { Follower, type Memory } from "./follower.ts";
import type { Freshness } from "./freshness.ts";
import { Mutator, toChannel } from "./mutator.ts";
import { OpenUseBoard } from "./open-use-board.ts";
import { Reachability } from "./reachability.ts";
import { type ReplicaIdentity, ReplicaRow } from "./replica-row.ts";
import { type Peer, Silence } from "./silence.ts";
import { TrustWindow } from "./trust-window.ts";

export interface PresenceHealth {
  /** Milliseconds for which memory is believed without asking. */
  readonly trustLeftMs: number;
  /** Whether the last question was answered. */
  readonly isDatabaseUp: boolean;
  /** False: requests are refused. */
  readonly isServing: boolean;
  /** How long the last change waited for other replicas; null before the first. */
  readonly barrierMs: number | null;
}

export interface Presence {
  readonly freshness: Freshness;
  readonly slots: BorrowedSlots;
  readonly limitBoard: LimitBoard;
  health(): PresenceHealth;
  /** Changes no longer wait for this replica, whose slots are free again. To be called when nothing is served any more. */
  close(): Promise<void>;
}

export interface PresenceOptions {
  readonly identity: Omit<ReplicaIdentity, "id">;
  /** For signs of life, and what is read after them (`PURPOSES.presence`): no request waits for one. */
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

/** Signs of life, and how late a change is noticed where notifications are lost. */
const POLL_MS = 250;
/** A memory that is behind after so many steps is so because of changes that were made after the question. */
const STEPS_MAX = 4;

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
  readonly #id: string;
  readonly #row: ReplicaRow;
  readonly #trust: TrustWindow;
  /** For how long its slots are its own. */
  readonly #lease: TrustWindow;
  readonly #house: Housekeeping;
  readonly #follower: Follower;
  readonly #silence = new Silence();
  readonly #mutator: Mutator;
  readonly #reachability: Reachability;
  /** A sign of life for all who wait together: it renews the trust. */
  readonly #beatTogether = joinNext(() => this.#beat());
  /** Without a grace there is no trust to renew, and a question that writes nothing is cheaper. */
  readonly #lookTogether = joinNext(() => this.#follower.look());
  #peers: readonly Peer[] = [];
  #server: string | null = null;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #polling: Promise<void> = Promise.resolve();
  #stopListening: (() => Promise<void>) | null = null;
  #closing: Promise<void> | null = null;

  readonly slots: BorrowedSlots;
  readonly limitBoard: LimitBoard;
  readonly freshness: Freshness = {
    isTrusted: () => this.#trust.isOpen(),
    refreshed: () => (this.#options.identity.graceMs > 0 ? this.#beatTogether() : this.#lookTogether()),
    mutate: (step) => this.#mutator.mutate(step),
  };

  constructor(options: PresenceOptions) {
    const { identity, pulse, postgres, schema, memory, clock, ids, log } = options;
    this.#options = options;
    this.#id = ids.uuid();
    this.#row = new ReplicaRow(pulse, { ...identity, id: this.#id });
    this.#trust = new TrustWindow(clock, identity.graceMs);
    const slotLeaseMs = options.slotLeaseMs ?? SLOT_LEASE_MS;
    this.#lease = new TrustWindow(clock, identity.graceMs + slotLeaseMs);
    this.#house = new Housekeeping({ postgres: pulse, clock, silence: this.#silence, slotLeaseMs, log });
    this.slots = new BorrowedSlots({
      bank: new SlotBank({ postgres: pulse, replicaId: this.#id, channel: toChannel(schema) }),
      isHeard: () => this.#lease.isOpen(),
      monotonicMs: () => clock.monotonicMs(),
      log,
    });
    this.limitBoard = new OpenUseBoard(pulse, this.#id);
    this.#follower = new Follower({ postgres: pulse, memory, onForeign: () => this.#leaveHistory() });
    const barrier = new Barrier({ postgres: pulse, clock, silence: this.#silence, ownId: this.#id });
    const refreshed = () => this.freshness.refreshed();
    this.#reachability = new Reachability({ postgres, log });
    this.#mutator = new Mutator({ postgres, schema, barrier, refreshed, clock, ids });
  }

  async open(): Promise<void> {
    const { pulse, schema, log } = this.#options;
    try {
      await this.#row.register();
      await this.#beatTogether();
    } catch (cause) {
      await this.#row.remove().catch(() => undefined);
      throw cause;
    }
    const hint = () => void this.#beatTogether().catch(() => undefined);
    try {
      this.#stopListening = await pulse.listen(toChannel(schema), hint, () => undefined);
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
    this.#trust.end();
    await this.#polling;
    await this.#beatTogether().catch(() => undefined);
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
      this.#polling = this.#poll().finally(() => this.#schedule());
    }, POLL_MS);
  }

  async #poll(): Promise<void> {
    this.#cutUnheard();
    try {
      await this.#beatTogether();
      await this.#house.keep(this.#peers);
    } catch (cause) {
      this.#options.log.debug("a sign of life failed", describeCause(cause));
    }
  }

  /** A sign of life, and what has to be read after it. Fulfilled when memory is as new as the database was at its sending. */
  async #beat(): Promise<void> {
    try {
      for (let step = 0; step < STEPS_MAX; step += 1) if (await this.#step()) break;
      if (!this.#isClosed) this.#reachability.answered();
    } catch (cause) {
      if (!this.#isClosed) this.#reachability.failed(cause);
      this.#silence.forget();
      throw cause;
    }
  }

  /** True when memory is what the database has. */
  async #step(): Promise<boolean> {
    const sentAt = this.#trust.now();
    const beat = await this.#row.beat(this.#follower.applied);
    // Its row is gone by now, and must not come back.
    if (this.#isClosed) throw new DatabaseUnreachableError("closed", { mayBeCommitted: false });
    if (beat === null) {
      // Others have gone on without this replica, or its row was lost with the database's last minutes.
      this.#trust.end();
      this.#follower.forget();
      await this.#row.register();
      await this.#follower.follow();
      this.slots.tellAll();
      return false;
    }
    this.#cutUnheard();
    this.#lease.extend(sentAt);
    if (this.#server !== null && this.#server !== beat.server) this.slots.tellAll();
    this.#server = beat.server;
    this.slots.heard(beat.shortPools);
    this.#peers = beat.peers;
    this.#silence.observe(beat.server, beat.peers, this.#options.clock.monotonicMs());
    if (this.#follower.isAt(beat)) {
      this.#trust.extend(sentAt);
      return true;
    }
    // What memory has is believed meanwhile: the change's own call waits for this replica, or for the end of its trust.
    await this.#follower.follow();
    return false;
  }

  /** The database was restored: what memory has, and what it has lent, may be unknown to it. */
  #leaveHistory(): void {
    this.#trust.end();
    this.slots.tellAll();
  }

  /** To be asked before a sign of life renews the lease: what was used until now may be another's already. */
  #cutUnheard(): void {
    if (!this.#lease.isOpen()) this.slots.cut();
  }
}

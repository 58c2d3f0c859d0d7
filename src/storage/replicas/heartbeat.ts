import type { Clock, InstantUs } from "#kernel/clock.ts";
import { joinNext } from "#kernel/turns.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { ReplicaFollower } from "./follower.ts";
import type { IdleTimes, Peer, ReplicaRow } from "./replica-row.ts";
import type { SlotLeases } from "./slot-leases.ts";

/** A moment by both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallUs: InstantUs;
}

/**
 * For how long memory may be believed: so many milliseconds from when the last good question was *sent*. The time that its
 * answer took, or lay unread in a stopped process, is not added. Elapsed time is compared by both clocks and the longer one
 * holds: Bun's monotonic clock (CLOCK_MONOTONIC) stands still while a machine is suspended, and the wall clock may be set.
 */
export class TrustWindow {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  #sentAt: Moment | null = null;

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
  }

  now(): Moment {
    return { monotonicMs: this.#clock.monotonicMs(), wallUs: this.#clock.nowUs() };
  }

  /** A question that was sent then has been answered well. An earlier one than known changes nothing. */
  extend(sentAt: Moment): void {
    if (this.#sentAt === null || sentAt.monotonicMs > this.#sentAt.monotonicMs) this.#sentAt = sentAt;
  }

  /** Closes it until the next `extend`. */
  end(): void {
    this.#sentAt = null;
  }

  isOpen(): boolean {
    return this.leftMs() > 0;
  }

  /** 0 when it is closed. */
  leftMs(): number {
    if (this.#sentAt === null) return 0;
    const { monotonicMs, wallUs } = this.now();
    const elapsedMs = Math.max(monotonicMs - this.#sentAt.monotonicMs, (wallUs - this.#sentAt.wallUs) / 1000);
    return Math.max(0, this.#lengthMs - elapsedMs);
  }
}

/** A standby refuses it, at which all connections are made anew (PostgreSQL's documentation, 9.27.9). */
export const PRIMARY_ONLY = "SELECT pg_current_xact_id()";

/** Knows if the last question of a replica was answered, and tells the log once when that changes. */
export class Reachability {
  readonly #catalog: Pick<Postgres, "all">;
  readonly #log: Log;
  #isUp = true;

  /** `catalog` has the connections that the catalog is changed by. */
  constructor(catalog: Pick<Postgres, "all">, log: Log) {
    this.#catalog = catalog;
    this.#log = log;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  answered(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    this.#log.info("PostgreSQL answers again");
    // After a failover they may still lead to a standby, which would tell of sessions that have ended.
    this.#probe();
  }

  failed(cause: unknown): void {
    if (!this.#isUp) return;
    this.#isUp = false;
    const what = cause instanceof DatabaseUnreachableError ? "does not answer" : "cannot be read";
    this.#log.warn(
      `PostgreSQL ${what}: keys and models are believed as they are until the grace is over`,
      describeCause(cause),
    );
    // Its connections may be dead in silence: they find out now, and not when the first change after the outage is made.
    this.#probe();
  }

  #probe(): void {
    void this.#catalog.all(PRIMARY_ONLY).catch(() => undefined);
  }
}

/** A memory that is behind after so many steps is so because of changes that were made after the question. */
const STEPS_MAX = 4;

export interface HeartbeatDeps {
  readonly row: ReplicaRow;
  readonly follower: ReplicaFollower;
  /** For how long memory is believed. */
  readonly trust: TrustWindow;
  /** For how long the replica's slots are its own. */
  readonly lease: TrustWindow;
  readonly slots: SlotLeases;
  readonly idleTimes: IdleTimes;
  readonly reachability: Reachability;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** The heartbeats of a replica: what each renews, and what has to be read after it. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #peers: readonly Peer[] = [];
  #server: string | null = null;
  #isEnded = false;
  /**
   * A heartbeat for all who wait together. Fulfilled when memory is as new as the database was at its sending. Throws
   * DatabaseUnreachableError, and what `Memory` throws.
   */
  readonly send = joinNext(() => this.#send());

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /** The other replicas, as the last answer told of them. */
  get peers(): readonly Peer[] {
    return this.#peers;
  }

  /** Makes the row, and gives the first heartbeat. Throws as `send` does, and leaves no row then. */
  async begin(): Promise<void> {
    const { row } = this.#deps;
    try {
      await row.register();
      await this.send();
    } catch (cause) {
      await row.remove().catch(() => undefined);
      throw cause;
    }
  }

  /** No answer is believed any more, nor is the row made again. */
  end(): void {
    this.#isEnded = true;
    this.#deps.trust.end();
  }

  /** To be asked before a heartbeat renews the lease: what was used until now may be another's already. */
  cutExpired(): void {
    const { lease, slots } = this.#deps;
    if (!lease.isOpen()) slots.cut();
  }

  async #send(): Promise<void> {
    const { reachability, idleTimes } = this.#deps;
    try {
      for (let step = 0; step < STEPS_MAX; step += 1) if (await this.#step()) break;
      if (!this.#isEnded) reachability.answered();
    } catch (cause) {
      if (!this.#isEnded) reachability.failed(cause);
      idleTimes.forget();
      throw cause;
    }
  }

  /** True when memory is what the database has. */
  async #step(): Promise<boolean> {
    const { row, follower, trust, lease, slots, idleTimes, clock } = this.#deps;
    const sentAt = trust.now();
    const answer = await row.sendHeartbeat(follower.applied);
    // Its row is gone by now, and must not come back.
    if (this.#isEnded) throw new DatabaseUnreachableError("closed", { mayBeCommitted: false });
    if (answer === null) {
      // Others have gone on without this replica, or its row was lost with the database's last minutes.
      trust.end();
      follower.forget();
      await row.register();
      await follower.catchUp();
      slots.reclaim();
      return false;
    }
    this.cutExpired();
    lease.extend(sentAt);
    if (this.#server !== null && this.#server !== answer.server) slots.reclaim();
    this.#server = answer.server;
    slots.update(answer.shortPools);
    this.#peers = answer.peers;
    idleTimes.observe(answer.server, answer.peers, clock.monotonicMs());
    if (follower.isAt(answer)) {
      trust.extend(sentAt);
      return true;
    }
    // Memory is believed meanwhile: the change's own call waits for this replica, or for the end of its trust.
    await follower.catchUp();
    return false;
  }
}

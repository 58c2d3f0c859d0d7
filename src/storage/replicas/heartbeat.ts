import type { Clock } from "#kernel/clock.ts";
import { joinNext } from "#kernel/join-next.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { BorrowedSlots } from "./borrowed-slots.ts";
import type { Follower } from "./follower.ts";
import type { Reachability } from "./reachability.ts";
import type { ReplicaRow } from "./replica-row.ts";
import type { Peer, Silence } from "./silence.ts";
import type { TrustWindow } from "./trust-window.ts";

/** A memory that is behind after so many steps is so because of changes that were made after the question. */
const STEPS_MAX = 4;

export interface HeartbeatDeps {
  readonly row: ReplicaRow;
  readonly follower: Follower;
  /** For how long memory is believed. */
  readonly trust: TrustWindow;
  /** For how long the replica's slots are its own. */
  readonly lease: TrustWindow;
  readonly slots: BorrowedSlots;
  readonly silence: Silence;
  readonly reachability: Reachability;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** The signs of life of a replica: what each renews, and what has to be read after it. */
export class Heartbeat {
  readonly #deps: HeartbeatDeps;
  #peers: readonly Peer[] = [];
  #server: string | null = null;
  #isEnded = false;
  /**
   * A sign of life for all who wait together. Fulfilled when memory is as new as the database was at its sending. Throws
   * DatabaseUnreachableError, and what `Memory` throws.
   */
  readonly beat = joinNext(() => this.#beat());

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps;
  }

  /** The other replicas, as the last answer told of them. */
  get peers(): readonly Peer[] {
    return this.#peers;
  }

  /** Makes the row, and gives the first sign of life. Throws as `beat` does, and leaves no row then. */
  async begin(): Promise<void> {
    const { row } = this.#deps;
    try {
      await row.register();
      await this.beat();
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

  /** To be asked before a sign of life renews the lease: what was used until now may be another's already. */
  cutUnheard(): void {
    const { lease, slots } = this.#deps;
    if (!lease.isOpen()) slots.cut();
  }

  async #beat(): Promise<void> {
    const { reachability, silence } = this.#deps;
    try {
      for (let step = 0; step < STEPS_MAX; step += 1) if (await this.#step()) break;
      if (!this.#isEnded) reachability.answered();
    } catch (cause) {
      if (!this.#isEnded) reachability.failed(cause);
      silence.forget();
      throw cause;
    }
  }

  /** True when memory is what the database has. */
  async #step(): Promise<boolean> {
    const { row, follower, trust, lease, slots, silence, clock } = this.#deps;
    const sentAt = trust.now();
    const beat = await row.beat(follower.applied);
    // Its row is gone by now, and must not come back.
    if (this.#isEnded) throw new DatabaseUnreachableError("closed", { mayBeCommitted: false });
    if (beat === null) {
      // Others have gone on without this replica, or its row was lost with the database's last minutes.
      trust.end();
      follower.forget();
      await row.register();
      await follower.follow();
      slots.tellAll();
      return false;
    }
    this.cutUnheard();
    lease.extend(sentAt);
    if (this.#server !== null && this.#server !== beat.server) slots.tellAll();
    this.#server = beat.server;
    slots.heard(beat.shortPools);
    this.#peers = beat.peers;
    silence.observe(beat.server, beat.peers, clock.monotonicMs());
    if (follower.isAt(beat)) {
      trust.extend(sentAt);
      return true;
    }
    // What memory has is believed meanwhile: the change's own call waits for this replica, or for the end of its trust.
    await follower.follow();
    return false;
  }
}

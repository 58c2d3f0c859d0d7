import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { FENCE_MARGIN_MS } from "./barrier.ts";
import { fenceIdle, type IdleTimes, type Peer } from "./replica-row.ts";
import { freeSlots } from "./slot-pool.ts";

/**
 * A replica without heartbeats goes on with the slots that it has for so long after its grace. Then it cuts the requests that
 * use them, and others take the slots over.
 */
export const SLOT_LEASE_MS = 60_000;
/** Slots are free so much later: a busy replica cuts late, and connections take a moment to close. */
const SLOT_MARGIN_MS = 5_000;
/** A busy replica with a short grace is not fenced before a change waits for it: it would have to read everything again. */
const IDLE_MS_MIN = 5_000;
const TRIM_MS = 60_000;

export interface PeerMaintenanceDeps {
  readonly postgres: Postgres;
  readonly clock: Clock;
  readonly idleTimes: IdleTimes;
  readonly slotLeaseMs: number;
  readonly log: Log;
}

/** The maintenance that any replica does for all of them. */
export class PeerMaintenance {
  readonly #deps: PeerMaintenanceDeps;
  #trimmedAtMs: number;

  constructor(deps: PeerMaintenanceDeps) {
    this.#deps = deps;
    this.#trimmedAtMs = deps.clock.monotonicMs();
  }

  /** Fences replicas that have gone idle, so that the next change does not wait for them, and frees their slots later. */
  async run(peers: readonly Peer[]): Promise<void> {
    const { postgres, clock, idleTimes, slotLeaseMs, log } = this.#deps;
    const nowMs = clock.monotonicMs();
    for (const peer of peers) {
      const idleMs = idleTimes.ofPeer(peer, nowMs);
      const overdueMs = Math.max(IDLE_MS_MIN, peer.graceMs + FENCE_MARGIN_MS);
      const leaseMs = peer.graceMs + slotLeaseMs + SLOT_MARGIN_MS;
      if (peer.isFenced) {
        if (idleMs >= leaseMs && (await freeSlots(postgres, peer)) > 0)
          log.warn("the slots of a silent replica are free again", { lane: peer.lane });
      } else if (idleMs >= overdueMs && (await fenceIdle(postgres, peer))) {
        log.warn("a replica is silent: changes wait for it no longer, its slots come back later", {
          lane: peer.lane,
          slots_in_seconds: Math.round((leaseMs - idleMs) / 1000),
        });
      }
    }
    if (nowMs - this.#trimmedAtMs < TRIM_MS) return;
    this.#trimmedAtMs = nowMs;
    await trim(postgres);
  }
}

/** Deletes changes that every replica has applied and that are older than a quarter of an hour, and replicas that ended a week ago without a word. */
async function trim(postgres: Postgres): Promise<void> {
  await postgres.run(
    `DELETE FROM change_log WHERE at < clock_timestamp() - interval '15 minutes'
       AND version < (SELECT least(min(applied), (SELECT version FROM catalog_state)) FROM replica WHERE NOT is_fenced)`,
  );
  await postgres.run(
    "DELETE FROM replica WHERE is_fenced AND heard_at < clock_timestamp() - interval '7 days'",
  );
}

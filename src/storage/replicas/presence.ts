import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { LimitBoard } from "#limits/open-elsewhere.ts";
import type { Memory } from "#storage/catalog/change.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { Barrier, FENCE_MARGIN_MS } from "./barrier.ts";
import { Hints, ReplicaFollower } from "./follower.ts";
import { Freshness } from "./freshness.ts";
import { Heartbeat, Reachability, TrustWindow } from "./heartbeat.ts";
import { OpenUseBoard } from "./open-use.ts";
import { fenceIdle, IdleTimes, type Peer, type ReplicaIdentity, ReplicaRow } from "./replica-row.ts";
import { SlotLeases } from "./slot-leases.ts";
import { freeSlots, SlotPools } from "./slot-pool.ts";

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
 * A replica without heartbeats goes on with the slots that it has for so long after its grace. Then it cuts the requests that
 * use them, and others take the slots over.
 */
const SLOT_LEASE_MS = 60_000;

/**
 * Joins the replicas. Fulfilled when memory is loaded. Throws DatabaseUnreachableError, SetupError and what `Memory` throws,
 * and leaves no row then.
 */
export async function openPresence(options: PresenceOptions): Promise<Presence> {
  const { identity, pulse, postgres, memory, clock, ids, log } = options;
  const { slotLeaseMs = SLOT_LEASE_MS } = options;
  const id = ids.uuid();
  const row = new ReplicaRow(pulse, { ...identity, id });
  const idleTimes = new IdleTimes();
  const trust = new TrustWindow(clock, identity.graceMs);
  const lease = new TrustWindow(clock, identity.graceMs + slotLeaseMs);
  const hints = new Hints(pulse);
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
  const follower = new ReplicaFollower({ postgres: pulse, memory, onForeign });
  const reachability = new Reachability(postgres, log);
  const heartbeat = new Heartbeat({ row, follower, trust, lease, slots, idleTimes, reachability, clock });
  // Without a grace there is no trust to renew, and a question that writes nothing is cheaper.
  const refreshed = identity.graceMs > 0 ? heartbeat.send : follower.poll;
  const barrier = new Barrier({ postgres: pulse, clock, idleTimes, ownId: id });
  const isTrusted = () => trust.isOpen();
  const freshness = new Freshness({ postgres, hints, barrier, follower, isTrusted, refreshed, clock, ids });
  const maintain = createPeerMaintenance({ postgres: pulse, clock, idleTimes, slotLeaseMs, log });
  await heartbeat.begin();
  const stopListening = await listen(hints, heartbeat, log);
  const stopSending = startHeartbeats(heartbeat, maintain, log);
  const leave = async () => {
    heartbeat.end();
    await stopSending();
    await heartbeat.send().catch(() => undefined);
    await stopListening().catch(() => undefined);
    try {
      await row.remove();
    } catch (cause) {
      log.warn("the database was not told that this replica ends", describeCause(cause));
    }
  };
  let leaving: Promise<void> | null = null;
  return {
    freshness,
    slots,
    limitBoard: new OpenUseBoard(pulse, id),
    health() {
      const trustLeftMs = trust.leftMs();
      const isDatabaseUp = reachability.isUp;
      const isServing = isDatabaseUp || trustLeftMs > 0;
      return { trustLeftMs, isDatabaseUp, isServing, barrierMs: freshness.barrierMs };
    },
    close: () => (leaving ??= leave()),
  };
}

async function listen(hints: Hints, heartbeat: Heartbeat, log: Log): Promise<() => Promise<void>> {
  try {
    return await hints.listen(() => void heartbeat.send().catch(() => undefined));
  } catch (cause) {
    log.warn(
      "PostgreSQL notifies of nothing: changes are noticed a quarter of a second later",
      describeCause(cause),
    );
    return async () => undefined;
  }
}

/** Returns what ends it, fulfilled when the last heartbeat has its answer. */
function startHeartbeats(heartbeat: Heartbeat, maintain: PeerMaintenance, log: Log): () => Promise<void> {
  const stopping = new AbortController();
  const keepSending = async () => {
    for (;;) {
      await sleep(HEARTBEAT_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      heartbeat.cutExpired();
      try {
        await heartbeat.send();
        await maintain(heartbeat.peers);
      } catch (cause) {
        log.debug("a heartbeat failed", describeCause(cause));
      }
    }
  };
  const sending = keepSending();
  return () => {
    stopping.abort();
    return sending;
  };
}

/** Slots are free so much later: a busy replica cuts late, and connections take a moment to close. */
const SLOT_MARGIN_MS = 5_000;
/** A busy replica with a short grace is not fenced before a change waits for it: it would have to read everything again. */
const IDLE_MS_MIN = 5_000;
const TRIM_MS = 60_000;

interface PeerMaintenanceDeps extends Required<
  Pick<PresenceOptions, "postgres" | "clock" | "log" | "slotLeaseMs">
> {
  readonly idleTimes: IdleTimes;
}

/** Fences replicas that have gone idle, so that the next change does not wait for them, and frees their slots later. */
type PeerMaintenance = (peers: readonly Peer[]) => Promise<void>;

/** The maintenance that any replica does for all of them. */
export function createPeerMaintenance(deps: PeerMaintenanceDeps): PeerMaintenance {
  const { postgres, clock, idleTimes, slotLeaseMs, log } = deps;
  let trimmedAtMs = clock.monotonicMs();
  return async (peers) => {
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
    if (nowMs - trimmedAtMs < TRIM_MS) return;
    trimmedAtMs = nowMs;
    await postgres.run(TRIM);
  };
}

/** Deletes changes that every replica has applied and that are older than a quarter of an hour, and replicas that ended a week ago without a word. */
const TRIM = `
  DELETE FROM change_log WHERE at < clock_timestamp() - interval '15 minutes'
    AND version < (SELECT least(min(applied), (SELECT version FROM catalog_state)) FROM replica WHERE NOT is_fenced);
  DELETE FROM replica WHERE is_fenced AND heard_at < clock_timestamp() - interval '7 days'`;

import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { StatementError } from "#storage/postgres/connection/errors.ts";
import { DEMAND_MS_MAX, type Peer } from "./replica-row.ts";

/** The slots of a pool that a replica has. A pool has the slots of one queue. */
export interface SlotGrant {
  readonly slots: number;
  /** Slots that it may have while another has fewer than it wants: it gives back those above. Null: no other has fewer. */
  readonly quota: number | null;
}

/** A replica says how many slots a pool has at most, and how many of them it keeps and wants. */
export interface SlotClaim {
  readonly pool: string;
  readonly limit: number;
  readonly keep: number;
  readonly wanted: number;
}

/**
 * A server of PostgreSQL that has just started may have forgotten leases: it was restored, or promoted too early. It gives out
 * no slot until every replica that can ask has said what it has.
 */
const SETTLE_MS = 3_000;
/**
 * The pause of a PostgreSQL that goes on where the server before it ended, whose leases are all there: three heartbeats, for a
 * disk that was restored beneath it. With outages in a row it would give out none in between otherwise.
 */
const SETTLE_SAME_MS = 750;
/** A replica that stands still in the middle of a claim holds the lock; a call that waits for it says nothing of the network. */
const LOCK_MS_MAX = 500;

export interface SlotPoolsDeps {
  readonly postgres: Postgres;
  readonly replicaId: string;
  /** Tells the other replicas that there is something to ask for. */
  readonly notify: () => void;
  /** For tests, whose other waits are not these. */
  readonly settle?: { readonly ms: number; readonly sameMs: number };
}

const SETTLE = { ms: SETTLE_MS, sameMs: SETTLE_SAME_MS };

/** The leases of this replica: each is written before a slot of it is used, and after the last use of one that goes back. */
export class SlotPools {
  readonly #deps: SlotPoolsDeps;
  readonly #timeline: Timeline;

  constructor(deps: SlotPoolsDeps) {
    this.#deps = deps;
    this.#timeline = new Timeline(deps.postgres);
  }

  /**
   * Says what the replica keeps and wants, and returns what it has now: at least what it keeps. The pool's row is locked
   * first, so that leases of one pool are made one after the other. A claim whose answer was lost is repeated with what is
   * known here, which is never more than what is written.
   */
  async claim(claim: SlotClaim): Promise<SlotGrant> {
    const { postgres, notify, settle = SETTLE } = this.#deps;
    const claimed = await postgres.transaction(async (tx) => {
      await tx.run(`SET LOCAL lock_timeout = ${LOCK_MS_MAX}`);
      const { seenMs, server } = await lockPool(tx, claim.pool);
      void this.#timeline.follow(server);
      const isSettled = seenMs > (this.#timeline.isSame(server) ? settle.sameMs : settle.ms);
      const { own, others } = await this.#readTenants(tx, claim.pool);
      const request = { ...claim, starvedMs: own.starvedMs, canGrow: isSettled && !own.isFenced };
      const lease = toGrant(request, others);
      await this.#write(tx, claim, lease);
      const isShort = claim.wanted > lease.slots;
      const wasShort = own.isAsking && own.wanted > own.slots;
      return { lease, isNews: (isShort && !wasShort) || (lease.quota !== null && lease.slots < own.slots) };
    });
    // Others ask at once: to give back, or to take what was given back. Only when something is new, or hints would answer hints.
    if (claimed.isNews) notify();
    return claimed.lease;
  }

  async #readTenants(tx: Transaction, pool: string) {
    const rows = await tx.all<TenantRow>(
      `SELECT replica.id = $2 AS "isOwn", is_fenced AS "isFenced", coalesce(slots, 0) AS slots, coalesce(wanted, 0) AS wanted,
         coalesce(extract(epoch FROM clock_timestamp() - starved_since) * 1000, 0)::double precision AS "starvedMs",
         NOT is_fenced AND coalesce(asked_at > clock_timestamp() - $3 * interval '1 millisecond', false) AS "isAsking"
       FROM replica LEFT JOIN slot_lease ON replica_id = replica.id AND pool = $1`,
      [pool, this.#deps.replicaId, DEMAND_MS_MAX],
    );
    const own = rows.find(({ isOwn }) => isOwn);
    if (own === undefined) throw new TypeError("this replica has no row");
    return { own, others: rows.filter(({ isOwn }) => !isOwn) };
  }

  async #write(tx: Transaction, { pool, wanted }: SlotClaim, { slots }: SlotGrant): Promise<void> {
    await tx.run(
      `INSERT INTO slot_lease AS lease (pool, replica_id, slots, wanted, starved_since, asked_at)
       VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN clock_timestamp() END, clock_timestamp())
       ON CONFLICT (pool, replica_id) DO UPDATE SET
         slots = excluded.slots, wanted = excluded.wanted, asked_at = excluded.asked_at,
         starved_since = CASE WHEN $5 THEN coalesce(lease.starved_since, excluded.starved_since) END`,
      [pool, this.#deps.replicaId, slots, wanted, slots === 0 && wanted > 0],
    );
  }
}

interface TenantRow extends Tenant {
  readonly isOwn: boolean;
  readonly isFenced: boolean;
}

interface PoolRow {
  /** For how long the pool has known the server. */
  readonly seenMs: number;
  /** When that was started. */
  readonly server: string;
}

async function lockPool(tx: Transaction, pool: string): Promise<PoolRow> {
  const [row] = await tx.all<PoolRow>(
    `INSERT INTO slot_pool AS pool (name, server_started_at, server_seen_at)
     VALUES ($1, pg_postmaster_start_time(), to_timestamp(0))
     ON CONFLICT (name) DO UPDATE SET
       server_seen_at = CASE WHEN pool.server_started_at = excluded.server_started_at
         THEN pool.server_seen_at ELSE clock_timestamp() END,
       server_started_at = excluded.server_started_at
     RETURNING server_started_at::text AS server,
       (extract(epoch FROM clock_timestamp() - server_seen_at) * 1000)::double precision AS "seenMs"`,
    [pool],
  );
  if (row === undefined) throw new TypeError("the pool has no row");
  return row;
}

/** Frees what a fenced replica has, unless it has given a heartbeat since this one. Its own requests are cut by then. */
export async function freeSlots(
  postgres: Postgres,
  { id, heartbeats }: Pick<Peer, "id" | "heartbeats">,
): Promise<number> {
  return postgres.run(
    `WITH gone AS (SELECT id FROM replica WHERE id = $1 AND heartbeats = $2 AND is_fenced FOR UPDATE SKIP LOCKED)
     DELETE FROM slot_lease USING gone WHERE replica_id = gone.id`,
    [id, heartbeats],
  );
}

/** A replica that leases slots of a pool. */
export interface Tenant {
  readonly slots: number;
  readonly wanted: number;
  /** For how long it has none and wants some; 0 while it has one. */
  readonly starvedMs: number;
  /** False: it has not said lately what it wants, and holds what it has. */
  readonly isAsking: boolean;
}

/** A claim as it is decided, in slots. */
export interface SlotRequest extends Pick<SlotClaim, "limit" | "keep" | "wanted"> {
  readonly starvedMs: number;
  /** False: it may not have more than it keeps. */
  readonly canGrow: boolean;
}

/** A replica keeps its turn for so long where there are fewer slots than replicas that want one. */
export const TURN_MS = 1_000;

/**
 * Decides a claim: a replica never gets more than the others leave of the limit. As long as all have what they want it is
 * first come, first served; else what one wants above its quota goes to those that have less than theirs.
 */
export function toGrant(request: SlotRequest, others: readonly Tenant[]): SlotGrant {
  const { limit, keep, wanted, canGrow } = request;
  const ofOthers = others.reduce((sum, { slots }) => sum + slots, 0);
  const asking = others.filter(({ isAsking }) => isAsking);
  const isShortElsewhere = asking.some((other) => other.wanted > other.slots);
  const held = others.reduce((sum, { slots, isAsking }) => sum + (isAsking ? 0 : slots), 0);
  const own = { slots: keep, wanted, starvedMs: request.starvedMs, isAsking: true };
  const quota = isShortElsewhere ? toQuota(Math.max(0, limit - held), own, asking) : null;
  const most = Math.min(wanted, quota ?? wanted, limit - ofOthers);
  return { slots: canGrow ? Math.max(keep, most) : keep, quota };
}

/** The max-min fair share of whole slots: no replica has more than it wants while one that has fewer wants more. */
function toQuota(slots: number, own: Tenant, others: readonly Tenant[]): number {
  const unserved = [own, ...others].toSorted((one, other) => one.wanted - other.wanted);
  let left = slots;
  while (unserved.length > 0) {
    const [first] = unserved;
    const even = Math.floor(left / unserved.length);
    if (first === undefined || first.wanted > even) break;
    if (first === own) return own.wanted;
    left -= first.wanted;
    unserved.shift();
  }
  const even = Math.floor(left / unserved.length);
  const extra = left - even * unserved.length;
  const turns = unserved.toSorted((one, other) => compareTurns(one, other, even));
  return turns.indexOf(own) < extra ? even + 1 : even;
}

/** Slots that are left over go to a replica that has starved for a turn, then to one that has one already, so that it stays there. */
function compareTurns(one: Tenant, other: Tenant, even: number): number {
  const rank = ({ slots, starvedMs }: Tenant) => (starvedMs >= TURN_MS ? 0 : slots > even ? 1 : 2);
  return rank(one) - rank(other) || other.starvedMs - one.starvedMs;
}

/**
 * Tells whether a server of PostgreSQL that has just started goes on where the one before it ended: both write one timeline. A
 * standby that is promoted, and a server that was restored to an earlier moment, begin a timeline of their own.
 */
class Timeline {
  readonly #postgres: Pick<Postgres, "all">;
  #asked: string | null = null;
  /** Null: not known. */
  #number: string | null = null;
  #same: string | null = null;

  constructor(postgres: Pick<Postgres, "all">) {
    this.#postgres = postgres;
  }

  /** False also where it is not known. `server` is when it was started. */
  isSame(server: string): boolean {
    return this.#same === server;
  }

  /** To be called with the server of each answer: its timeline has to be known before the next one starts. Never throws. */
  async follow(server: string): Promise<void> {
    if (this.#asked === server) return;
    this.#asked = server;
    const before = this.#number;
    try {
      // The first eight digits of the name of a segment (PostgreSQL's documentation, 9.27.3).
      const [row] = await this.#postgres.all<{ timeline: string }>(
        "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline",
      );
      if (this.#asked !== server) return;
      this.#number = row?.timeline ?? null;
      if (this.#number !== null && this.#number === before) this.#same = server;
    } catch (cause) {
      if (this.#asked !== server) return;
      // Some that are offered as a service do not tell; one that was not reached is asked again.
      if (cause instanceof StatementError) this.#number = null;
      else this.#asked = null;
    }
  }
}

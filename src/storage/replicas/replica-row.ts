import type { CatalogVersion } from "#storage/catalog/change.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";

/** A replica, as it tells others of itself. */
export interface ReplicaIdentity {
  /** A UUID of this process: another start is another replica. */
  readonly id: string;
  /** Its writer number, which is that of its spool. */
  readonly lane: number;
  /** For people, such as a host's name. */
  readonly name: string;
  readonly graceMs: number;
  /** The last migration that it knows. */
  readonly schema: string;
  /** The product's. */
  readonly version: string;
}

/** Another replica, as its row tells of it. */
export interface Peer {
  readonly id: string;
  readonly lane: number;
  readonly heartbeats: number;
  readonly graceMs: number;
  readonly isFenced: boolean;
}

/** The answer to a heartbeat. */
export interface HeartbeatAnswer extends CatalogVersion {
  /** Names the process of PostgreSQL: when it was started. */
  readonly server: string;
  readonly peers: readonly Peer[];
  /** Slot pools of which another replica wants more than it has. */
  readonly shortPools: readonly string[];
}

/** A demand for slots that was not repeated for so long is of a replica that is gone. */
export const DEMAND_MS_MAX = 1_000;

/**
 * The row of this process. The lock of the row orders its heartbeats and its fencing: either a fence finds a heartbeat that it
 * did not expect, or the replica learns that it is fenced.
 */
export class ReplicaRow {
  readonly #postgres: Postgres;
  readonly #own: ReplicaIdentity;

  constructor(postgres: Postgres, own: ReplicaIdentity) {
    this.#postgres = postgres;
    this.#own = own;
  }

  /**
   * Makes the row, or lifts its fence. Nothing may be trusted until a later heartbeat: what is loaded after this is known to
   * every replica that commits a change, since it waits for this row. Rows of the same writer number are of processes that have ended.
   */
  async register(): Promise<void> {
    const { id, lane, name, graceMs, schema, version } = this.#own;
    await this.#postgres.transaction(async (tx) => {
      await tx.run("DELETE FROM replica WHERE lane = $1 AND id <> $2", [lane, id]);
      await tx.run(
        `INSERT INTO replica (id, lane, name, applied, heartbeats, grace_ms, is_fenced, schema, version)
         VALUES ($1, $2, $3, 0, 1, $4, false, $5, $6)
         ON CONFLICT (id) DO UPDATE
         SET applied = 0, heartbeats = replica.heartbeats + 1, heard_at = clock_timestamp(), is_fenced = false`,
        [id, lane, name, graceMs, schema, version],
      );
    });
  }

  /**
   * A heartbeat that tells what memory has. Null: the row is fenced or gone, and memory may not be believed. A version of
   * another history than the database's counts as none, else a change would not wait for this replica.
   */
  async sendHeartbeat(applied: CatalogVersion | null): Promise<HeartbeatAnswer | null> {
    const [answer = null] = await this.#postgres.all<HeartbeatAnswer>(HEARTBEAT, [
      this.#own.id,
      applied?.version ?? 0,
      applied?.token ?? null,
      DEMAND_MS_MAX,
    ]);
    return answer;
  }

  async remove(): Promise<void> {
    await this.#postgres.run("DELETE FROM replica WHERE id = $1", [this.#own.id]);
  }
}

const HEARTBEAT = `
  UPDATE replica SET
    applied = CASE
      WHEN EXISTS (SELECT FROM change_log WHERE version = $2 AND token = $3::text)
        OR EXISTS (SELECT FROM catalog_state WHERE version = $2 AND token = $3::text) THEN $2
      ELSE 0 END,
    heartbeats = heartbeats + 1,
    heard_at = clock_timestamp()
  WHERE id = $1 AND NOT is_fenced
  RETURNING
    (SELECT version FROM catalog_state) AS version,
    (SELECT token FROM catalog_state) AS token,
    pg_postmaster_start_time()::text AS server,
    (SELECT coalesce(json_agg(json_build_object(
       'id', id, 'lane', lane, 'heartbeats', heartbeats, 'graceMs', grace_ms, 'isFenced', is_fenced)), '[]')
     FROM replica other WHERE other.id <> $1) AS peers,
    (SELECT coalesce(json_agg(DISTINCT pool), '[]') FROM slot_lease
     WHERE wanted > slots AND replica_id <> $1
       AND asked_at > clock_timestamp() - $4 * interval '1 millisecond') AS "shortPools"`;

/** Fences a replica that has given no heartbeat since this one. True: from now on no change waits for it. */
export async function fenceIdle(
  sql: Sql,
  { id, heartbeats }: Pick<Peer, "id" | "heartbeats">,
): Promise<boolean> {
  const fenced = await sql.run(
    "UPDATE replica SET is_fenced = true WHERE id = $1 AND heartbeats = $2 AND NOT is_fenced",
    [id, heartbeats],
  );
  return fenced > 0;
}

/** Fences a replica that lives and has not applied a version whose time is over. */
export async function fenceLate(sql: Sql, id: string, version: number): Promise<void> {
  await sql.run("UPDATE replica SET is_fenced = true WHERE id = $1 AND applied < $2 AND NOT is_fenced", [
    id,
    version,
  ]);
}

/**
 * Measures how long each replica has been idle, by this process's own clock: its row tells the same heartbeat meanwhile. No clock
 * of a server or of another machine takes part, so none that is wrong or set fences a replica that answers from memory.
 */
export class IdleTimes {
  readonly #seen = new Map<string, { heartbeats: number; sinceMs: number }>();
  #server: string | null = null;

  /** `server` names the process of PostgreSQL: after a restart or a failover heartbeats may have been lost. */
  observe(server: string, peers: readonly Peer[], nowMs: number): void {
    if (server !== this.#server) this.#seen.clear();
    this.#server = server;
    const ids = new Set(peers.map(({ id }) => id));
    for (const { id, heartbeats } of peers)
      if (this.#seen.get(id)?.heartbeats !== heartbeats) this.#seen.set(id, { heartbeats, sinceMs: nowMs });
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
  }

  /** Heartbeats that were made while this process could not ask may have been lost in a failover. */
  forget(): void {
    this.#seen.clear();
  }

  /** Milliseconds for which this heartbeat has been the replica's; 0 for one that was not seen. */
  ofPeer({ id, heartbeats }: Pick<Peer, "id" | "heartbeats">, nowMs: number): number {
    const seen = this.#seen.get(id);
    return seen === undefined || seen.heartbeats !== heartbeats ? 0 : nowMs - seen.sinceMs;
  }
}

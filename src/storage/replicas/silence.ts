/** Another replica, as its row tells of it. */
export interface Peer {
  readonly id: string;
  readonly lane: number;
  readonly beat: number;
  readonly graceMs: number;
  readonly isFenced: boolean;
}

/**
 * For how long each replica has been silent, by this process's own clock: how long its row has told the same beat. No clock
 * of a server or of another machine takes part, so none that is wrong or set fences a replica that answers from memory.
 */
export class Silence {
  readonly #sinceMs = new Map<string, { beat: number; sinceMs: number }>();
  #server: string | null = null;

  /** `server` names the process of PostgreSQL: after a restart or a failover beats may have been lost. */
  observe(server: string, peers: readonly Peer[], nowMs: number): void {
    if (server !== this.#server) this.#sinceMs.clear();
    this.#server = server;
    const seen = new Set<string>();
    for (const { id, beat } of peers) {
      seen.add(id);
      if (this.#sinceMs.get(id)?.beat !== beat) this.#sinceMs.set(id, { beat, sinceMs: nowMs });
    }
    for (const id of this.#sinceMs.keys()) if (!seen.has(id)) this.#sinceMs.delete(id);
  }

  /** Beats that were made while this process could not ask may have been lost in a failover. */
  forget(): void {
    this.#sinceMs.clear();
  }

  /** Milliseconds for which this beat has been the replica's; 0 for one that was not seen. */
  ofPeer({ id, beat }: Pick<Peer, "id" | "beat">, nowMs: number): number {
    const seen = this.#sinceMs.get(id);
    return seen === undefined || seen.beat !== beat ? 0 : nowMs - seen.sinceMs;
  }
}

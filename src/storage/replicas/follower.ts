import { joinNext } from "#kernel/turns.ts";
import { DatabaseUnreachableError, STANDBY } from "#storage/postgres/connection/errors.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { type CatalogVersion, Follower, type Memory } from "#storage/catalog/change.ts";

interface ReplicaFollowerOptions {
  readonly postgres: Postgres;
  readonly memory: Memory;
  readonly onForeign?: () => void;
}

/** Keeps memory at the version that the database has. */
export class ReplicaFollower extends Follower {
  readonly #postgres: Postgres;
  /** Brings memory to the version that the database has by now, for all who wait together. */
  readonly catchUp = joinNext(() => this.#catchUp());
  /**
   * `catchUp`, where most calls find nothing new: one statement, and no transaction. Throws DatabaseUnreachableError for a
   * standby, which may not have the latest change.
   */
  readonly poll = joinNext(() => this.#poll());

  constructor({ postgres, memory, onForeign }: ReplicaFollowerOptions) {
    super(memory, onForeign);
    this.#postgres = postgres;
  }

  async #poll(): Promise<void> {
    const [current] = await this.#postgres.all<CatalogVersion & { readonly isStandby: boolean }>(
      'SELECT version, token, pg_is_in_recovery() AS "isStandby" FROM catalog_state',
    );
    if (current === undefined) throw new TypeError("catalog_state has no row");
    if (current.isStandby) throw new DatabaseUnreachableError(STANDBY, { mayBeCommitted: false });
    if (!this.isAt(current)) await this.catchUp();
  }

  async #catchUp(): Promise<void> {
    const read = () =>
      this.#postgres.transaction((tx) => drive(tx, this.follow()), {
        isReadOnly: true,
        isolation: "repeatable read",
        callMsMax: STATEMENT_MS_MAX.load,
      });
    // A change of this replica moves memory on by itself.
    for (let install = await read(); !install(); install = await read());
  }
}

/** Any role of the database may send hints, as many as it likes: what answers them is done 200 times a second at most. */
const HINT_MS_MIN = 5;

/**
 * Notifications that there is something to ask for. They say nothing by themselves, and whatever is told by one is found
 * without it by the next heartbeat: any role may forge them, and may fill the queue of the server, so that none is sent.
 */
export class Hints {
  readonly #postgres: Postgres;
  readonly #channel: string;

  constructor(postgres: Postgres) {
    this.#postgres = postgres;
    this.#channel = toChannel(postgres.schema);
  }

  /** Never within a transaction: a notification that is refused would take it along, and its COMMIT waits for all others'. */
  send(): void {
    void this.#postgres.all("SELECT pg_notify($1, '')", [this.#channel]).catch(() => undefined);
  }

  /** Returns what ends it. Those that come soon after another are one. */
  async listen(onHint: () => void): Promise<() => Promise<void>> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let heardMs = Number.NEGATIVE_INFINITY;
    const answer = () => {
      timer = undefined;
      heardMs = performance.now();
      onHint();
    };
    const hear = () => {
      if (timer !== undefined) return;
      const waitMs = heardMs + HINT_MS_MIN - performance.now();
      if (waitMs <= 0) answer();
      else timer = setTimeout(answer, waitMs);
    };
    const stop = await this.#postgres.listen(this.#channel, hear);
    return async () => {
      clearTimeout(timer);
      await stop();
    };
  }
}

/** Its name cannot be longer than 63 bytes, as a schema's may be. */
function toChannel(schema: string): string {
  return `lockport_${new Bun.CryptoHasher("sha256").update(schema).digest("hex").slice(0, 32)}`;
}

import { describeCause, type Log } from "#kernel/log.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";

export interface ReachabilityDeps {
  /** For changing the catalog. */
  readonly postgres: Pick<Postgres, "all">;
  readonly log: Log;
}

/** What a standby refuses, at which all connections are made anew (PostgreSQL's documentation, 9.27.9). */
export const PRIMARY_ONLY = "SELECT pg_current_xact_id()";

/** Whether the last question of a replica was answered. The log is told once when that changes. */
export class Reachability {
  readonly #deps: ReachabilityDeps;
  #isUp = true;

  constructor(deps: ReachabilityDeps) {
    this.#deps = deps;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  answered(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    this.#deps.log.info("PostgreSQL answers again");
    // After a failover they may still lead to a standby, which would tell of sessions that have ended.
    this.#probe();
  }

  failed(cause: unknown): void {
    if (!this.#isUp) return;
    this.#isUp = false;
    const what = cause instanceof DatabaseUnreachableError ? "does not answer" : "cannot be read";
    this.#deps.log.warn(
      `PostgreSQL ${what}: keys and models are believed as they are until the grace is over`,
      describeCause(cause),
    );
    // Its connections may be dead in silence: they find out now, and not when the first change after the outage is made.
    this.#probe();
  }

  #probe(): void {
    void this.#deps.postgres.all(PRIMARY_ONLY).catch(() => undefined);
  }
}

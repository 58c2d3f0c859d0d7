import { describeCause, type Log } from "#kernel/log.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";

export interface ReachabilityDeps {
  /** For changing the catalog. */
  readonly postgres: Postgres;
  readonly log: Log;
}

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
    void this.#deps.postgres.all("SELECT 1").catch(() => undefined);
  }
}

import type { IdentityStore } from "#identity/store.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import type { UsageLedger } from "#usage/store.ts";
import type { Settlements } from "./settlements.ts";

export interface OrphanedEventsDeps {
  readonly ledger: Pick<UsageLedger, "listPendingOwners" | "listPending">;
  readonly settlements: Pick<Settlements, "settle">;
  readonly identity: Pick<IdentityStore, "listPrincipals">;
  readonly metrics: Pick<UsageMetrics, "open">;
  readonly log: Log;
}

const LOOK_INTERVAL_MS = 10 * 60 * 1000;
/** Far above what an installation has: with more of them none is taken for deleted. */
const PRINCIPALS_MAX = 1_000_000;
/** The name that reports give to providers that are gone, which metrics of these events have. */
const PROVIDER_NAME = "(deleted)";

/** Settles, as not reported, the pending events of principals that are gone: no caller can ask for their answers any more. */
export class OrphanedEvents {
  readonly #deps: OrphanedEventsDeps;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(deps: OrphanedEventsDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.look(), LOOK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Never throws: the next look finds what this one has left. */
  async look(): Promise<void> {
    try {
      for (const gone = await this.#findGone(); gone.length > 0;) if (!(await this.#settle(gone))) break;
    } catch (cause) {
      this.#deps.log.debug("pending events of deleted principals could not be settled", describeCause(cause));
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #findGone(): Promise<readonly string[]> {
    // First: a principal that is made meanwhile must not be missing from the other list.
    const owners = await this.#deps.ledger.listPendingOwners();
    if (owners.length === 0) return [];
    const { rows, total } = await this.#deps.identity.listPrincipals({ limit: PRINCIPALS_MAX, offset: 0 });
    if (rows.length < total) return [];
    const known = new Set(rows.map(({ id }) => id));
    return owners.filter((owner) => !known.has(owner));
  }

  /** False when there was nothing more. */
  async #settle(gone: readonly string[]): Promise<boolean> {
    const events = await this.#deps.ledger.listPending(gone);
    for (const { event, endpoint, model } of events) {
      await this.#deps.settlements.settle({
        event,
        outcome: "ok",
        errorKind: null,
        usage: null,
        providerName: PROVIDER_NAME,
        findPrices: () => null,
        counter: this.#deps.metrics.open({ endpoint, provider: PROVIDER_NAME, model }),
      });
    }
    return events.length > 0;
  }
}

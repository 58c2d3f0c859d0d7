import type { CatalogStore } from "#catalog/store.ts";
import { Cancellation, type Caller, createDeadlines } from "#kernel/cancellation.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { ConnectionFailure } from "#kernel/system-code.ts";
import { Turns } from "#kernel/turns.ts";
import { type LimitGate, NO_LIMITS } from "#limits/limit-gate.ts";
import type { UsageBeginning } from "#usage/event.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import type { UsageLedger, UsageWatch } from "#usage/store.ts";
import { Settlements } from "./settlements.ts";
import { createSlowConsumers, type SlowConsumers } from "./tee.ts";
import { Upstream } from "./upstream.ts";

export interface OpenRequestsDeps {
  readonly catalog: Pick<CatalogStore, "peek" | "snapshot">;
  readonly ledger: UsageLedger;
  readonly metrics: Pick<UsageMetrics, "open">;
  /** Absent: everything passes. */
  readonly limits?: LimitGate;
  /** Absent: nobody else hears of events. */
  readonly watch?: UsageWatch;
  readonly clock: Clock;
  readonly log: Log;
  /** The lane that ends the ids of requests (`eventIdToUuid`); 0 when absent. */
  readonly lane?: number;
}

/** Every request that is open, of the data plane and of the relay, and what they share. */
export class OpenRequests {
  readonly deps: OpenRequestsDeps;
  readonly lane: number;
  readonly limits: LimitGate;
  readonly unreached: UnreachedLog;
  /** Settles events whose usage is pending. */
  readonly settlements: Settlements;
  readonly upstream: Upstream;
  readonly stalls: SlowConsumers;
  /** Answers that are at their end: they are metered and written down together. */
  readonly ends = new Turns();
  readonly #bounds: ConstructorParameters<typeof Cancellation>[1];
  #isHalting = false;
  #openCount = 0;
  #openStreamCount = 0;
  #waiting: (() => void)[] = [];

  constructor(deps: OpenRequestsDeps) {
    const { clock } = deps;
    const monotonicMs = () => clock.monotonicMs();
    this.deps = deps;
    this.lane = deps.lane ?? 0;
    this.limits = deps.limits ?? NO_LIMITS;
    this.unreached = new UnreachedLog(deps);
    this.settlements = new Settlements({ ...deps, limits: this.limits });
    this.upstream = new Upstream(clock);
    this.stalls = createSlowConsumers({ monotonicMs });
    this.#bounds = {
      limits: createDeadlines(monotonicMs),
      lasting: createDeadlines(monotonicMs),
      isHalting: () => this.#isHalting,
      spare: [],
    };
  }

  /** For one request; its caller is watched once it lasts. */
  openCancellation(caller: Caller): Cancellation {
    return new Cancellation(caller, this.#bounds);
  }

  /** From now on a connection that ends was closed by the server, and its caller did not hang up. */
  halt(): void {
    this.#isHalting = true;
  }

  /** Fulfilled when what has begun so far survives a kill: only then may it go upstream. */
  written(): Promise<void> {
    return this.deps.ledger.written();
  }

  openCount(): number {
    return this.#openCount;
  }

  /** Open requests that asked for a stream. */
  openStreamCount(): number {
    return this.#openStreamCount;
  }

  /** Fulfilled as soon as no request is open. */
  settled(): Promise<void> {
    if (this.#openCount === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  opened(): void {
    this.#openCount += 1;
  }

  begun(request: UsageBeginning): void {
    this.limits.began(request);
    if (request.endpoint === "responses") this.settlements.began(request);
    if (request.streamed) this.#openStreamCount += 1;
  }

  lost(request: UsageBeginning): void {
    this.limits.lost(request);
    this.settlements.lost(request);
  }

  /** Null: one that could not be begun. */
  closed(request: UsageBeginning | null): void {
    this.#openCount -= 1;
    if (request?.streamed === true) this.#openStreamCount -= 1;
    if (this.#openCount > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** A provider that is down fails every request: one line for each reason in so much time. */
const SILENT_MS = 60_000;

/** The log's word of providers that give no answer, with the reason that no caller is told. */
class UnreachedLog {
  readonly #deps: Pick<OpenRequestsDeps, "clock" | "log">;
  /** By provider and reason, of which there are few: names are the catalog's. */
  readonly #told = new Map<string, { atMs: number; untold: number }>();

  constructor(deps: Pick<OpenRequestsDeps, "clock" | "log">) {
    this.#deps = deps;
  }

  tell(provider: string, failure: ConnectionFailure): void {
    const key = `${failure} ${provider}`;
    const nowMs = this.#deps.clock.monotonicMs();
    const told = this.#told.get(key);
    if (told !== undefined && nowMs - told.atMs < SILENT_MS) {
      told.untold += 1;
      return;
    }
    this.#told.set(key, { atMs: nowMs, untold: 0 });
    const before = told === undefined || told.untold === 0 ? {} : { untold: told.untold };
    this.#deps.log.warn("a provider gave no answer", { provider, failure, ...before });
  }
}

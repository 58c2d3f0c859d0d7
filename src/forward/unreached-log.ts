import type { Clock } from "#kernel/clock.ts";
import type { ConnectionFailure } from "#kernel/connection-failure.ts";
import type { Log } from "#kernel/log.ts";

/** A provider that is down fails every request: one line for each reason in so much time. */
const SILENT_MS = 60_000;

/** The log's word of providers that give no answer, with the reason that no caller is told. */
export class UnreachedLog {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #log: Pick<Log, "warn">;
  /** By provider and reason, of which there are few: names are the catalog's. */
  readonly #told = new Map<string, { atMs: number; untold: number }>();

  constructor({
    clock,
    log,
  }: {
    readonly clock: Pick<Clock, "monotonicMs">;
    readonly log: Pick<Log, "warn">;
  }) {
    this.#clock = clock;
    this.#log = log;
  }

  tell(provider: string, failure: ConnectionFailure): void {
    const key = `${failure} ${provider}`;
    const nowMs = this.#clock.monotonicMs();
    const told = this.#told.get(key);
    if (told !== undefined && nowMs - told.atMs < SILENT_MS) {
      told.untold += 1;
      return;
    }
    this.#told.set(key, { atMs: nowMs, untold: 0 });
    const before = told === undefined || told.untold === 0 ? {} : { untold: told.untold };
    this.#log.warn("a provider gave no answer", { provider, failure, ...before });
  }
}

import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { MaintenancePass } from "#storage/threads/writer-tasks.ts";
import { toSealBeforeDay } from "#storage/cells/calendar.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { BusyError } from "./leader.ts";
import { Maintenance } from "./maintenance.ts";

export interface UpkeepOptions {
  readonly postgres: Postgres;
  readonly log: Log;
}

/** Between two tries of a look that the database has not answered. */
const RETRY_INTERVAL_MS = 1_000;

/** A replica that runs is heard twice a second. */
const SILENT_HOURS = 1;

/** Looks at the ledger from time to time, one look after the other, and does what is due. */
export class Upkeep {
  readonly #postgres: Postgres;
  readonly #log: Log;
  readonly #maintenance: Maintenance;
  readonly #told = new Set<number>();
  #last: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor({ postgres, log }: UpkeepOptions) {
    this.#postgres = postgres;
    this.#log = log;
    this.#maintenance = new Maintenance(postgres);
  }

  /** Fulfilled when all that was due is committed, here or by another replica, or cannot be done before the next look. */
  look(look: MaintenancePass): Promise<void> {
    this.#last = this.#last.then(() => this.#untilDone(look));
    return this.#last;
  }

  /** After the step that is under way no other begins. */
  stop(): void {
    this.#isStopped = true;
  }

  async #untilDone(look: MaintenancePass): Promise<void> {
    let isFailing = false;
    while (!this.#isStopped) {
      try {
        await this.#do(look);
        return;
      } catch (cause) {
        if (this.#isStopped) return;
        if (!isFailing)
          this.#log.warn("usage ledger: its maintenance does not come forward", describeCause(cause));
        if (cause instanceof BusyError) return;
        isFailing = true;
        await sleep(RETRY_INTERVAL_MS);
      }
    }
  }

  async #do(look: MaintenancePass): Promise<void> {
    const maintenance = this.#maintenance;
    await this.#all(() => maintenance.makePartitions(look.retention.nowUs));
    const { sealBeforeDay, retention } = await this.#bound(look);
    await this.#all(() => maintenance.seal(sealBeforeDay));
    const beforeUs = await maintenance.boundRetention(retention);
    if (beforeUs !== null) await this.#all(() => maintenance.prune(beforeUs));
    await this.#all(() => maintenance.trimRecorded());
    await maintenance.forgetDeletedKeys();
    await this.#tellSilent();
  }

  /** The log is everybody's: one replica whose clock is ahead would remove it, and seal days that all others still write. */
  async #bound({ sealBeforeDay, retention }: MaintenancePass): Promise<MaintenancePass> {
    const [row] = await this.#postgres.all<{ now_us: number }>(
      "SELECT floor(extract(epoch FROM now()) * 1000000)::bigint AS now_us",
    );
    const nowUs = Math.min(retention.nowUs, row?.now_us ?? 0);
    return {
      sealBeforeDay: Math.min(sealBeforeDay, toSealBeforeDay(nowUs)),
      retention: { ...retention, nowUs },
    };
  }

  async #all(step: () => Promise<boolean>): Promise<void> {
    while (!this.#isStopped && (await step()));
  }

  /** Once each: only an operator knows whether the folder of a spool is gone. */
  async #tellSilent(): Promise<void> {
    const silent = await this.#postgres.all<{ lane: number; hours: number }>(
      `SELECT lane, floor(extract(epoch FROM now() - heard_at) / 3600)::integer AS hours FROM spool
       WHERE heard_at < now() - $1 * interval '1 hour' ORDER BY lane`,
      [SILENT_HOURS],
    );
    for (const { lane, hours } of silent) {
      if (this.#told.has(lane)) continue;
      this.#told.add(lane);
      this.#log.warn(
        "usage ledger: a replica's spool has not been heard of; what its data folder holds is not counted yet",
        { lane, hours },
      );
    }
  }
}

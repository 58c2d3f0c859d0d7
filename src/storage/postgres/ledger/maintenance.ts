import { SetupError } from "#kernel/errors.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import { maintain, type MaintenanceStep } from "#storage/cells/maintenance.ts";
import type { MaintenancePass } from "#storage/cells/retention.ts";
import { StatementError } from "#storage/postgres/connection/errors.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { run, type Script } from "#storage/sql/script.ts";
import { dropPartition, makePartitions } from "./partitions.ts";

/** Between two tries of a pass that the database has not answered. */
const RETRY_INTERVAL_MS = 1_000;
/** A replica that runs is heard twice a second. */
const SILENT_HOURS = 1;
/** A cursor that is older is told that there is a gap. */
const RECORDED_KEPT_MINUTES = 15;
/** Batches removed in one transaction. */
const RECORDED_BATCHES_MAX = 1_000;

export interface PostgresMaintenanceOptions {
  readonly postgres: Postgres;
  readonly log: Log;
}

/**
 * Maintains the ledger beside its writer, one pass after the other: partitions, sealing and retention, the order of recording,
 * and the uses of deleted keys. Each step is made by one replica at a time.
 */
export class PostgresMaintenance {
  readonly #postgres: Postgres;
  readonly #log: Log;
  readonly #reported = new Set<number>();
  #last: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor({ postgres, log }: PostgresMaintenanceOptions) {
    this.#postgres = postgres;
    this.#log = log;
  }

  /** Fulfilled when all that was due is committed, here or by another replica, or cannot be done before the next pass. */
  run(pass: MaintenancePass): Promise<void> {
    this.#last = this.#last.then(() => this.#runUntilDone(pass));
    return this.#last;
  }

  /** After the step that is under way no other begins. */
  stop(): void {
    this.#isStopped = true;
  }

  async #runUntilDone(pass: MaintenancePass): Promise<void> {
    let isFailing = false;
    while (!this.#isStopped) {
      try {
        await this.#run(pass);
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

  async #run({ nowUs: ownUs, ageUsMax }: MaintenancePass): Promise<void> {
    const [clock] = await this.#postgres.all<{ now_us: number }>(
      "SELECT floor(extract(epoch FROM now()) * 1000000)::bigint AS now_us",
    );
    // The ledger is shared: a replica whose clock is ahead would remove its rows, and seal days that the others still write.
    const nowUs = Math.min(ownUs, clock?.now_us ?? 0);
    const make = (step: MaintenanceStep) => this.#step(step);
    await this.#define(() => makePartitions(nowUs));
    await maintain({ nowUs, ageUsMax }, make, (beforeUs) => this.#define(() => dropPartition(beforeUs)));
    while (await make(trimRecorded));
    await this.#postgres.run(
      "DELETE FROM key_use WHERE key_id NOT IN (SELECT id FROM api_keys UNION ALL SELECT id FROM relay_tokens)",
    );
    await this.#reportSilent();
  }

  /** Steps that a role may be refused that does not own the tables: rows stay in the default partition, and go in slices. */
  async #define(step: MaintenanceStep): Promise<void> {
    try {
      while (await this.#step(step));
    } catch (cause) {
      if (!(cause instanceof SetupError && cause.kind === "permission")) throw cause;
    }
  }

  async #step(step: MaintenanceStep): Promise<boolean> {
    return !this.#isStopped && (await runStep(this.#postgres, step));
  }

  /** Once each: only an operator knows whether the folder of a spool is gone. */
  async #reportSilent(): Promise<void> {
    const silent = await this.#postgres.all<{ lane: number; hours: number }>(
      `SELECT lane, floor(extract(epoch FROM now() - heard_at) / 3600)::integer AS hours FROM spool
       WHERE heard_at < now() - $1 * interval '1 hour' ORDER BY lane`,
      [SILENT_HOURS],
    );
    for (const { lane, hours } of silent) {
      if (this.#reported.has(lane)) continue;
      this.#reported.add(lane);
      this.#log.warn(
        "usage ledger: a replica's spool has not been heard of; what its data folder holds is not counted yet",
        { lane, hours },
      );
    }
  }
}

/** A step: removes old batches of the order in which events were recorded. */
function* trimRecorded(): Script<boolean> {
  const removed = yield* run(
    `DELETE FROM recorded_batch WHERE (lane, number) IN (
       SELECT lane, number FROM recorded_batch WHERE recorded_at < now() - ? * interval '1 minute'
       ORDER BY recorded_at LIMIT ?)`,
    [RECORDED_KEPT_MINUTES, RECORDED_BATCHES_MAX],
  );
  return removed === RECORDED_BATCHES_MAX;
}

/** The wait of a step for a lock. Reads and writes behind it wait as long, so that it is short. */
const LOCK_WAIT_MS = 300;
/** A step that got no lock, or met another one in a circle, is made again after a pause, so often at most. */
const TRIES_MAX = 20;
const PAUSE_MS = 250;
/** SQLSTATE lock_not_available, deadlock_detected and serialization_failure. */
const BUSY = new Set(["55P03", "40P01", "40001"]);

/**
 * The lock of maintenance, which no batch and no report meets. It takes a right on the table: a lock by a number any role of the
 * database could hold for ever. `ONLY`: partitions are analyzed and vacuumed under the same lock.
 */
const LEAD = "LOCK TABLE ONLY event IN SHARE UPDATE EXCLUSIVE MODE NOWAIT";

/**
 * Makes a step as one transaction, by whichever replica gets its lock: false as well when another one has it. Throws `BusyError`
 * when a lock was not to be had in time again and again: the next pass goes on from there.
 */
export async function runStep(postgres: Postgres, step: MaintenanceStep): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    let isLeader = false;
    try {
      return await postgres.transaction(
        async (tx) => {
          await tx.run(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
          await tx.run(LEAD);
          isLeader = true;
          return await drive(tx, step());
        },
        { callMsMax: STATEMENT_MS_MAX.maintenance },
      );
    } catch (cause) {
      if (!(cause instanceof StatementError && BUSY.has(cause.code))) throw cause;
      if (!isLeader) return false;
      if (tries === TRIES_MAX) throw new BusyError();
      await sleep(PAUSE_MS);
    }
  }
}

/** A lock that maintenance needs was held by others all the time. */
class BusyError extends Error {
  override readonly name = "BusyError";
}

import { SetupError } from "#kernel/errors.ts";
import { sleep } from "#kernel/timer.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import { StatementError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";

/** How long a step waits for a lock. What reads and writes behind it waits as long, so that it is short. */
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

/** What a step of maintenance came to. `elsewhere`: another replica is at it. */
export type StepResult = "more" | "done" | "elsewhere";

/**
 * One step of maintenance as one transaction, by whichever replica gets its lock. Throws `BusyError` when a
 * lock was not to be had in time again and again: the next look goes on from there.
 */
export async function runStep(
  postgres: Postgres,
  step: (tx: Transaction) => Promise<StepResult>,
  pause: (ms: number) => Promise<void> = sleep,
): Promise<StepResult> {
  for (let tries = 1; ; tries += 1) {
    let isLeader = false;
    try {
      return await postgres.transaction(
        async (tx) => {
          await tx.run(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
          await tx.run(LEAD);
          isLeader = true;
          return await step(tx);
        },
        { callMsMax: STATEMENT_MS_MAX.maintenance },
      );
    } catch (cause) {
      if (!(cause instanceof StatementError && BUSY.has(cause.code))) throw cause;
      if (!isLeader) return "elsewhere";
      if (tries === TRIES_MAX) throw new BusyError();
      await pause(PAUSE_MS);
    }
  }
}

/** A lock that maintenance needs was held by others all the time. */
export class BusyError extends Error {
  override readonly name = "BusyError";
}

/** Whether what was thrown says that the role may not define tables. */
export function isForbidden(cause: unknown): boolean {
  return cause instanceof SetupError && cause.kind === "permission";
}

import { existsSync } from "node:fs";
import type { Log } from "#kernel/log.ts";
import { locks } from "#boot/settings/engine.ts";
import type { FilePlace } from "#boot/settings/config.ts";
import type { Finding } from "./finding.ts";
import { toFileError } from "./permission-problem.ts";
import { isPutAside, takeBackUnfinished, toRestoreMark } from "./restore-mark.ts";
import { removeLeftovers } from "./staging.ts";

/**
 * Where a restore was killed over an installation, puts that in place again. One that is at work is left alone: it holds
 * the folder's lock. Throws a `SetupError` when it cannot be done.
 */
export async function goBackBeforeRestore({ dataDir, database }: FilePlace, log: Log): Promise<void> {
  const mark = toRestoreMark(dataDir);
  try {
    if (!isPutAside(mark, database.path)) return;
    const lock = locks.tryTake(dataDir);
    if (lock === null) return;
    try {
      await takeBackUnfinished(mark);
      removeLeftovers(dataDir);
    } finally {
      lock.release();
    }
  } catch (cause) {
    const task = "What was there before a restore that was cut off could not be put back";
    throw toFileError(cause, { path: mark, use: "change", task });
  }
  log.warn("a restore was cut off half-way: what was there before it is in place again");
}

/** A restore that has not come to its end; null when there is none. Throws a `SetupError` for a lock that cannot be asked. */
export function findHalfRestore({ dataDir, database }: FilePlace): Finding | null {
  const mark = toRestoreMark(dataDir);
  if (!existsSync(mark)) return null;
  if (locks.isTaken(dataDir)) {
    return { finding: `${dataDir} holds a restore that is under way`, advice: "wait until it has ended" };
  }
  return {
    finding: `${dataDir} holds a restore that was cut off half-way`,
    advice: isPutAside(mark, database.path)
      ? "start the server (lockport serve), which goes back to what was there before, or run lockport restore FILE --force again"
      : "run lockport restore FILE --force again; without that file, move what is in the folder away, and back into their places what its folders before-restore-… hold, if there are any",
  };
}

import { constants, getPriority, setPriority } from "node:os";

/** Steps behind the rest of the process. On a full core such a thread gets about a third of what the other one gets (sched(7)). */
const NICENESS_STEPS = 5;

/**
 * Puts the calling thread behind the one that serves requests, wherever both want one core. Linux alone keeps a priority
 * for each thread (setpriority(2), "BUGS"); elsewhere the whole process would step back.
 */
export function lowerThreadPriority(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, Math.min(getPriority(0) + NICENESS_STEPS, constants.priority.PRIORITY_LOW));
  } catch {
    // A sandbox may forbid the call, and nothing but the pace depends on it.
  }
}

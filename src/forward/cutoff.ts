import type { Deadlines } from "#kernel/deadlines.ts";

/** Why an exchange was cut off before its end. */
export type CutoffCause = "timeout" | "cancelled" | "halted";

/**
 * The one thing that can stop an exchange from outside: its caller's hang-up, a time limit, or the server's own end.
 * Aborting `signal` closes the upstream's connection. The first cause stays.
 */
export interface Cutoff {
  readonly signal: AbortSignal;
  readonly cause: CutoffCause | null;
  /** Replaces the time limit that runs: cut off with `cause` in so many milliseconds, unless replaced before. */
  arm(limitMs: number, cause?: CutoffCause): void;
  /** Starts the running limit anew. Cheap enough for every chunk. */
  rearm(): void;
  /** No limit runs until the next one is armed. */
  disarm(): void;
  cut(cause: CutoffCause): void;
  /** Lets go of the caller's signal and of the timer. Nothing is cut off afterwards. */
  release(): void;
}

/** `isHalting`: the server closes its callers' connections itself, so that none of them has left. */
export function createCutoff(
  caller: AbortSignal,
  deadlines: Deadlines,
  isHalting: () => boolean = () => false,
): Cutoff {
  const controller = new AbortController();
  let cause: CutoffCause | null = null;
  const deadline = deadlines.create();
  let released = false;

  const cut = (reason: CutoffCause) => {
    if (cause !== null || released) return;
    cause = reason === "cancelled" && isHalting() ? "halted" : reason;
    release();
    controller.abort();
  };
  const onHangUp = () => cut("cancelled");
  const release = () => {
    released = true;
    deadline.lift();
    caller.removeEventListener("abort", onHangUp);
  };

  if (caller.aborted) cut("cancelled");
  else caller.addEventListener("abort", onHangUp, { once: true });

  return {
    signal: controller.signal,
    get cause() {
      return cause;
    },
    arm(limitMs, reason = "timeout") {
      if (!released) deadline.set(limitMs, () => cut(reason));
    },
    rearm() {
      deadline.restart();
    },
    disarm: () => deadline.lift(),
    cut,
    release,
  };
}

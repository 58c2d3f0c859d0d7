import type { Deadlines } from "./deadlines.ts";

export type CancellationCause = "timeout" | "cancelled" | "halted";

/**
 * The one way to stop an exchange from outside: its caller hangs up, a time limit passes, or the server ends. Aborting
 * `signal` closes the upstream's connection. The first cause stays.
 */
export interface Cancellation {
  readonly signal: AbortSignal;
  readonly cause: CancellationCause | null;
  /** Replaces the running time limit: cancels with `cause` in so many milliseconds, unless replaced before. */
  arm(limitMs: number, cause?: CancellationCause): void;
  /** Starts the running limit again from now. Cheap enough for every chunk. */
  rearm(): void;
  /** Stops the running limit; none runs until the next one is armed. */
  disarm(): void;
  cancel(cause: CancellationCause): void;
  /** Lets go of the caller's signal and of the timer. Nothing is cancelled afterwards. */
  release(): void;
}

/** `isHalting`: the server closes its callers' connections itself, so that none of them hung up. */
export function createCancellation(
  caller: AbortSignal,
  deadlines: Deadlines,
  isHalting: () => boolean = () => false,
): Cancellation {
  const controller = new AbortController();
  let cause: CancellationCause | null = null;
  const deadline = deadlines.create();
  let released = false;

  const cancel = (reason: CancellationCause) => {
    if (cause !== null || released) return;
    cause = reason === "cancelled" && isHalting() ? "halted" : reason;
    release();
    controller.abort();
  };
  const onHangUp = () => cancel("cancelled");
  const release = () => {
    released = true;
    deadline.lift();
    caller.removeEventListener("abort", onHangUp);
  };

  if (caller.aborted) cancel("cancelled");
  else caller.addEventListener("abort", onHangUp, { once: true });

  return {
    signal: controller.signal,
    get cause() {
      return cause;
    },
    arm(limitMs, reason = "timeout") {
      if (!released) deadline.set(limitMs, () => cancel(reason));
    },
    rearm() {
      deadline.restart();
    },
    disarm: () => deadline.lift(),
    cancel,
    release,
  };
}

import { StepRefusedError, UnreachableError } from "#kernel/errors.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";

/** A start that finds its database away waits so long: an orchestrator starts both at once, and starts again what has ended. */
export const START_WAIT_MS_MAX = 60_000;
const PAUSE_MS = 1_000;

/** Thrown when the process was told to end before it could serve. */
export class StartAborted extends Error {
  override readonly name = "StartAborted";
}

export interface Waiting {
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly waitMsMax?: number;
}

/**
 * Tries `open` until the database answers, and refuses nothing that passes; what settings cause is thrown at once. Nothing
 * listens meanwhile, so that no load balancer takes the process for one that serves. Throws what it waited for after `START_WAIT_MS_MAX`,
 * and `StartAborted`.
 */
export async function untilReachable<Opened>(
  open: () => Promise<Opened>,
  { monotonicMs, log, signal, waitMsMax = START_WAIT_MS_MAX }: Waiting,
): Promise<Opened> {
  const endMs = monotonicMs() + waitMsMax;
  for (let attempt = 1; ; attempt += 1) {
    if (signal.aborted) throw new StartAborted();
    try {
      return await open();
    } catch (cause) {
      if (!isPassing(cause) || monotonicMs() + PAUSE_MS > endMs) throw cause;
      if (attempt === 1) {
        const message = "the database does not answer: the start waits for it";
        log.warn(message, { wait_seconds: Math.round(waitMsMax / 1000), ...describeCause(cause) });
      }
    }
    await sleep(PAUSE_MS, signal);
  }
}

function isPassing(cause: unknown): boolean {
  return cause instanceof UnreachableError || (cause instanceof StepRefusedError && cause.isPassing);
}

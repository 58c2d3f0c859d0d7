import { describeCause, type Log } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";

export interface LimitedWait {
  readonly work: Promise<void>;
  readonly waitMsMax: number;
  readonly log: Log;
}

/** False when it took longer, and when it failed, which is reported here. */
export function isDoneWithin({ work, waitMsMax, log }: LimitedWait): Promise<boolean> {
  const done = work.then(
    () => true,
    (cause: unknown) => {
      log.warn("usage ledger: what was recorded could not be committed yet", describeCause(cause));
      return false;
    },
  );
  return withinLimit(done, waitMsMax, () => false);
}

import { describeCause, type Log } from "#kernel/log.ts";

export interface LimitedWait {
  readonly work: Promise<void>;
  readonly waitMsMax: number;
  readonly log: Log;
}

/** False when it took longer, and when it failed, which is reported here. */
export async function isDoneWithin({ work, waitMsMax, log }: LimitedWait): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), waitMsMax);
  });
  const done = work.then(
    () => true,
    (cause: unknown) => {
      log.warn("usage ledger: what was recorded could not be committed yet", describeCause(cause));
      return false;
    },
  );
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The result of `work`, or of `onLate`, which is called once `limitMs` have passed, or as soon as `signal` aborts.
 * The work then goes on, and nobody hears how it ends.
 */
export async function withinLimit<Done, Late>(
  work: PromiseLike<Done>,
  limitMs: number,
  onLate: () => Late,
  signal?: AbortSignal,
): Promise<Done | Late> {
  const late = Promise.withResolvers<Late>();
  const disarm = arm(limitMs, signal, () => {
    try {
      late.resolve(onLate());
    } catch (cause) {
      late.reject(cause);
    }
  });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    disarm();
  }
}

/** Waits for so long, or until `signal` aborts; never rejects. */
export function sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    arm(durationMs, signal, resolve);
  });
}

/** Calls `ring` once: after so long, or as soon as `signal` aborts. What is returned prevents that. */
function arm(durationMs: number, signal: AbortSignal | undefined, ring: () => void): () => void {
  const disarm = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  };
  const end = () => {
    disarm();
    ring();
  };
  const timer = setTimeout(end, durationMs);
  signal?.addEventListener("abort", end);
  if (signal?.aborted === true) end();
  return disarm;
}

/**
 * `work`, at most one at a time: who asks while it is under way joins the one after it, which sees everything that was done
 * before the call. The one under way may have been decided before what the caller has to see.
 */
export function joinNext(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  const start = (): Promise<void> => {
    next = null;
    current = work().finally(() => {
      // Not when the next one has begun in between.
      if (next === null) current = null;
    });
    return current;
  };
  return () => {
    if (current === null) return start();
    // Whether the one before succeeded is for those who wait for it.
    next ??= current.then(start, start);
    return next;
  };
}

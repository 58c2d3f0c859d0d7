/** What `work` comes to, or the error that `onExpiry` returns once the limit has passed; what `work` does later is ignored. */
export async function withinLimit<R>(
  work: PromiseLike<R>,
  limitMs: number,
  onExpiry: () => Error,
): Promise<R> {
  const expiry = Promise.withResolvers<never>();
  const timer = setTimeout(() => expiry.reject(onExpiry()), limitMs);
  try {
    return await Promise.race([work, expiry.promise]);
  } finally {
    clearTimeout(timer);
  }
}

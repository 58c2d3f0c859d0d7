import type { PermitQueue } from "#forward/concurrency-limiter.ts";
import type { Load, LoadResult } from "./child.ts";

/** Sends requests as the exchange does: a permit, a connection, and both are given back. */
export async function runLoad(queue: PermitQueue, load: Load): Promise<LoadResult> {
  let left = load.requests;
  let done = 0;
  let cut = 0;
  let waitedMsMax = 0;
  const never = new AbortController().signal;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      const sinceMs = performance.now();
      using permit = queue.tryAcquire(load.limit) ?? (await queue.acquire(load.limit, never));
      if (permit === null) return;
      waitedMsMax = Math.max(waitedMsMax, performance.now() - sinceMs);
      const closed = Promise.withResolvers<void>();
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port: load.port,
        socket: { data() {}, close: () => closed.resolve() },
      });
      const isCut = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), load.holdMs);
        permit.whenCut(() => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      // The upstream ends it, so that it counts the end before the slot is used again.
      socket.write("end");
      await closed.promise;
      if (isCut) cut += 1;
      else done += 1;
    }
  };
  await Promise.all(Array.from({ length: load.atOnce }, work));
  return { done, cut, waitedMsMax };
}

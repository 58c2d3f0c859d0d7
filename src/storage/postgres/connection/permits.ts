import { DatabaseUnreachableError } from "./errors.ts";

export interface Permits {
  /** Waits for its turn; returns what gives the permit back, once. Throws DatabaseUnreachableError once the limit has passed. */
  take(limitMs: number): Promise<() => void>;
}

/** No more calls at once than connections: a call that only waits its turn does not tell of a silent server. */
export function createPermits(count: number): Permits {
  let free = count;
  const queue: (() => void)[] = [];
  const give = () => {
    const next = queue.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return {
    take: async (limitMs) => {
      if (free > 0) {
        free -= 1;
        return give;
      }
      return new Promise((resolve, reject) => {
        const grant = () => {
          clearTimeout(timer);
          resolve(give);
        };
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(grant), 1);
          reject(new DatabaseUnreachableError("busy", { mayBeCommitted: false }));
        }, limitMs);
        queue.push(grant);
      });
    },
  };
}

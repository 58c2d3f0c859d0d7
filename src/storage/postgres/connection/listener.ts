import { SQL } from "bun";
import { toDriverOptions, type PoolOptions } from "./driver-options.ts";

export interface Listener {
  /** See `Postgres.listen`. */
  readonly listen: (
    channel: string,
    onNotify: () => void,
    onLost: () => void,
  ) => Promise<() => Promise<void>>;
  /** Gives up connections that may be silent, as the pool's were. */
  readonly remake: () => void;
  readonly close: () => Promise<void>;
}

const RETRY_MS = 1_000;

/**
 * A connection for each channel. The driver would connect again by itself, and print each try that fails raw to stderr, where
 * a log of JSON lines is: so each connection is given up at its end, and the next one is made here.
 */
export function createListener(options: PoolOptions): Listener {
  const subscriptions = new Set<{ remake(): void; stop(): Promise<void> }>();
  return {
    listen: async (channel, onNotify, onLost) => {
      let client: SQL | null = null;
      let retry: ReturnType<typeof setTimeout> | undefined;
      let isStopped = false;
      let wasHeard = false;

      const drop = (lost: SQL): void => {
        if (client !== lost) return;
        client = null;
        void lost.close({ timeout: 0 }).catch(() => {});
        if (isStopped) return;
        if (wasHeard) onLost();
        wasHeard = false;
        retry = setTimeout(() => void connect(), RETRY_MS);
      };
      const connect = async (): Promise<void> => {
        const own = new SQL({
          ...toDriverOptions({ ...options, connectionsMax: 1 }),
          onclose: () => drop(own),
        });
        client = own;
        const limit = setTimeout(() => drop(own), options.callMsMax);
        try {
          await own.listen(channel, onNotify, () => {
            wasHeard = true;
            onNotify();
          });
        } catch {
          drop(own);
        } finally {
          clearTimeout(limit);
        }
      };
      const stop = async (): Promise<void> => {
        isStopped = true;
        clearTimeout(retry);
        subscriptions.delete(subscription);
        const last = client;
        client = null;
        await last?.close({ timeout: 0 }).catch(() => {});
      };
      const remake = () => {
        if (client !== null) drop(client);
      };
      const subscription = { remake, stop };
      subscriptions.add(subscription);
      await connect();
      return stop;
    },
    remake: () => {
      for (const subscription of subscriptions) subscription.remake();
    },
    close: async () => {
      await Promise.all([...subscriptions].map((subscription) => subscription.stop()));
    },
  };
}

import { createSystemClock, formatInstant, type Clock } from "#kernel/clock.ts";
import { createSystemIds, type Ids } from "#kernel/ids.ts";
import { createLog, type Log } from "#kernel/log.ts";
import type { Config } from "#boot/settings/config.ts";
import { openStandardStream } from "./standard-stream.ts";

/** A log that is not read (a stopped reader, a held terminal) keeps this much in memory; lines beyond it are lost. */
const LOG_PENDING_BYTES_MAX = 1024 * 1024;

/** Clock, ids and log of this process. */
export interface System {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** See `OpenOptions.onUnconfirmed`. */
  readonly onUnconfirmed?: () => () => void;
}

export function createSystem(config: Pick<Config, "logLevel">): System {
  const clock = createSystemClock();
  const stream = openStandardStream(2);
  const log = createLog({
    level: config.logLevel,
    json: !stream.isScreen,
    write: (line) => {
      if (stream.pendingBytes > LOG_PENDING_BYTES_MAX) return;
      // A full disk loses lines and never holds the server up.
      void stream.write(line).catch(() => undefined);
    },
    timestamp: () => formatInstant(clock.nowUs()),
  });
  return { clock, ids: createSystemIds(), log };
}

import { createSystemClock, formatInstant, type Clock } from "#kernel/clock.ts";
import { createSystemIds, type Ids } from "#kernel/ids.ts";
import { createLog, type Log } from "#kernel/log.ts";
import type { Config } from "./config.ts";

/** What a process has of time, chance and a voice. */
export interface System {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export function createSystem(config: Pick<Config, "logLevel">): System {
  const clock = createSystemClock();
  const log = createLog({
    level: config.logLevel,
    json: !process.stderr.isTTY,
    write: (line) => void process.stderr.write(line),
    timestamp: () => formatInstant(clock.nowUs()),
  });
  return { clock, ids: createSystemIds(), log };
}

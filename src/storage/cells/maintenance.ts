import type { InstantUs } from "#kernel/clock.ts";
import type { Script } from "#storage/sql/script.ts";
import { toSealBeforeDay } from "./calendar.ts";
import { boundRetention, pruneRows, type MaintenancePass } from "./retention.ts";
import { sealCells } from "./sealing.ts";

/** One transaction of a pass. It is made again while it returns true. */
export type MaintenanceStep = () => Script<boolean>;

/**
 * One maintenance pass, step by step, for both engines: seals days, reads the clock and removes old rows. `run` makes a step;
 * false ends it, also where another replica is at it. `dropDays` removes whole days at once, before the rest goes in slices.
 */
export async function maintain(
  pass: MaintenancePass,
  run: (step: MaintenanceStep) => Promise<boolean>,
  dropDays: (beforeUs: InstantUs) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const beforeDay = toSealBeforeDay(pass.nowUs);
  while (await run(() => sealCells(beforeDay)));
  // No row arrived before it: nothing is removed unless the clock was read.
  let beforeUs: InstantUs = 0;
  await run(function* () {
    beforeUs = yield* boundRetention(pass);
    return false;
  });
  await dropDays(beforeUs);
  while (await run(() => pruneRows(beforeUs)));
}

import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { Chance } from "../../bench/chance.ts";

export const SECOND_US = 1_000_000;
export const HOUR_US = 3_600 * SECOND_US;
export const DAY_US = 24 * HOUR_US;

/** Time that passes only from one step to the next, so that weeks of an installation's life take seconds. */
export interface SimulatedTime {
  /** The clock of the product's parts: it stands still while a step runs. */
  readonly clock: Clock;
  /** Runs the step when that instant comes; steps of one instant run in the order in which they were given. */
  at(instantUs: InstantUs, step: () => void | Promise<void>): void;
  /** Runs every step up to and with this instant, those that other steps add included. */
  runUntil(instantUs: InstantUs): Promise<void>;
}

interface Waiting {
  readonly atUs: InstantUs;
  readonly step: () => void | Promise<void>;
}

export function createSimulatedTime(fromUs: InstantUs): SimulatedTime {
  let nowUs = fromUs;
  /** The next one last. */
  const waiting: Waiting[] = [];

  return {
    clock: { nowUs: () => nowUs, monotonicMs: () => (nowUs - fromUs) / 1000 },
    at(atUs, step) {
      if (atUs < nowUs) throw new RangeError("a step cannot be in the past");
      waiting.splice(findPlace(waiting, atUs), 0, { atUs, step });
    },
    async runUntil(untilUs) {
      for (let next = waiting.at(-1); next !== undefined && next.atUs <= untilUs; next = waiting.at(-1)) {
        waiting.pop();
        nowUs = next.atUs;
        await next.step();
      }
      nowUs = Math.max(nowUs, untilUs);
    },
  };
}

/** Before all that are due earlier or at the same instant, which are taken from the end. */
function findPlace(waiting: readonly Waiting[], atUs: InstantUs): number {
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((waiting[middle]?.atUs ?? 0) > atUs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** UUIDs that a seed repeats. What keeps secrets is the machine's own chance: a demo's keys are not to be foreseen. */
export function createSimulatedIds(chance: Chance, clock: Clock): Ids {
  const system = createSystemIds();
  const digits = (length: number) =>
    Array.from({ length }, () => Math.floor(chance() * 16).toString(16)).join("");
  return {
    uuid() {
      const time = Math.floor(clock.nowUs() / 1000)
        .toString(16)
        .padStart(12, "0");
      return `${time.slice(0, 8)}-${time.slice(8)}-7${digits(3)}-8${digits(3)}-${digits(12)}`;
    },
    randomBytes: (sizeBytes) => system.randomBytes(sizeBytes),
  };
}

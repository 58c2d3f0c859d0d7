import type { Clock, InstantUs } from "#kernel/clock.ts";
import { type Ids, createSystemIds } from "#kernel/ids.ts";
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

/** The hours and weekdays in which a caller calls, in UTC. */
export type Rhythm = "office" | "evening" | "machine" | "nightly";

interface Shape {
  /** From midnight. */
  readonly hours: readonly number[];
  /** From Sunday; a working day is about 1. */
  readonly weekdays: readonly number[];
}

const SHAPES: { readonly [rhythm in Rhythm]: Shape } = {
  office: {
    hours: [0, 0, 0, 0, 0, 0, 1, 4, 9, 12, 13, 11, 6, 10, 13, 13, 11, 7, 3, 1, 1, 0.5, 0.3, 0],
    weekdays: [0.04, 0.95, 1.1, 1.1, 1.05, 0.8, 0.06],
  },
  evening: {
    hours: [3, 1, 0.3, 0, 0, 0, 0, 0, 1, 3, 4, 4, 3, 4, 4, 4, 4, 4, 5, 8, 10, 11, 9, 6],
    weekdays: [0.6, 0.9, 1, 1, 1, 0.9, 0.7],
  },
  machine: {
    hours: [3, 2.5, 2, 2, 2, 2.5, 4, 7, 10, 11, 11, 10, 9, 10, 11, 11, 10, 9, 8, 7, 6, 5, 4, 3.5],
    weekdays: [0.45, 1.05, 1.05, 1, 1, 0.95, 0.5],
  },
  nightly: {
    hours: [0, 0, 20, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    weekdays: [0.6, 1, 1, 1, 1, 1, 0.6],
  },
};

/** By how much the last day is busier than the first, everything else being the same. */
const GROWTH = 1.7;

/** Which part of a working day's requests of the start fall into the hour that begins at this instant. */
export function toHourShare(
  rhythm: Rhythm,
  { hourUs, progress }: { readonly hourUs: InstantUs; readonly progress: number },
): number {
  const { hours, weekdays } = SHAPES[rhythm];
  const sum = hours.reduce((total, weight) => total + weight, 0);
  const hour = hours[Math.floor((hourUs % DAY_US) / HOUR_US)] ?? 0;
  const growth = 1 + (GROWTH - 1) * progress;
  return (hour / sum) * (weekdays[toWeekday(hourUs)] ?? 0) * growth;
}

/** Sunday is 0. */
export function toWeekday(instantUs: InstantUs): number {
  // 1970-01-01 was a Thursday.
  return (Math.floor(instantUs / DAY_US) + 4) % 7;
}

export function isWorkingDay(instantUs: InstantUs): boolean {
  const weekday = toWeekday(instantUs);
  return weekday >= 1 && weekday <= 5;
}

/** A Poisson number of this mean, by Knuth's product. */
export function toCount(chance: Chance, expected: number): number {
  const limit = Math.exp(-expected);
  let count = 0;
  for (let product = chance(); product > limit; product *= chance()) count += 1;
  return count;
}

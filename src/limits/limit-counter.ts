import type { InstantUs } from "#kernel/clock.ts";
import type { LimitSumPart, Used } from "./limit-sums.ts";
import {
  type CalendarWindow,
  isSliding,
  type SlidingWindow,
  toSlidOut,
  toStepUs,
  toWindowEnd,
  toWindowStart,
} from "./limit-window.ts";
import type { LimitWindow } from "./limit.ts";

export const NONE_USED: Used = { amount: 0n, unpriced: 0, unknown: 0 };

/** Sums of one window as it goes on. Every call is with the wall clock, which may be set back. */
export interface WindowSums {
  /** What ended at `atUs`; what began then, for a limit of requests in a sliding window. */
  add(atUs: InstantUs, used: Used): void;
  /** What the ledger held before the first `add`. */
  load(parts: readonly LimitSumPart[]): void;
  usedAt(nowUs: InstantUs): Used;
  /** The first instant at which what is left in it is `few` enough; null when time does not bring that about. */
  fallsTo(few: (left: Used) => boolean, nowUs: InstantUs): InstantUs | null;
  /** True when nothing of it would be missed. */
  isEmptyAt(nowUs: InstantUs): boolean;
}

export function createWindowSums(window: LimitWindow): WindowSums {
  return isSliding(window) ? new SlidingSums(window) : new CalendarSums(window);
}

/** Windows that are kept: the present one, and those around it for a clock that is set. */
const CALENDAR_KEPT_MAX = 4;

interface Sum {
  amount: bigint;
  unpriced: number;
  unknown: number;
}

interface Part extends Sum {
  readonly startUs: InstantUs;
}

function addTo(sum: Sum, { amount, unpriced, unknown }: Used): void {
  sum.amount += amount;
  sum.unpriced += unpriced;
  sum.unknown += unknown;
}

function takeFrom(sum: Sum, { amount, unpriced, unknown }: Used): void {
  sum.amount -= amount;
  sum.unpriced -= unpriced;
  sum.unknown -= unknown;
}

/** A window of the calendar that lies in `[startUs, endUs)`. */
interface CalendarPart extends Part {
  readonly endUs: InstantUs;
}

class CalendarSums implements WindowSums {
  readonly #window: CalendarWindow;
  /** In the order of time. */
  readonly #parts: CalendarPart[] = [];

  constructor(window: CalendarWindow) {
    this.#window = window;
  }

  add(atUs: InstantUs, used: Used): void {
    addTo(this.#find(atUs) ?? this.#make(atUs), used);
  }

  load(parts: readonly LimitSumPart[]): void {
    for (const part of parts) this.add(part.startUs, part);
  }

  usedAt(nowUs: InstantUs): Used {
    return this.#find(nowUs) ?? NONE_USED;
  }

  fallsTo(): null {
    return null;
  }

  isEmptyAt(nowUs: InstantUs): boolean {
    return this.#parts.every(({ endUs }) => endUs <= nowUs);
  }

  /** By its ends: to ask the calendar for each request takes longer than all the rest. */
  #find(atUs: InstantUs): CalendarPart | undefined {
    const last = this.#parts.at(-1);
    if (last !== undefined && atUs >= last.startUs && atUs < last.endUs) return last;
    return this.#parts.find(({ startUs, endUs }) => atUs >= startUs && atUs < endUs);
  }

  #make(atUs: InstantUs): CalendarPart {
    const startUs = toWindowStart(this.#window, atUs);
    const endUs = toWindowEnd(this.#window, atUs) ?? Number.POSITIVE_INFINITY;
    const made = { startUs, endUs, ...NONE_USED };
    insert(this.#parts, made);
    if (this.#parts.length > CALENDAR_KEPT_MAX) this.#parts.shift();
    return made;
  }
}

/** Parts past this many that have slid out are cut off together: to shift each by itself would move the array each time. */
const SLID_OUT_MAX = 1_024;

class SlidingSums implements WindowSums {
  readonly #window: SlidingWindow;
  readonly #stepUs: number;
  /** In the order of time; those before `#first` have slid out. */
  readonly #parts: Part[] = [];
  #first = 0;
  /** What the parts from `#first` on add up to. */
  readonly #sum: Sum = { ...NONE_USED };

  constructor(window: SlidingWindow) {
    this.#window = window;
    this.#stepUs = toStepUs(window);
  }

  add(atUs: InstantUs, used: Used): void {
    const startUs = Math.floor(atUs / this.#stepUs) * this.#stepUs;
    const last = this.#parts.at(-1);
    if (last !== undefined && last.startUs === startUs && this.#parts.length > this.#first) {
      addTo(last, used);
    } else {
      const { amount, unpriced, unknown } = used;
      const part = { startUs, amount, unpriced, unknown };
      if (last === undefined || last.startUs < startUs) this.#parts.push(part);
      else this.#addEarlier(part);
    }
    addTo(this.#sum, used);
  }

  load(parts: readonly LimitSumPart[]): void {
    for (const part of parts) this.add(part.startUs, part);
  }

  usedAt(nowUs: InstantUs): Used {
    this.#slideTo(toWindowStart(this.#window, nowUs));
    const last = this.#parts.at(-1);
    if (last === undefined || last.startUs <= nowUs) return { ...this.#sum };
    // The clock was set back: what lies ahead of it is not in the window.
    const sum = { ...NONE_USED };
    for (const part of this.#parts.slice(this.#first)) {
      if (part.startUs > nowUs) break;
      addTo(sum, part);
    }
    return sum;
  }

  fallsTo(few: (left: Used) => boolean, nowUs: InstantUs): InstantUs | null {
    const left = { ...this.usedAt(nowUs) };
    for (const part of this.#parts.slice(this.#first)) {
      takeFrom(left, part);
      if (few(left)) return toSlidOut(this.#window, part.startUs);
    }
    return null;
  }

  isEmptyAt(nowUs: InstantUs): boolean {
    this.#slideTo(toWindowStart(this.#window, nowUs));
    return this.#first === this.#parts.length;
  }

  #slideTo(startUs: InstantUs): void {
    for (;;) {
      const part = this.#parts[this.#first];
      if (part === undefined || part.startUs >= startUs) break;
      this.#first += 1;
      takeFrom(this.#sum, part);
    }
    if (this.#first > SLID_OUT_MAX || this.#first === this.#parts.length) {
      this.#parts.splice(0, this.#first);
      this.#first = 0;
    }
  }

  /** A clock that was set back, or something that began before what was added last. */
  #addEarlier(part: Part): void {
    // What has slid out is at its place only until it is cut off: a part among it counts from there no more.
    this.#parts.splice(0, this.#first);
    this.#first = 0;
    const known = this.#parts.find(({ startUs }) => startUs === part.startUs);
    if (known === undefined) insert(this.#parts, part);
    else addTo(known, part);
  }
}

/** From the end on, where nearly everything belongs. */
function insert<One extends Part>(parts: One[], part: One): void {
  let at = parts.length;
  while (at > 0 && (parts[at - 1]?.startUs ?? 0) > part.startUs) at -= 1;
  parts.splice(at, 0, part);
}

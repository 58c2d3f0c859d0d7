import type { Clock, InstantUs } from "#kernel/clock.ts";

/** A moment by both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallUs: InstantUs;
}

/**
 * For how long memory may be believed: so many milliseconds from when the last good question was *sent*. The time that its
 * answer took, or lay unread in a stopped process, is not added. Elapsed time is compared by both clocks and the longer one
 * holds: Bun's monotonic clock (CLOCK_MONOTONIC) stands still while a machine is suspended, and the wall clock may be set.
 */
export class TrustWindow {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  #sentAt: Moment | null = null;

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
  }

  now(): Moment {
    return { monotonicMs: this.#clock.monotonicMs(), wallUs: this.#clock.nowUs() };
  }

  /** A question that was sent then has been answered well. An earlier one than known changes nothing. */
  extend(sentAt: Moment): void {
    if (this.#sentAt === null || sentAt.monotonicMs > this.#sentAt.monotonicMs) this.#sentAt = sentAt;
  }

  /** Closes it until the next `extend`. */
  end(): void {
    this.#sentAt = null;
  }

  isOpen(): boolean {
    return this.leftMs() > 0;
  }

  /** 0 when it is closed. */
  leftMs(): number {
    if (this.#sentAt === null) return 0;
    const { monotonicMs, wallUs } = this.#sentAt;
    const elapsedMs = Math.max(
      this.#clock.monotonicMs() - monotonicMs,
      (this.#clock.nowUs() - wallUs) / 1000,
    );
    return Math.max(0, this.#lengthMs - elapsedMs);
  }
}

/** A pause of so many times as long as it took follows. */
const PAUSE_TIMES = 9;

/**
 * At most a tenth of the time goes into something that is done again and again, however long it takes. Where the last run
 * that came to its end took less, that one counts: a run that waited for a database to come back does not tell how long one takes.
 */
export class Pace {
  #fromMs = 0;
  #answeredInMs = Number.POSITIVE_INFINITY;

  isDue(nowMs: number): boolean {
    return nowMs >= this.#fromMs;
  }

  /** It took from `startedMs` to `nowMs`, and came to its end or not. */
  took(startedMs: number, nowMs: number, isAnswered: boolean): void {
    const tookMs = nowMs - startedMs;
    this.#fromMs = nowMs + Math.min(tookMs, this.#answeredInMs) * PAUSE_TIMES;
    if (isAnswered) this.#answeredInMs = tookMs;
  }
}

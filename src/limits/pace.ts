/** A pause of so many times as long as it took follows. */
const PAUSE_TIMES = 9;
/** No pause is longer: what is done again and again keeps knowledge of others fresh, by which limits hold. */
const PAUSE_MS_MAX = 2_000;
/** A run that met a new connection waited for the database: of so many runs the shortest tells how long one takes. */
const RUNS_REMEMBERED = 4;

/** A tenth of the time goes into something that is done again and again, and more where it takes longer than 0.2 s. */
export class Pace {
  #fromMs = 0;
  /** Durations of the last runs that came to their end, the newest first. */
  #answeredInMs: readonly number[] = [];

  isDue(nowMs: number): boolean {
    return nowMs >= this.#fromMs;
  }

  /** It took from `startedMs` to `nowMs`, and came to its end or not. */
  took(startedMs: number, nowMs: number, isAnswered: boolean): void {
    const tookMs = nowMs - startedMs;
    const shortestMs = Math.min(tookMs, ...this.#answeredInMs);
    this.#fromMs = nowMs + Math.min(shortestMs * PAUSE_TIMES, PAUSE_MS_MAX);
    if (isAnswered) this.#answeredInMs = [tookMs, ...this.#answeredInMs].slice(0, RUNS_REMEMBERED);
  }
}

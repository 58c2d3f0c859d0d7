import type { Clock } from "#kernel/clock.ts";
import { joinNext } from "#kernel/turns.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { LimitBook } from "./limit-book.ts";
import { ToldUses, type LimitBoard, type OpenUse } from "./open-elsewhere.ts";

/** How often processes that share limits of `concurrent` tell each other what is under way. */
const EXCHANGE_INTERVAL_MS = 250;
/** Limits and values of `each` that are told of, the most wanted ones; of the others each process counts its own. Some 1 MB. */
const USES_MAX = 10_000;

/** How often others are asked for a limit that is new to them, and in which pauses: 1.5 s at most. */
const HEAR_TIMES_MAX = 30;
const HEAR_PAUSE_MS = 50;

interface LimitExchangeDeps {
  readonly board: LimitBoard;
  /** Takes in limits that have changed, so that others hear of them also where no request comes. */
  readonly follow: () => Promise<void>;
  readonly book: () => LimitBook;
  readonly knowledge: PeerKnowledge;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Keeps what other processes have under way of limits of `concurrent` beside the own count. While they cannot be asked, what
 * they have said last counts on.
 */
export class LimitExchange {
  readonly #deps: LimitExchangeDeps;
  readonly #timer: ReturnType<typeof setInterval>;
  #isAsking = false;
  #hearing: Promise<void> | null = null;
  readonly #pace = new Pace();
  readonly #ask = joinNext(() => this.#exchange());

  constructor(deps: LimitExchangeDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.run(), EXCHANGE_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Asks nobody where there is no such limit. Never throws. */
  async run(): Promise<void> {
    this.#deps.knowledge.tell();
    if (this.#isAsking || !this.#pace.isDue(this.#deps.clock.monotonicMs())) return;
    await this.#ask();
  }

  /** Fulfilled once the others have told of every limit, or have not in time. Never throws. */
  hear(): Promise<void> {
    return (this.#hearing ??= this.#hear().finally(() => (this.#hearing = null)));
  }

  async #hear(): Promise<void> {
    const { book, log } = this.#deps;
    for (let time = 0; time < HEAR_TIMES_MAX; time += 1) {
      if (time > 0) await sleep(HEAR_PAUSE_MS);
      await this.#ask();
      if (book().isHeard) return;
    }
    log.warn("a replica has not told what it has under way of a new limit: what others told counts");
    book().stopHearing();
  }

  async #exchange(): Promise<void> {
    const { board, book, follow, knowledge, clock, log } = this.#deps;
    this.#isAsking = true;
    await follow();
    const own = book().takeOpenUses();
    knowledge.need("underWay", own !== null);
    const startedMs = clock.monotonicMs();
    let isAnswered = false;
    try {
      if (own === null) return;
      const answer = await board.exchange(toMostWanted(own));
      isAnswered = true;
      book().hear(new ToldUses(answer));
      knowledge.answered("underWay", startedMs);
    } catch (cause) {
      log.debug("what other replicas have under way could not be read", describeCause(cause));
    } finally {
      if (own !== null) this.#pace.took(startedMs, clock.monotonicMs(), isAnswered);
      this.#isAsking = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function toMostWanted(uses: readonly OpenUse[]): readonly OpenUse[] {
  if (uses.length <= USES_MAX) return uses;
  return uses.toSorted((one, other) => other.wanted - one.wanted).slice(0, USES_MAX);
}

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

/** Knowledge that is older is told in the log: three reads in a row were not answered. */
const STALE_MS = 5_000;

/** What other processes have recorded, and what they have under way. */
type PeerUse = "used" | "underWay";

interface PeerKnowledgeDeps {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
}

/** Age of what this process knows of the others' use of limits. The log tells once when it is too old, and once when it no longer is. */
export class PeerKnowledge {
  readonly #deps: PeerKnowledgeDeps;
  /** When the last question was sent that was answered, or when one was needed first. */
  readonly #knownAtMs = new Map<PeerUse, number>();
  #staleSinceMs: number | null = null;

  constructor(deps: PeerKnowledgeDeps) {
    this.#deps = deps;
  }

  /** Milliseconds; 0 where no limit needs it. */
  get ageMs(): number {
    const nowMs = this.#deps.clock.monotonicMs();
    return Math.max(0, ...[...this.#knownAtMs.values()].map((knownAtMs) => nowMs - knownAtMs));
  }

  /** Begins to count the age where a limit needs to know it, and ends it where none does. */
  need(use: PeerUse, isNeeded: boolean): void {
    if (!isNeeded) this.#knownAtMs.delete(use);
    else if (!this.#knownAtMs.has(use)) this.#knownAtMs.set(use, this.#deps.clock.monotonicMs());
    this.tell();
  }

  answered(use: PeerUse, sentMs: number): void {
    this.#knownAtMs.set(use, sentMs);
    this.tell();
  }

  /** To be called at intervals: tells the log when it has become too old, or is no longer. */
  tell(): void {
    const { clock, log } = this.#deps;
    const { ageMs } = this;
    const nowMs = clock.monotonicMs();
    if (ageMs < STALE_MS) {
      if (this.#staleSinceMs === null) return;
      const age = Math.round((nowMs - this.#staleSinceMs) / 1000);
      this.#staleSinceMs = null;
      log.info("what other replicas use of limits is known again", { age_seconds: age });
    } else if (this.#staleSinceMs === null) {
      this.#staleSinceMs = nowMs - ageMs;
      log.warn(
        "what other replicas use of limits is not known: what they said last counts on, and together they may pass a limit",
        { age_seconds: Math.round(ageMs / 1000) },
      );
    }
  }
}

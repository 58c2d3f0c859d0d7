import type { Clock } from "#kernel/clock.ts";
import { joinNext } from "#kernel/join-next.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { LimitBoard, OpenUse } from "./limit-board.ts";
import type { LimitBook } from "./limit-book.ts";
import { ToldUses } from "./open-elsewhere.ts";
import { Pace } from "./pace.ts";
import type { PeerKnowledge } from "./peer-knowledge.ts";

/** How often processes that share limits of `concurrent` tell each other what is under way. */
const EXCHANGE_INTERVAL_MS = 250;
/** Limits and values of `each` that are told of, the most wanted ones; of the others each process counts its own. Some 1 MB. */
const USES_MAX = 10_000;

/** How often others are asked for a limit that is new to them, and in which pauses: 1.5 s at most. */
const HEAR_TIMES_MAX = 30;
const HEAR_PAUSE_MS = 50;

export interface LimitExchangeDeps {
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

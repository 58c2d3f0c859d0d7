import type { Clock } from "#kernel/clock.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { LimitBoard, OpenUse } from "./limit-board.ts";
import type { LimitBook } from "./limit-book.ts";
import { ToldUses } from "./open-elsewhere.ts";
import { Pace } from "./pace.ts";
import type { PeerKnowledge } from "./peer-knowledge.ts";

/** How often processes that share limits of `concurrent` tell each other what is under way. */
const EXCHANGE_INTERVAL_MS = 250;
/** Limits and values of `each` that are told of, the most wanted ones; of the others each process counts its own. Some 1 MB. */
const USES_MAX = 10_000;

export interface LimitExchangeDeps {
  readonly board: LimitBoard;
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
  readonly #pace = new Pace();

  constructor(deps: LimitExchangeDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.run(), EXCHANGE_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Asks nobody where there is no such limit. Never throws. */
  async run(): Promise<void> {
    const { board, book, knowledge, clock, log } = this.#deps;
    const startedMs = clock.monotonicMs();
    knowledge.tell();
    if (this.#isAsking || !this.#pace.isDue(startedMs)) return;
    const own = book().takeOpenUses();
    knowledge.need("underWay", own !== null);
    if (own === null) return;
    this.#isAsking = true;
    let isAnswered = false;
    try {
      const answer = await board.exchange(toMostWanted(own));
      isAnswered = true;
      book().hear(new ToldUses(answer));
      knowledge.answered("underWay", startedMs);
    } catch (cause) {
      log.debug("what other replicas have under way could not be read", describeCause(cause));
    } finally {
      this.#pace.took(startedMs, clock.monotonicMs(), isAnswered);
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

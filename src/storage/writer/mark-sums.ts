import { sleep } from "#kernel/timer.ts";
import type { LimitQuestion, LimitSum } from "#limits/limit-sums.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import type { Script } from "#storage/sql/script.ts";
import { type MarkedQuestion, MARKS_MAX } from "#storage/threads/writer-tasks.ts";

/** A message takes a fraction of a millisecond; one that was meant for a Worker before never comes. */
const QUESTION_WAIT_MS_MAX = 1_000;
/** Between two looks for a question that may be on its way. */
const QUESTION_INTERVAL_MS = 1;
/** How long the sums of one question may take: all that it adds up is an hour of 100 million events. */
const SUM_MS_MAX = 120_000;

/**
 * Reads as of the moment at which the returned promise is fulfilled, beside what is committed afterwards. Nothing is read
 * when it rejects; `signal` ends what is read.
 */
export type ReadOfMoment = <Answer>(
  script: () => Script<Answer>,
  signal: AbortSignal,
) => Promise<{ readonly answer: Promise<Answer> }>;

interface MarkQuestion {
  readonly question: LimitQuestion;
  readonly answer: PromiseWithResolvers<readonly LimitSum[]>;
}

/**
 * The sums of limits that are asked for at marks of the journal, as of the moment before what stands behind the mark. A
 * writer may read a mark before the question that says what it is for.
 */
export class MarkSums {
  /** Marks up to it were set by processes before, or are answered: a database that was put back brings them again. */
  #lastAnswered: number;
  readonly #asked = new Map<number, MarkQuestion>();
  #ending = new AbortController();
  #summing: Promise<void> = Promise.resolve();

  constructor(serverRun: number) {
    this.#lastAnswered = serverRun * MARKS_MAX;
  }

  ask({ mark, question }: MarkedQuestion): Promise<readonly LimitSum[]> {
    const answer = Promise.withResolvers<readonly LimitSum[]>();
    this.#asked.set(mark, { question, answer });
    return answer.promise;
  }

  /**
   * Called when what stands before the mark is committed, and fulfilled when that moment is held. A question before that is
   * not answered yet never will be. Throws what the engine throws before the moment is held: it may be called again.
   */
  async begin(mark: number, readOfMoment: ReadOfMoment): Promise<void> {
    const asked = await this.#find(mark);
    if (asked === null) return;
    this.stop();
    await this.#summing;
    const { signal } = (this.#ending = new AbortController());
    const late = setTimeout(() => this.stop(), SUM_MS_MAX);
    try {
      const { answer } = await readOfMoment(() => sumLimits(asked.question), signal);
      this.#asked.delete(mark);
      this.#lastAnswered = Math.max(this.#lastAnswered, mark);
      this.#summing = answer
        .then(asked.answer.resolve, (cause: unknown) => asked.answer.reject(toReason(cause, signal)))
        .finally(() => clearTimeout(late));
    } catch (cause) {
      clearTimeout(late);
      throw cause;
    }
  }

  stop(): void {
    this.#ending.abort();
  }

  /** Null when no question comes, as of a mark that a process or a Worker before has set. */
  async #find(mark: number): Promise<MarkQuestion | null> {
    if (mark <= this.#lastAnswered) return null;
    for (let waitedMs = 0; waitedMs < QUESTION_WAIT_MS_MAX; waitedMs += QUESTION_INTERVAL_MS) {
      const asked = this.#asked.get(mark);
      if (asked !== undefined) return asked;
      await sleep(QUESTION_INTERVAL_MS);
    }
    return null;
  }
}

function toReason(cause: unknown, { aborted }: AbortSignal): unknown {
  return aborted ? new Error(`it took ${SUM_MS_MAX / 1000} s, or was asked for anew`) : cause;
}

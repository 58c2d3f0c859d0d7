import { sleep } from "#kernel/timer.ts";
import type { LimitQuestion, LimitSum } from "#limits/limit-sums.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import type { Script } from "#storage/sql/script.ts";
import { type WatermarkQuestion, WATERMARKS_MAX } from "#storage/threads/writer-tasks.ts";

/** A message takes a fraction of a millisecond; one that was meant for a Worker before never comes. */
const QUESTION_WAIT_MS_MAX = 1_000;
/** Between two looks for a question that may be on its way. */
const QUESTION_INTERVAL_MS = 1;
/** The time that the sums of one question may take: all that it adds up is an hour of 100 million events. */
const SUM_MS_MAX = 120_000;

/**
 * Reads as of the moment at which the returned promise is fulfilled, beside what is committed afterwards. Nothing is read
 * when it rejects; `signal` ends what is read.
 */
export type ReadOfMoment = <Answer>(
  script: () => Script<Answer>,
  signal: AbortSignal,
) => Promise<{ readonly answer: Promise<Answer> }>;

interface AskedSums {
  readonly question: LimitQuestion;
  readonly answer: PromiseWithResolvers<readonly LimitSum[]>;
}

/**
 * Adds up limits at watermarks of the journal, as of the moment before what stands behind one. A writer may read a watermark
 * before the question that says what it is for.
 */
export class WatermarkSums {
  /** Watermarks up to it were set by earlier processes, or are answered: a restored database brings them again. */
  #lastAnswered: number;
  readonly #asked = new Map<number, AskedSums>();
  #ending = new AbortController();
  #summing: Promise<void> = Promise.resolve();

  constructor(firstSegment: number) {
    this.#lastAnswered = firstSegment * WATERMARKS_MAX;
  }

  ask({ watermark, question }: WatermarkQuestion): Promise<readonly LimitSum[]> {
    const answer = Promise.withResolvers<readonly LimitSum[]>();
    this.#asked.set(watermark, { question, answer });
    return answer.promise;
  }

  /**
   * Called when what stands before the watermark is committed, and fulfilled when that moment is held. A question before that is
   * not answered yet never will be. Throws what the engine throws before the moment is held: it may be called again.
   */
  async begin(watermark: number, readOfMoment: ReadOfMoment): Promise<void> {
    const asked = await this.#find(watermark);
    if (asked === null) return;
    this.stop();
    await this.#summing;
    const { signal } = (this.#ending = new AbortController());
    const late = setTimeout(() => this.stop(), SUM_MS_MAX);
    try {
      const { answer } = await readOfMoment(() => sumLimits(asked.question), signal);
      this.#asked.delete(watermark);
      this.#lastAnswered = Math.max(this.#lastAnswered, watermark);
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

  /** Null when no question comes, as of a watermark that a process or a Worker before has set. */
  async #find(watermark: number): Promise<AskedSums | null> {
    if (watermark <= this.#lastAnswered) return null;
    for (let waitedMs = 0; waitedMs < QUESTION_WAIT_MS_MAX; waitedMs += QUESTION_INTERVAL_MS) {
      const asked = this.#asked.get(watermark);
      if (asked !== undefined) return asked;
      await sleep(QUESTION_INTERVAL_MS);
    }
    return null;
  }
}

function toReason(cause: unknown, { aborted }: AbortSignal): unknown {
  return aborted ? new Error(`it took ${SUM_MS_MAX / 1000} s, or was asked for anew`) : cause;
}

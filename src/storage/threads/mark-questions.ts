import type { LimitQuestion, LimitSum } from "#limits/limit-sums.ts";
import { MARKS_MAX, type MarkedQuestion } from "./writer-tasks.ts";

/** A message takes a fraction of a millisecond; one that was meant for a Worker before never comes. */
const WAIT_MS_MAX = 1_000;
/** Between two looks for a question that may be on its way. */
export const QUESTION_LOOK_MS = 1;

/** A question about a mark, and who waits for its answer. */
export interface MarkQuestion {
  readonly mark: number;
  readonly question: LimitQuestion;
  readonly answer: PromiseWithResolvers<readonly LimitSum[]>;
}

/** What is asked about marks of the journal. A writer may read a mark before the message that says what it is for. */
export class MarkQuestions {
  /** Marks up to it were set by processes before. */
  readonly #lastOfOthers: number;
  readonly #asked = new Map<number, MarkQuestion>();
  #awaited: { readonly mark: number; readonly untilMs: number } | null = null;
  /** What a database that was put back brings again asks nothing. */
  #lastAnswered = 0;

  constructor(serverRun: number) {
    this.#lastOfOthers = serverRun * MARKS_MAX;
  }

  ask({ mark, question }: MarkedQuestion): Promise<readonly LimitSum[]> {
    const answer = Promise.withResolvers<readonly LimitSum[]>();
    this.#asked.set(mark, { mark, question, answer });
    return answer.promise;
  }

  /** `awaited`: it may come yet. Null: no question comes, as of a mark that a process or a Worker before has set. */
  find(mark: number): MarkQuestion | "awaited" | null {
    const asked = this.#asked.get(mark);
    if (asked !== undefined) return asked;
    if (mark <= this.#lastOfOthers || mark <= this.#lastAnswered) return null;
    const nowMs = performance.now();
    if (this.#awaited?.mark !== mark) this.#awaited = { mark, untilMs: nowMs + WAIT_MS_MAX };
    return nowMs < this.#awaited.untilMs ? "awaited" : null;
  }

  /** Until this is called a question is found again, as for a batch that was rolled back. */
  answered({ mark }: MarkQuestion): void {
    this.#asked.delete(mark);
    this.#lastAnswered = Math.max(this.#lastAnswered, mark);
  }
}

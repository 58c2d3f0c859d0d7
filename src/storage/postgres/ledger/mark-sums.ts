import { sleep } from "#kernel/timer.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import { MarkQuestions, type MarkQuestion, QUESTION_LOOK_MS } from "#storage/threads/mark-questions.ts";
import type { MarkedQuestion } from "#storage/threads/writer-tasks.ts";
import type { LimitSum } from "#limits/limit-sums.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { drive } from "#storage/postgres/drive.ts";

/** How long the sums of one question may take. */
const SUM_MS_MAX = STATEMENT_MS_MAX.limitSums;

/**
 * The sums of limits that are asked for at marks of the journal. They are added up beside the batches that follow, as of the
 * moment before them: however long it takes, nothing is committed later for it.
 */
export class MarkSums {
  readonly #questions: MarkQuestions;
  #summing: { readonly ending: AbortController; readonly done: Promise<void> } | null = null;

  constructor(serverRun: number) {
    this.#questions = new MarkQuestions(serverRun);
  }

  ask(asked: MarkedQuestion): Promise<readonly LimitSum[]> {
    return this.#questions.ask(asked);
  }

  /**
   * Called when what stands before the mark is committed, and fulfilled when that moment is held. A question before that is
   * not answered yet never will be. Throws what PostgreSQL throws before the moment is held: it may be called again.
   */
  async begin(mark: number, postgres: Postgres): Promise<void> {
    let asked = this.#questions.find(mark);
    for (; asked === "awaited"; asked = this.#questions.find(mark)) await sleep(QUESTION_LOOK_MS);
    if (asked === null) return;
    this.stop();
    await this.#summing?.done;
    const held = Promise.withResolvers<void>();
    const ending = new AbortController();
    this.#summing = { ending, done: this.#sum(asked, { postgres, ending, held }) };
    await held.promise;
    this.#questions.answered(asked);
  }

  stop(): void {
    this.#summing?.ending.abort();
  }

  /** Never throws: before the moment is held, `held` is rejected, and after it the answer is. */
  async #sum(
    { question, answer }: MarkQuestion,
    {
      postgres,
      ending,
      held,
    }: {
      readonly postgres: Postgres;
      readonly ending: AbortController;
      readonly held: PromiseWithResolvers<void>;
    },
  ): Promise<void> {
    const late = setTimeout(() => ending.abort(), SUM_MS_MAX);
    let isHeld = false;
    try {
      const sums = await postgres.transaction(
        async (tx) => {
          // Retention drops no day of it meanwhile.
          await tx.run("LOCK TABLE ONLY event, ONLY event_default IN ACCESS SHARE MODE");
          // The first look is the moment that all others see.
          await tx.all("SELECT 1");
          isHeld = true;
          held.resolve();
          return await drive(tx, { dialect: POSTGRES, subjects: new Map() }, sumLimits(question));
        },
        {
          isReadOnly: true,
          isolation: "repeatable read",
          callMsMax: SUM_MS_MAX,
          signal: ending.signal,
        },
      );
      answer.resolve(sums);
    } catch (cause) {
      // It took too long, was asked for anew, or the database failed.
      (isHeld ? answer : held).reject(cause);
    } finally {
      clearTimeout(late);
    }
  }
}

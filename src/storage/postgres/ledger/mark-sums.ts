import { POSTGRES } from "#storage/ledger/queries/dialect.ts";
import { sumLimits } from "#storage/ledger/limits/limit-sums.ts";
import { MARKS_MAX, type WriterCommand, type WriterReply } from "#storage/ledger/threads/messages.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "./reports/drive.ts";

type Question = Extract<WriterCommand<object>, { kind: "sumLimits" }>;
type Summed = Extract<WriterReply, { kind: "summed" }>;

/** A message takes a fraction of a millisecond; one that was meant for a Worker before never comes. */
const WAIT_MS_MAX = 1_000;
const LOOK_MS = 1;

/** The sums of limits that are asked for at marks of the journal. */
export class MarkSums {
  /** Marks up to it were set by processes before. */
  readonly #lastOfOthers: number;
  /** By the mark that they wait for. */
  readonly #questions = new Map<number, Question>();
  /** What a database that was put back brings again asks nothing. */
  #answered = 0;

  constructor(serverRun: number) {
    this.#lastOfOthers = serverRun * MARKS_MAX;
  }

  ask(question: Question): void {
    this.#questions.set(question.mark, question);
  }

  /**
   * Adds up within the transaction that holds what stands before the mark. Returns what answers once that is committed. Asked
   * again when it was rolled back. A mark of a process before, or of a Worker before, has no question.
   */
  async sum(mark: number, tx: Transaction, answer: (summed: Summed) => void): Promise<() => void> {
    const asked = await this.#find(mark);
    if (asked === null) return () => {};
    const sums = await drive(tx, { dialect: POSTGRES, subjects: new Map() }, sumLimits(asked.question));
    return () => {
      this.#questions.delete(mark);
      this.#answered = Math.max(this.#answered, mark);
      answer({ kind: "summed", id: asked.id, sums });
    };
  }

  /** A mark may be read before the message that says what it is for, which is on its way. */
  async #find(mark: number): Promise<Question | null> {
    const waitMs = mark > this.#lastOfOthers && mark > this.#answered ? WAIT_MS_MAX : 0;
    const untilMs = performance.now() + waitMs;
    while (!this.#questions.has(mark) && performance.now() < untilMs) await Bun.sleep(LOOK_MS);
    return this.#questions.get(mark) ?? null;
  }
}

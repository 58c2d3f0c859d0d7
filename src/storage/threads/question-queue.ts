import type { ReportName } from "#storage/reports/reports.ts";

/** A question with the name of its report. */
export interface Asked {
  readonly name: ReportName;
  readonly question: unknown;
}

/** A question that is asked once, however many askers want its answer. */
export interface Question<Asker extends { readonly askerId: string }> {
  /** Equal for questions that have the same answer. */
  readonly key: string;
  /** The newest asker's form: its "now" is the latest, so that no asker gets an answer of before its question. */
  asked: Asked;
  readonly askers: Set<Asker>;
}

export interface Turn<Asker extends { readonly askerId: string }> {
  readonly question: Question<Asker>;
  /** The principal whose turn it is. */
  readonly askerId: string;
}

/**
 * Keeps the questions that wait and gives principals turns: one that asks many holds up its own. Equal questions are one,
 * which comes at the first turn of any of its askers.
 */
export class QuestionQueue<Asker extends { readonly askerId: string }> {
  /** By their keys, in the order of asking. */
  readonly #questions = new Map<string, Question<Asker>>();
  /** When each principal had its last turn, or began to wait, since the queue was empty: the lowest number is next. */
  readonly #turns = new Map<string, number>();
  #lastTurn = 0;

  add(asker: Asker, asked: Asked): void {
    const key = toKey(asked);
    const question = this.#questions.get(key) ?? { key, asked, askers: new Set<Asker>() };
    question.asked = asked;
    question.askers.add(asker);
    this.#questions.set(key, question);
    if (!this.#turns.has(asker.askerId)) this.#pass(asker.askerId);
  }

  get isEmpty(): boolean {
    return this.#questions.size === 0;
  }

  /** The next question among those of askers that may have one; null when there is none. */
  next(isAllowed: (askerId: string) => boolean): Turn<Asker> | null {
    let next: Turn<Asker> | null = null;
    let first = Number.POSITIVE_INFINITY;
    for (const question of this.#questions.values())
      for (const { askerId } of question.askers) {
        const turn = this.#turns.get(askerId) ?? 0;
        if (turn >= first || !isAllowed(askerId)) continue;
        next = { question, askerId };
        first = turn;
      }
    return next;
  }

  /** Removes the question of a turn; its principal comes last now. */
  take({ question, askerId }: Turn<Asker>): void {
    this.#remove(question);
    if (!this.isEmpty) this.#pass(askerId);
  }

  /** Removes an asker, and its question when no other asker waits for it. */
  drop(asker: Asker): void {
    for (const question of this.#questions.values())
      if (question.askers.delete(asker)) {
        if (question.askers.size === 0) this.#remove(question);
        return;
      }
  }

  clear(): void {
    this.#questions.clear();
    this.#turns.clear();
  }

  #pass(askerId: string): void {
    this.#lastTurn += 1;
    this.#turns.set(askerId, this.#lastTurn);
  }

  #remove(question: Question<Asker>): void {
    this.#questions.delete(question.key);
    if (this.isEmpty) this.#turns.clear();
  }
}

/** The key leaves "now" out: questions that differ in it alone have one answer, as of the newest. */
function toKey(asked: Asked): string {
  return JSON.stringify(asked, (field, value: unknown) => {
    if (field === "nowUs") return undefined;
    // JSON has no spelling for the amounts of limits.
    if (typeof value === "bigint") return value.toString();
    return value instanceof Map ? [...value] : value;
  });
}

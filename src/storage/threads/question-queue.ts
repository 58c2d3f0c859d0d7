import type { ReportName } from "#storage/reports/reports.ts";

/** A question with the name of its report. */
export interface Asked {
  readonly name: ReportName;
  readonly question: unknown;
}

/** A caller that waits for an answer. */
export interface Asker {
  /** The principal that asks. */
  readonly askerId: string;
  /** Look-ups go before reports and take a few milliseconds. */
  readonly isLookup: boolean;
  /** Takes the answer of its own question: the Worker answers what it was asked. */
  readonly resolve: (answer: never) => void;
  readonly reject: (cause: unknown) => void;
}

/** A question that is asked once, however many askers want its answer. */
export interface Question {
  /** Equal for questions that have the same answer. */
  readonly key: string;
  /** The newest asker's form: its "now" is the latest, so that no asker gets an answer of before its question. */
  asked: Asked;
  readonly askers: Set<Asker>;
}

/** A question, and the asker whose turn it is. */
export interface Turn {
  readonly question: Question;
  readonly asker: Asker;
}

/**
 * Keeps the questions that wait. Look-ups come first, in the order of asking, and reports in turn by principal: one that asks
 * many holds up its own. Equal questions are one, which comes at the first turn of any of its askers.
 */
export class QuestionQueue {
  /** By their keys, in the order of asking. */
  readonly #questions = new Map<string, Question>();
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

  /** The next question among those of askers that may have one; null when there is none. */
  next(isAllowed: (asker: Asker) => boolean): Turn | null {
    let next: Turn | null = null;
    let first = Number.POSITIVE_INFINITY;
    for (const question of this.#questions.values())
      for (const asker of question.askers) {
        const turn = asker.isLookup ? 0 : (this.#turns.get(asker.askerId) ?? 0);
        if (turn >= first || !isAllowed(asker)) continue;
        next = { question, asker };
        first = turn;
      }
    return next;
  }

  /** Removes the question of a turn; its principal comes last now, unless it has only looked something up. */
  take({ question, asker }: Turn): void {
    this.#remove(question);
    if (!asker.isLookup && this.#questions.size > 0) this.#pass(asker.askerId);
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

  #remove({ key }: Question): void {
    this.#questions.delete(key);
    if (this.#questions.size === 0) this.#turns.clear();
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

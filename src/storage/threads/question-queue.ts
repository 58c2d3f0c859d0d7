import type { ReportName } from "#storage/reports/reports.ts";

/** A question with the name of its report. */
export interface Asked {
  readonly name: ReportName;
  readonly question: unknown;
}

/** A question that is asked once, however many askers want its answer. */
export interface Question<Asker extends { readonly askerId: string }> {
  readonly id: number;
  /** Equal for questions that have the same answer. */
  readonly key: string;
  asked: Asked;
  readonly askers: Set<Asker>;
}

export interface Turn<Asker extends { readonly askerId: string }> {
  readonly question: Question<Asker>;
  /** The principal whose turn it is. */
  readonly askerId: string;
}

/**
 * Questions that wait, taken in turn by asker: a principal that asks many holds up its own. Equal ones are one question,
 * which comes at the first turn of any of its askers.
 */
export class QuestionQueue<Asker extends { readonly askerId: string }> {
  /** By the principal that asks; the next in turn stands first. */
  readonly #lines = new Map<string, Question<Asker>[]>();
  readonly #byKey = new Map<string, Question<Asker>>();
  #lastId = 0;

  /** Asks as the newest of its askers did: "now" is never earlier than any of them meant. */
  add(asker: Asker, asked: Asked): void {
    const key = toKey(asked);
    const known = this.#byKey.get(key);
    const question = known ?? { id: (this.#lastId += 1), key, asked, askers: new Set<Asker>() };
    question.asked = asked;
    question.askers.add(asker);
    this.#byKey.set(key, question);
    const line = this.#lines.get(asker.askerId) ?? [];
    if (!line.includes(question)) line.push(question);
    this.#lines.set(asker.askerId, line);
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** The next question among those of askers that may have one; null when there is none. */
  next(isAllowed: (askerId: string) => boolean): Turn<Asker> | null {
    for (const [askerId, [question]] of this.#lines) {
      if (question !== undefined && isAllowed(askerId)) return { question, askerId };
    }
    return null;
  }

  /** Its asker comes last now. */
  take({ question, askerId }: Turn<Asker>): void {
    const line = this.#lines.get(askerId);
    this.#lines.delete(askerId);
    if (line !== undefined) this.#lines.set(askerId, line);
    this.#remove(question);
  }

  /** One that has left: its question goes when no other asker waits for it, and its principal's turn when none of its own does. */
  drop(asker: Asker): void {
    const { askerId } = asker;
    const question = this.#lines.get(askerId)?.find(({ askers }) => askers.has(asker));
    if (question === undefined) return;
    question.askers.delete(asker);
    if (question.askers.size === 0) this.#remove(question);
    else if (!question.askers.values().some((other) => other.askerId === askerId))
      this.#leaveLine(askerId, question);
  }

  clear(): void {
    this.#byKey.clear();
    this.#lines.clear();
  }

  #remove(question: Question<Asker>): void {
    this.#byKey.delete(question.key);
    for (const askerId of this.#lines.keys()) this.#leaveLine(askerId, question);
  }

  #leaveLine(askerId: string, question: Question<Asker>): void {
    const line = this.#lines.get(askerId) ?? [];
    const index = line.indexOf(question);
    if (index !== -1) line.splice(index, 1);
    if (line.length === 0) this.#lines.delete(askerId);
  }
}

/** What "now" is does not tell two questions apart: the answer has the newest. */
function toKey(asked: Asked): string {
  return JSON.stringify(asked, (field, value: unknown) => {
    if (field === "nowUs") return undefined;
    // The amounts of limits, which JSON has no spelling for.
    if (typeof value === "bigint") return value.toString();
    return value instanceof Map ? [...value] : value;
  });
}

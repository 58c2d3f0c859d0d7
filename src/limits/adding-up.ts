import type { Clock } from "#kernel/clock.ts";
import type { LimitBook } from "./limit-book.ts";
import type { LimitLedger, LimitSum } from "./limit-sums.ts";
import type { Limit } from "./limit.ts";

export interface AddingUpDeps {
  readonly ledger: LimitLedger;
  readonly clock: Clock;
  /** The one in force. */
  readonly book: () => LimitBook;
}

/** What the ledger adds up for limits: one question after the other, and what changes meanwhile is asked for next. */
export class AddingUp {
  readonly #deps: AddingUpDeps;
  #round: Promise<void> | null = null;

  constructor(deps: AddingUpDeps) {
    this.#deps = deps;
  }

  get isUnderWay(): boolean {
    return this.#round !== null;
  }

  /** Fulfilled once nothing is missing. */
  async all(): Promise<void> {
    while (!this.#deps.book().isComplete) await this.next();
  }

  /** What is missing now, or what is being added up already. */
  next(): Promise<void> {
    return (this.#round ??= this.#addUp().finally(() => (this.#round = null)));
  }

  /** To be called in the turn in which the limits begin to count. */
  async sum(limits: readonly Limit[]): Promise<readonly LimitSum[]> {
    const counted = limits.filter(({ measure }) => measure !== "concurrent");
    const { ledger, clock } = this.#deps;
    return counted.length === 0 ? [] : await ledger.sumLimits(counted, clock.nowUs());
  }

  async #addUp(): Promise<void> {
    const book = this.#deps.book();
    const missing = book.askMissing();
    try {
      book.load(missing, await this.sum(missing));
    } catch (cause) {
      // Who waits next asks again.
      book.giveUp(missing);
      throw cause;
    }
    // A process that ended before it told anybody may have counted a part of it.
    book.tellAll(this.#deps.clock.nowUs());
  }
}

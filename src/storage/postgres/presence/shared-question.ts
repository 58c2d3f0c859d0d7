/**
 * Asks for all who wait together: one question is under way at a time, and a caller is answered only by one that was sent
 * after it came. An earlier one may have been decided before what the caller has to see.
 */
export class SharedQuestion {
  readonly #send: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(send: () => Promise<void>) {
    this.#send = send;
  }

  ask(): Promise<void> {
    // One that is about to be sent: whom the last answer woke may ask again before that.
    if (this.#next !== null) return this.#next;
    if (this.#running === null) return this.#begin();
    return (this.#next = this.#running.then(this.#beginNext, this.#beginNext));
  }

  readonly #beginNext = (): Promise<void> => {
    this.#next = null;
    return this.#begin();
  };

  #begin(): Promise<void> {
    const running = this.#send().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }
}

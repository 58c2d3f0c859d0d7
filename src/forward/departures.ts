/** An answer that the runtime has taken whole. */
interface Departing {
  /** Whether all of it has left, or its caller has gone. */
  hasLeft(): boolean;
}

export interface Departures {
  /** `onLeft` is called once, when the answer has left. Not to be called before the answer is on its way to the runtime. */
  watch(answer: Departing, onLeft: () => void): void;
}

/** How late it is noticed that an answer has left: a body that waits for its memory waits so much longer. */
const LOOK_INTERVAL_MS = 20;

/**
 * The runtime calls nothing when a response without a stream has left, but it can be asked. One timer asks for all of them,
 * and runs only while there are some.
 */
export function createDepartures(): Departures {
  const departing = new Map<Departing, () => void>();
  return {
    watch(answer, onLeft) {
      if (departing.size === 0) setTimeout(look, LOOK_INTERVAL_MS);
      departing.set(answer, onLeft);
    },
  };

  function look(): void {
    const left = [...departing].filter(([answer]) => answer.hasLeft());
    for (const [answer] of left) departing.delete(answer);
    if (departing.size > 0) setTimeout(look, LOOK_INTERVAL_MS);
    for (const [, onLeft] of left) onLeft();
  }
}

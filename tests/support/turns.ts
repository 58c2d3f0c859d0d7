import { type Clock, createSystemClock } from "#kernel/clock.ts";

const TURN_MS = 10;

/**
 * Time in turns of this process, in which the proxy runs too: what a busy machine keeps from both is no part of it. For upper
 * bounds; it is never more than the clock's.
 */
export function startTurns(): Turns {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, TURN_MS);
  const elapsedMs = () => turns * TURN_MS;
  const clock = { ...createSystemClock(), monotonicMs: elapsedMs };
  return { elapsedMs, clock, end: () => clearInterval(timer) };
}

interface Turns {
  elapsedMs(): number;
  /** For limits that are held to be far off: a pause of this process brings them no nearer. */
  readonly clock: Clock;
  end(): void;
}

/** Fails when something takes longer than a second: the bound on closing an upstream's connection. */
export async function withinASecond<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const turns = startTurns();
  const timer = setInterval(() => {
    if (turns.elapsedMs() > 1_000) reject(new Error(`${what} took longer than a second`));
  }, TURN_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearInterval(timer);
    turns.end();
  }
}

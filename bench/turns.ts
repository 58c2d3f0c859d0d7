/** Turns of benchmarks on one machine: what measures holds the lock of a file for some measures, and then lets others. */
import { endWithUs } from "./executable.ts";

const TURN_MS = 40_000;

export class Turns {
  readonly #lock: string | undefined;
  #held: { readonly untilMs: number; leave(): Promise<void> } | null = null;

  /** Without a file nobody waits. */
  constructor(lock: string | undefined) {
    this.#lock = lock;
  }

  /** Runs the work while nobody else measures. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#lock !== undefined) this.#held ??= await hold(this.#lock);
    try {
      return await work();
    } finally {
      if (this.#held !== null && performance.now() > this.#held.untilMs) await this.leave();
    }
  }

  async leave(): Promise<void> {
    const held = this.#held;
    this.#held = null;
    await held?.leave();
  }
}

async function hold(lock: string) {
  const holder = endWithUs(
    Bun.spawn(["flock", lock, "sh", "-c", "echo; exec cat"], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  await holder.stdout.getReader().read();
  return {
    untilMs: performance.now() + TURN_MS,
    async leave() {
      await holder.stdin.end();
      await holder.exited;
    },
  };
}

import type { InstantUs } from "#kernel/clock.ts";
import type { Pico } from "#kernel/units.ts";

/** What counts as a storm of retries. */
export const RETRY_STORM_RULE = {
  /** From the end of a failure to the next attempt, at most: clients that wait longer are polite. */
  pauseUs: 10_000_000,
  /** Attempts, at least: libraries of providers make three by themselves. */
  attemptsMin: 4,
} as const;

/** A request by one key, to one model, from one client. Those whose caller hung up are none. */
export interface Attempt {
  /** The number of its key, model and client. */
  readonly subject: number;
  readonly arrivedAtUs: InstantUs;
  readonly endedAtUs: InstantUs;
  readonly isFailed: boolean;
  /** The whole input; null where the answer told none, as most failures do. */
  readonly inputTokens: number | null;
  readonly costPico: Pico | null;
}

/** Attempts one after the other, all but the last of which failed. */
export interface RetryStorm {
  readonly subject: number;
  readonly attempts: number;
  readonly failed: number;
  readonly firstUs: InstantUs;
  /** The arrival of the last attempt. */
  readonly lastUs: InstantUs;
  /** The end of the last attempt. */
  readonly endedAtUs: InstantUs;
  readonly inputTokens: number | null;
  /** Null where no attempt had one. */
  readonly costPico: Pico | null;
}

/** Attempts to which more may be added. */
type Chain = { -readonly [Member in keyof RetryStorm]: RetryStorm[Member] };

export interface StormFinder {
  /** Attempts come in the order of their arrival. */
  add(attempt: Attempt): void;
  /** The storms, those with the most attempts first. */
  finish(): readonly RetryStorm[];
}

/**
 * Puts attempts together: one is a retry of a failure of its subject that ended at most `pauseUs` before it arrived, unless
 * both tell how many tokens the prompt has and these differ; of several failures it is that of the one that ended last.
 * A success ends the retries.
 */
export function createStormFinder(): StormFinder {
  const { pauseUs, attemptsMin } = RETRY_STORM_RULE;
  const open = new Map<number, Chain[]>();
  const storms: RetryStorm[] = [];
  const close = (chain: Chain) => {
    if (chain.attempts >= attemptsMin) storms.push(chain);
  };
  return {
    add(attempt) {
      const { subject, arrivedAtUs, isFailed, inputTokens } = attempt;
      const waiting: Chain[] = [];
      let retried: Chain | null = null;
      for (const chain of open.get(subject) ?? []) {
        if (arrivedAtUs - chain.endedAtUs > pauseUs) {
          close(chain);
          continue;
        }
        waiting.push(chain);
        const isSame =
          inputTokens === null || chain.inputTokens === null || inputTokens === chain.inputTokens;
        const isLater = retried === null || chain.endedAtUs > retried.endedAtUs;
        if (chain.endedAtUs <= arrivedAtUs && isSame && isLater) retried = chain;
      }
      if (retried !== null) {
        addTo(retried, attempt);
        if (!isFailed) {
          close(retried);
          waiting.splice(waiting.indexOf(retried), 1);
        }
      } else if (isFailed) waiting.push(begin(attempt));
      open.set(subject, waiting);
    },
    finish() {
      for (const chains of open.values()) chains.forEach(close);
      open.clear();
      return storms.toSorted((left, right) => right.attempts - left.attempts || right.lastUs - left.lastUs);
    },
  };
}

function begin({ subject, arrivedAtUs, endedAtUs, inputTokens, costPico }: Attempt): Chain {
  const [firstUs, lastUs] = [arrivedAtUs, arrivedAtUs];
  return { subject, attempts: 1, failed: 1, firstUs, lastUs, inputTokens, costPico, endedAtUs };
}

function addTo(chain: Chain, { arrivedAtUs, endedAtUs, isFailed, inputTokens, costPico }: Attempt): void {
  chain.attempts += 1;
  chain.failed += isFailed ? 1 : 0;
  chain.lastUs = arrivedAtUs;
  chain.endedAtUs = endedAtUs;
  chain.inputTokens ??= inputTokens;
  if (costPico !== null) chain.costPico = (chain.costPico ?? 0n) + costPico;
}

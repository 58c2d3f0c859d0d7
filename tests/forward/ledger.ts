import { type UsageEnding, type UsageEvent, type UsageBeginning, toDimensions } from "#usage/event.ts";
import type { UsageLedger } from "#usage/store.ts";

export interface MemoryLedgerOptions {
  /** Runs when the ledger is asked to write an event down. */
  readonly onEnd?: ((ending: UsageEnding) => Promise<void> | void) | undefined;
  readonly onOpen?: ((subject: UsageBeginning) => void) | undefined;
}

export interface MemoryLedger {
  readonly ledger: UsageLedger;
  /** Every event written so far. */
  readonly events: readonly UsageEvent[];
  readonly subjects: readonly UsageBeginning[];
  /** The one event there is; fails when there are more or none. */
  readonly onlyEvent: () => UsageEvent;
}

/** A ledger without a disk, which holds its users to its rules. */
export function createMemoryLedger({ onOpen, onEnd }: MemoryLedgerOptions): MemoryLedger {
  const events: UsageEvent[] = [];
  const subjects: UsageBeginning[] = [];
  return {
    events,
    subjects,
    ledger: {
      open(subject) {
        onOpen?.(subject);
        subjects.push(toBeginning(subject));
        let ended = false;
        return {
          background: () => Promise.resolve(),
          async end(ending, named) {
            if (ended) throw new Error("an event was ended twice");
            ended = true;
            await onEnd?.(ending);
            events.push({ ...toBeginning(named ?? subject), ...toEnding(ending) });
          },
        };
      },
      settle: () => Promise.resolve(),
      findEvent: () => Promise.resolve({ kind: "absent" }),
      written: () => Promise.resolve(),
      flush: () => Promise.resolve(),
      close: () => Promise.resolve(),
    },
    onlyEvent() {
      const [event] = events;
      if (event === undefined || events.length !== 1 || subjects.length !== 1) {
        throw new Error(`${subjects.length} exchanges began and ${events.length} events were written`);
      }
      return event;
    },
  };
}

/** Copies, since what a ledger is given may be far more. */
function toBeginning(subject: UsageBeginning): UsageBeginning {
  const { arrivedAtUs, streamed } = subject;
  return { ...toDimensions(subject), arrivedAtUs, streamed };
}

function toEnding(ending: UsageEnding): UsageEnding {
  const { statusCode, outcome, errorKind, failure, durationUs, timeToFirstByteUs, usage } = ending;
  const { tier, geo, prices, costPico, unpriced, costReportedPico } = ending;
  const figures = { statusCode, outcome, errorKind, failure, durationUs, timeToFirstByteUs, usage };
  return { ...figures, tier, geo, prices, costPico, unpriced, costReportedPico };
}

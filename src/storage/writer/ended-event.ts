import type { InstantUs } from "#kernel/clock.ts";
import { type CountedEvent, splitCost } from "#storage/cells/sums.ts";
import type { UsageDimensions } from "#usage/event.ts";
import type { Begun } from "#usage/journal-decoder.ts";
import type { UsageFigures, UsageManner } from "#usage/journal-line.ts";

/** A request that has ended, on its way into the ledger. Its ids are 0 until they are filled in (`Interning`). */
export interface EndedEvent extends CountedEvent {
  readonly arrivedAtUs: InstantUs;
  readonly streamed: boolean;
  readonly dimensions: UsageDimensions;
  readonly manner: UsageManner;
  /** Its arrival, or the next that is free in its lane. */
  id: InstantUs;
  /** The label set. */
  combination: number;
  result: number;
  /** Stands for its result, streaming and the prices that held: an id of `manner`. */
  eventClass: number;
}

export function toEnded(
  { arrivedAtUs, streamed, dimensions }: Begun,
  ending: UsageFigures,
  manner: UsageManner,
): EndedEvent {
  return {
    arrivedAtUs,
    id: arrivedAtUs,
    streamed,
    dimensions,
    manner,
    ending,
    cost: splitCost(ending.costPico),
    costReported: splitCost(ending.costReportedPico ?? null),
    combination: 0,
    result: 0,
    eventClass: 0,
  };
}

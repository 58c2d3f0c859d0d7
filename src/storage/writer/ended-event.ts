import type { InstantUs } from "#kernel/clock.ts";
import { byUnit, UNITS } from "#kernel/units.ts";
import { type CountedEvent, splitCost, toAmounts } from "#storage/cells/sums.ts";
import type { ReportedUsage, UsageDimensions } from "#usage/event.ts";
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

/**
 * A greater quantity is nonsense that an upstream has told. Sums of it would leave the range of doubles, which PostgreSQL
 * answers with an error: the batch would fail for good, and later every report of its rows.
 */
const QUANTITY_MAX = 1e290;

/** Makes an event whose quantities can be added up. */
export function toEnded(
  { arrivedAtUs, streamed, dimensions }: Begun,
  ending: UsageFigures,
  manner: UsageManner,
): EndedEvent {
  const usage = toBounded(ending.usage);
  return {
    arrivedAtUs,
    id: arrivedAtUs,
    streamed,
    dimensions,
    manner,
    ending: usage === ending.usage ? ending : { ...ending, usage },
    cost: splitCost(ending.costPico),
    costReported: splitCost(ending.costReportedPico ?? null),
    amounts: toAmounts(usage),
    combination: 0,
    result: 0,
    eventClass: 0,
  };
}

function toBounded(usage: ReportedUsage | null): ReportedUsage | null {
  if (usage === null) return null;
  const { shape, quantities } = usage;
  if (UNITS.every((unit) => (quantities[unit] ?? 0) <= QUANTITY_MAX)) return usage;
  const bounded = byUnit(UNITS, (unit) => {
    const quantity = quantities[unit];
    return quantity === undefined ? undefined : Math.min(quantity, QUANTITY_MAX);
  });
  return { shape, quantities: bounded };
}

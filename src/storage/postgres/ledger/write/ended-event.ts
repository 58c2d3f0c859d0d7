import type { InstantUs } from "#kernel/clock.ts";
import { byUnit, UNITS } from "#kernel/units.ts";
import { type SplitCost, splitCost } from "#storage/cells/sums.ts";
import type { ReportedUsage } from "#usage/event.ts";
import type { Begun } from "#usage/journal-decoder.ts";
import type { UsageFigures, UsageManner } from "#usage/journal-line.ts";
import type { Interned } from "./interning.ts";

/** A request that has ended, on its way into the ledger. */
export interface EndedEvent extends Interned {
  readonly arrivedAtUs: InstantUs;
  readonly ending: UsageFigures;
  readonly cost: SplitCost | null;
  /** Its arrival, or the next that is free in its lane. */
  id: InstantUs;
}

/**
 * A greater quantity is nonsense that an upstream has told. Sums of it would leave the range of doubles, which PostgreSQL
 * answers with an error: the batch would fail for good, and later every report of its rows.
 */
const QUANTITY_MAX = 1e290;

/** Makes an event whose ids are 0 until they are found, and whose quantities PostgreSQL can add up. */
export function toEnded(begun: Begun, ending: UsageFigures, manner: UsageManner): EndedEvent {
  const { arrivedAtUs, streamed, dimensions } = begun;
  const usage = toBounded(ending.usage);
  return {
    arrivedAtUs,
    id: arrivedAtUs,
    streamed,
    dimensions,
    manner,
    ending: usage === ending.usage ? ending : { ...ending, usage },
    cost: splitCost(ending.costPico),
    combinationId: 0,
    resultId: 0,
    mannerId: 0,
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

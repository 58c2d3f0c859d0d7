import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { one, type Script } from "#storage/sql/script.ts";

/** The instant before which rows may have been removed. */
export function* readPrunedBefore(): Script<InstantUs> {
  const state = yield* one<{ us: InstantUs }>("SELECT pruned_before_us AS us FROM ledger_state");
  return state?.us ?? 0;
}

/** The first UTC day since 1970 of which all rows are there. */
export function* readFirstWholeDay(): Script<number> {
  return Math.ceil((yield* readPrunedBefore()) / DAY_US);
}

import type { Facets } from "../api/reports.ts";
import type { OutcomeFilter } from "../search/filters.ts";
import { toOutcomeWord } from "../text/outcomes.ts";

export function toOutcomeText(outcome: OutcomeFilter): string {
  return outcome === "failed" ? "failed (not OK)" : toOutcomeWord(outcome);
}

/** `label ***abcd (owner)`; of a deleted key only the owner is known. */
export function toKeyName(key: Facets["keys"][number]): string {
  const name = key.label === null ? "deleted key" : key.label === "" ? "key without a label" : key.label;
  return key.key_suffix === null
    ? `${name} (${key.principal}, ${key.id.slice(0, 8)})`
    : `${name} ***${key.key_suffix} (${key.principal})`;
}

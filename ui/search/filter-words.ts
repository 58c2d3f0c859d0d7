import { formatDuration, formatMoney } from "../text/format.ts";
import { toOutcomeWord } from "../text/outcomes.ts";
import type { BoundFilter, ListFilter, OutcomeFilter } from "./filters.ts";

/** What each filter is called where its values stand behind it. */
export const FILTER_LABELS: { readonly [name in ListFilter]: string } = {
  principal: "person",
  key: "key",
  provider: "provider",
  model: "model",
  client: "client begins with",
  tag: "tag",
  outcome: "outcome",
  error_kind: "error kind",
  status: "status",
};

/** `took at least 2 s`. */
export function toBoundText(name: BoundFilter, value: string): string {
  const size = name.endsWith("_cost") ? formatMoney(Number(value)) : formatDuration(Number(value));
  const verb = name.endsWith("_cost") ? "cost" : "took";
  return `${verb} ${name.startsWith("min_") ? "at least" : "at most"} ${size}`;
}

export function toOutcomeText(outcome: OutcomeFilter): string {
  return outcome === "failed" ? "failed (not OK)" : toOutcomeWord(outcome);
}

import type { ConnectionFailure } from "#kernel/connection-failure.ts";
import { FAILURE_WORDS } from "./failure-words.ts";
import type { Outcome } from "#usage/event.ts";

/** What an outcome is called on the page. */
export const OUTCOME_LABEL = {
  ok: "OK",
  upstream_error: "Upstream error",
  unreachable: "Unreachable",
  cancelled: "Cancelled",
} as const satisfies Record<Outcome, string>;

/** What an outcome means, for titles and legends. */
export const OUTCOME_MEANING = {
  ok: "The provider answered, and the caller received the complete answer.",
  upstream_error: "The provider answered with an error.",
  unreachable: "No complete answer came from the provider, or Lockport was stopped before it came.",
  cancelled: "The caller disconnected before the answer was complete.",
} as const satisfies Record<Outcome, string>;

/** What the outcome of one request means, whose error kind is known, and why its provider gave no answer. */
export function toOutcomeMeaning(
  outcome: Outcome,
  errorKind: string | null,
  failure?: ConnectionFailure,
): string {
  if (failure !== undefined) return `The provider gave no answer: ${FAILURE_WORDS[failure]}.`;
  if (errorKind === "interrupted") return "Lockport was stopped or killed before the answer was complete.";
  if (outcome === "unreachable") return "The provider was unreachable, timed out or closed the connection.";
  return OUTCOME_MEANING[outcome];
}

/** Its name within a sentence or a legend: `upstream error`. */
export function toOutcomeWord(outcome: Outcome): string {
  return OUTCOME_LABEL[outcome].toLowerCase();
}

import type { ConnectionFailure } from "#kernel/system-code.ts";
import type { Outcome } from "#usage/event.ts";

/** An outcome as the log shows it: a refused request has no usage, and no outcome in the ledger. */
export type ShownOutcome = Outcome | "refused";

/** The name of an outcome on the page. */
export const OUTCOME_LABEL = {
  ok: "OK",
  upstream_error: "Upstream error",
  unreachable: "Unreachable",
  cancelled: "Cancelled",
  refused: "Refused",
} as const satisfies Record<ShownOutcome, string>;

/** The meaning of an outcome, for titles and legends. */
export const OUTCOME_MEANING = {
  ok: "The provider answered, and the caller received the complete answer.",
  upstream_error: "The provider answered with an error.",
  unreachable: "No complete answer came from the provider, or Lockport was stopped before it came.",
  cancelled: "The caller disconnected before the answer was complete.",
  refused: "It reached no provider, so it cost nothing and is in no report.",
} as const satisfies Record<ShownOutcome, string>;

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
export function toOutcomeWord(outcome: ShownOutcome): string {
  return OUTCOME_LABEL[outcome].toLowerCase();
}

/** What to tell a person, behind "The provider was not reached: ". */
export const FAILURE_WORDS: { readonly [failure in ConnectionFailure]: string } = {
  refused: "it refused the connection",
  name_not_found: "its name was not found (DNS)",
  no_route: "there is no route to it",
  tls: "its certificate was not accepted, or it does not speak TLS",
  connect_timeout: "no connection within the connect timeout",
  read_timeout: "no answer within the read timeout",
  queue_timeout: "no place within max_concurrency before the read timeout",
  reset: "the connection closed before the answer had ended",
  malformed: "its answer was no HTTP that can be passed on",
};

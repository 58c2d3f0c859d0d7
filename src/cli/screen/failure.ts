import { isPassing, ProxyError, SetupError, StepRefusedError, UnreachableError } from "#kernel/errors.ts";
import { describeCause } from "#kernel/log.ts";
import { toPrintable } from "#kernel/printable.ts";
import { findNearest } from "#kernel/nearest.ts";

/** Exit codes (sysexits.h, where it has a word for it). */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** `apply --dry-run --exit-code`, and only it: what was asked for has been done. */
  changes: 3,
  unreachable: 69,
  permission: 77,
  configuration: 78,
} as const;

export type FailureKind = Exclude<keyof typeof EXIT, "ok" | "changes">;

/**
 * Why a command ends without having done its work, beside what the domain refuses and what `SetupError` says of this
 * machine. Its kind is the exit code; the message is one sentence for stderr that says what to do, and never holds a secret.
 */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Ends a command that has said all there is, with the exit code `changes`. */
export class ChangesFound extends Error {
  override readonly name = "ChangesFound";
}

/** Ends a command that has said all there is and found two sides that differ, with the exit code `failure`. */
export class DifferencesFound extends Error {
  override readonly name = "DifferencesFound";
}

/** Refusal of the interface, in a sentence that has its code. */
export class Refusal extends CommandError {
  readonly code: string;

  constructor(kind: FailureKind, message: string, code: string) {
    super(kind, message);
    this.code = code;
  }
}

/**
 * Holds what was typed to the domain's own rule before any installation is opened: what the rule refuses is a wrong argument,
 * on every installation. Throws a `CommandError`.
 */
export function checkTyped(rule: () => unknown): void {
  try {
    rule();
  } catch (cause) {
    throw cause instanceof ProxyError ? new CommandError("usage", describeRefusal(cause)) : cause;
  }
}

/** Turns whatever a command has thrown into its exit code and sentence. */
export function toFailure(cause: unknown): { readonly kind: FailureKind; readonly sentence: string } {
  // A message about this machine is one line; a path in it may have several.
  if (cause instanceof SetupError) return { kind: cause.kind, sentence: toPrintable(cause.message) };
  if (cause instanceof UnreachableError) return { kind: "unreachable", sentence: describeAway(cause) };
  if (cause instanceof StepRefusedError && cause.isPassing)
    return { kind: "unreachable", sentence: describeAway({ message: cause.message, mayBeCommitted: false }) };
  if (cause instanceof CommandError) return { kind: cause.kind, sentence: cause.message };
  if (cause instanceof ProxyError)
    return { kind: isPassing(cause) ? "unreachable" : "failure", sentence: describeRefusal(cause) };
  const { cause: name, cause_code: code } = describeCause(cause);
  const found = [name, code].filter((part) => typeof part === "string").join(", ");
  return {
    kind: "failure",
    sentence: `unexpected failure (${found}): please report it with the command that you ran.`,
  };
}

function describeAway({
  message,
  mayBeCommitted,
}: Pick<UnreachableError, "message" | "mayBeCommitted">): string {
  const made = mayBeCommitted
    ? "What was asked for may have been done: look before you ask for it again."
    : "Nothing was changed.";
  return `${message} ${made} lockport doctor says more.`;
}

/** A refusal as a person reads it: its sentence, its code and the field that it is about. */
export function describeRefusal({
  message,
  code,
  param,
}: Pick<ProxyError, "message" | "param"> & { readonly code: string }): string {
  return `${message} (${code}${param === null ? "" : `, ${param}`})`;
}

/** Names the nearest of these words, in a line to add to a refusal; empty where none is near. */
export function suggest(text: string, words: readonly string[]): string {
  const nearest = findNearest(text, words);
  return nearest === null ? "" : `\n(Did you mean ${nearest}?)`;
}

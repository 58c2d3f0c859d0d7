import { CommandError, toFailure } from "#cli/screen/failure.ts";
import { toJsonText, type OutputOptions } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

export interface ShownSecret {
  readonly view: { readonly id: string };
  /** The plaintext. */
  readonly secret: string;
  /** Such as `key of ada`. */
  readonly what: string;
  /** Deletes it: no reader has it when its output is lost. Null where that would end what was there before. */
  readonly takeBack: (() => Promise<unknown>) | null;
}

/**
 * The one time that a secret is shown: alone on stdout, so that `KEY=$(lockport key create …)` works. Throws a
 * `CommandError` when it could not be shown, which has taken it back.
 */
export async function showSecret(
  terminal: Terminal,
  options: OutputOptions,
  { view, secret, what, takeBack }: ShownSecret,
): Promise<void> {
  if (options.json !== true) terminal.writeMessage(`This ${what} is shown once and cannot be read again:\n`);
  const text = options.json === true ? toJsonText(view) : `${secret}\n`;
  if (await terminal.deliverData(text)) return;
  if (takeBack === null) {
    throw new CommandError(
      "failure",
      `The ${what} was rotated but its new secret could not be shown: rotate it once more, ${view.id}, where the output can be written.`,
    );
  }
  try {
    await takeBack();
  } catch (cause) {
    const { kind, sentence } = toFailure(cause);
    throw new CommandError(
      kind,
      `The ${what} was made but could not be shown, and deleting it failed: ${sentence} Delete it by its id, ${view.id}.`,
    );
  }
  throw new CommandError(
    "failure",
    `The ${what} could not be shown and was deleted again: run the command once more where its output can be written.`,
  );
}

import { CommandError } from "#cli/screen/failure.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

export interface Confirmation {
  /** What is about to happen, said where no question can be asked. */
  readonly facts: string;
  readonly question: string;
  /** Such as `Nothing was changed`, without a stop. */
  readonly otherwise: string;
}

/** Asks on a terminal; elsewhere it takes `--yes`, which the caller has looked for. Throws a `CommandError` but for a yes. */
export async function confirm(
  terminal: Terminal,
  { facts, question, otherwise }: Confirmation,
): Promise<void> {
  if (!terminal.interactive) throw new CommandError("failure", `${facts} ${otherwise}: add --yes.`);
  const answer = await terminal.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("failure", `${otherwise}.`);
}

import type { Command } from "commander";
import { confirm } from "#cli/input/input.ts";
import { addCommand } from "#cli/input/options.ts";
import type { Installation } from "#cli/installation/client.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

export interface RemoveOptions extends InstallationOptions {
  readonly yes?: true;
}

/** The other word that people try. */
const OTHER_VERB: { readonly [verb: string]: string } = { remove: "delete", delete: "remove" };

/** A command that takes something away and asks before; it goes by `remove` and `delete` alike. */
export function addRemoveCommand(parent: Command, usage: string, description: string): Command {
  const command = addCommand(parent, usage, description).option("--yes", "do not ask");
  const other = OTHER_VERB[command.name()];
  return other === undefined ? command : command.alias(other);
}

/** What goes, in sentences, and the question about it. */
export interface Removal {
  readonly facts: string;
  readonly question: string;
}

/**
 * Asks on a terminal before something is taken away, and tells what it is; elsewhere a `CommandError` tells it and asks for
 * `--yes`. With `--yes` nothing is looked up.
 */
export async function confirmRemoval(
  terminal: Terminal,
  options: RemoveOptions,
  { origin }: Pick<Installation, "origin">,
  describe: () => Promise<Removal>,
): Promise<void> {
  if (options.yes === true) return;
  const { facts, question } = await describe();
  const told = origin === null ? facts : `On ${origin}: ${facts}`;
  await confirm(terminal, {
    facts: told,
    question: `${told} ${question}`,
    otherwise: "Nothing was changed",
  });
}

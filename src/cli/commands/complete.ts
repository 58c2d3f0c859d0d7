import type { Command } from "commander";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { configWith } from "#boot/settings/config.ts";
import { readCommandTree } from "#cli/help/command-tree.ts";
import {
  COMPLETION_SCRIPTS,
  formatCandidates,
  listCandidates,
  SHELLS,
  type Candidate,
  type NameSource,
  type Shell,
} from "#cli/help/completion.ts";
import { addExamples } from "#cli/help/examples.ts";
import { choiceArgument } from "#cli/input/choice.ts";
import { withinLimit } from "#kernel/timer.ts";
import { withLocal } from "#cli/installation/open.ts";
import { toPrintable } from "#kernel/printable.ts";
import { writeJson, type OutputOptions } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

export function addCommands(program: Command, terminal: Terminal): void {
  const command = program
    .command("complete")
    .description("print a script that completes commands in a shell")
    .addArgument(choiceArgument("<shell>", "the shell", SHELLS))
    .option("--json", "print JSON")
    .action((shell: Shell, options: OutputOptions) => {
      const script = COMPLETION_SCRIPTS[shell];
      if (options.json === true) writeJson(terminal, { shell, script });
      else terminal.writeData(script);
    });
  addExamples(command, [
    'echo "source <(lockport complete bash)" >> ~/.bashrc',
    'echo "source <(lockport complete zsh)" >> ~/.zshrc',
    "lockport complete fish > ~/.config/fish/completions/lockport.fish",
  ]);
}

/** Answers the scripts' `complete -- WORD...`. */
export async function completeLine(
  program: Command,
  typed: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const dataDir = typed[typed.lastIndexOf("--data-dir") + 1];
  const options = typed.includes("--data-dir") && dataDir !== undefined ? { dataDir } : {};
  // A server's names would take a key and a round trip at each key press.
  const isRemote =
    typed.includes("--url") || (!typed.includes("--data-dir") && terminal.env["LOCKPORT_URL"] !== undefined);
  const found = await listCandidates(readCommandTree(program), typed, async (source) =>
    isRemote ? [] : await readNames(terminal, options, source),
  );
  terminal.writeData(formatCandidates(found));
}

/** A person waits at the prompt, for the start of this process as well: names that PostgreSQL does not give in time are not offered. */
const NAMES_MS_MAX = 300;

/** No shell reads them as anything but themselves; another name is left out. */
const PLAIN_NAME = /^[\w%+,./:@-]+$/;

/** Names in the data folder; none when there is no installation or it cannot be read. */
async function readNames(
  terminal: Terminal,
  options: { readonly dataDir?: string },
  source: NameSource,
): Promise<readonly Candidate[]> {
  const page = { limit: PAGE_LIMIT_MAX, offset: 0 };
  try {
    const { database } = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
    const reading = withLocal(
      terminal,
      options,
      async ({ catalog, keys, limits, principals, relayTokens }) => {
        const read: { readonly [each in NameSource]: () => Promise<readonly Candidate[]> } = {
          alias: async () =>
            (await catalog.snapshot()).models.map(({ model, provider }) => [model.alias, provider.name]),
          provider: async () =>
            (await catalog.snapshot()).providers.map(({ name, baseUrl }) => [name, baseUrl]),
          principal: async () => (await principals.list(page)).rows.map(({ name, role }) => [name, role]),
          key: async () => (await keys.list({}, page)).rows.map(toOwned),
          limit: async () =>
            (await limits.listPlain()).slice(0, page.limit).map(({ name, measure }) => [name, measure]),
          relay_token: async () => (await relayTokens.list({}, page)).rows.map(toOwned),
        };
        const candidates = await read[source]();
        return candidates
          .filter(([name]) => PLAIN_NAME.test(name))
          .map(([name, text]): Candidate => [name, toPrintable(text)]);
      },
    );
    return await (database.kind === "postgres" ? withinLimit(reading, NAMES_MS_MAX, () => []) : reading);
  } catch {
    return [];
  }
}

function toOwned({ id, principalName }: { readonly id: string; readonly principalName: string }): Candidate {
  return [id, principalName];
}

import { findCredential } from "#catalog/provider.ts";
import type { MatchKey } from "#interchange/litellm-providers.ts";
import type { Installation } from "#cli/installation/client.ts";
import type { Command } from "commander";
import { parseLitellmConfig } from "#interchange/litellm-config.ts";
import { planImport } from "#interchange/litellm-plan.ts";
import { toCounted } from "#kernel/text.ts";
import { applyCatalog, refuseFile, writeChanges, writeEnd, writeNotes } from "./changes.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { readTextInput } from "#cli/input/input.ts";
import { writeJson } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface LitellmOptions extends InstallationOptions {
  readonly dryRun?: true;
  readonly strict?: true;
  readonly takeNext?: true;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const importing = program.command("import").description("bring a catalog over from another program");

  const litellm = addCommand(
    importing,
    "litellm-config <file>",
    "add the providers and models of a LiteLLM config.yaml",
  )
    .option("--dry-run", "show what would be added, and change nothing")
    .option("--take-next", "give a name whose first deployment cannot be carried over to its next")
    .option("--strict", "add nothing when a key is missing or a model cannot be carried over")
    .action(async (path: string, options: LitellmOptions) => {
      const parsed = parseLitellmConfig(await readTextInput(terminal, path), terminal.env);
      if (parsed.kind === "refused") throw refuseFile(path, parsed.problems);
      await withInstallation(terminal, options, async (installation) => {
        const { api } = installation;
        const current = await withProgress(terminal, "comparing", () => api.call("GET /admin/v1/catalog"));
        const { file, notes, keySources, takeovers } = planImport(
          parsed.config,
          current,
          await openKeyMatch(installation),
        );
        const gapCount = notes.filter(({ isGap }) => isGap).length;
        const needsWord = takeovers.length > 0 && options.takeNext !== true;
        const isStrict = options.strict === true && gapCount > 0;
        const isDryRun = isStrict || needsWord || options.dryRun === true;
        const outcome = await applyCatalog(terminal, api, { file, isDryRun, option: "add_only" });
        if (options.json === true) writeJson(terminal, { ...outcome, notes });
        else {
          writeChanges(terminal, outcome.changes, { keys: keySources, trustRoots: new Map() });
          writeNotes(terminal, notes);
        }
        if (needsWord && options.dryRun !== true) {
          throw new CommandError(
            "failure",
            `Nothing was changed. ${takeovers.join(" ")} To accept that: --take-next`,
          );
        }
        if (isStrict) {
          throw new CommandError(
            "failure",
            `Nothing was changed: ${toCounted(gapCount, "line")} cannot be carried over as --strict asks.`,
          );
        }
        if (options.json === true) return;
        writeEnd(terminal, outcome);
        if (needsWord) {
          const count = takeovers.length === 1 ? "1 name goes" : `${takeovers.length} names go`;
          terminal.writeMessage(
            `${count} to another deployment than the first: to make that, add --take-next\n`,
          );
        }
      });
    });
  litellm.addHelpText(
    "after",
    `
os.environ/NAME is read from the environment of this command (- reads FILE from stdin). What cannot
be carried over is listed with its line. It only adds: what is there already stays as it is, so that
a second run changes nothing but fills in API keys that were missing.`,
  );
  addExamples(litellm, [
    "lockport import litellm-config config.yaml --dry-run",
    "lockport import litellm-config config.yaml --strict",
    "lockport import litellm-config config.yaml --url https://models.example.org",
  ]);
}

/** Compares keys with what the providers of this machine have stored; a server tells no client. */
async function openKeyMatch({ local }: Installation): Promise<MatchKey> {
  if (local === null) return () => null;
  const { secrets, catalog } = local;
  const current = await catalog.snapshot();
  return (name, apiKey) => {
    const provider = current.findProvider(name);
    const stored = provider === null ? null : findCredential(secrets, provider);
    return stored === null ? null : stored === apiKey;
  };
}

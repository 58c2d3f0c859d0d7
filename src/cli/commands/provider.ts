import { Option, type Command } from "commander";
import { findBaseUrlWarning } from "#catalog/upstream-url.ts";
import { parseProviderDraft, parseProviderPatch } from "#catalog/provider-draft.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { addDiscoverCommand } from "./discover.ts";
import { addRemoveCommand, confirmRemoval, type RemoveOptions } from "./removal.ts";
import { describeRemoval } from "./removal-facts.ts";
import { checkTyped, CommandError } from "#cli/screen/failure.ts";
import { writeDone, writeList } from "#cli/screen/output.ts";
import {
  addProviderOptions,
  readProviderKey,
  toProviderBody,
  toSetCommand,
  type ProviderOptions,
} from "#cli/input/provider-options.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { given } from "#cli/installation/client.ts";
import { listProviders } from "#cli/installation/lists.ts";

interface AddOptions extends ProviderOptions {
  readonly baseUrl: string;
}

interface SetOptions extends ProviderOptions {
  /** False with `--no-ca`. */
  readonly ca?: boolean;
  /** False with `--no-endpoints`. */
  readonly endpoints?: boolean;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const provider = program.command("provider").description("upstream providers");

  const list = addCommand(provider, "list", "list providers").action((options: InstallationOptions) =>
    withInstallation(terminal, options, async ({ api }) =>
      writeList(terminal, options, {
        views: await listProviders(api),
        columns: ["name", "base_url", "enabled", "has_credential", "max_concurrency"],
        figures: ["max_concurrency"],
      }),
    ),
  );
  addExamples(list, ["lockport provider list", "lockport provider list --url https://models.example.org"]);

  const add = addProviderOptions(
    addCommand(provider, "add <name>", "register a provider; on a terminal, asks for its API key")
      .requiredOption("--base-url <url>", "full URL including /v1")
      .addOption(new Option("--no-api-key", "the provider needs no API key").conflicts("apiKeyFile")),
    { isNew: true },
  ).action(async (name: string, options: AddOptions) => {
    const typed = { ...(await toProviderBody(options)), name, base_url: options.baseUrl };
    const { ca_pem: _, ...checked } = typed;
    checkTyped(() => parseProviderDraft(checked));
    const apiKey = await readProviderKey(terminal, options, { ask: true });
    await withInstallation(terminal, options, async ({ api }) => {
      const body = given({ ...typed, api_key: apiKey });
      const view = await api.call("POST /admin/v1/providers", { body });
      writeDone(terminal, options, { view, sentence: `added provider ${view.name}` });
      if (options.json === true) return;
      writeUrlWarning(terminal, view, options);
      if (options.apiKey === false || view.has_credential) return;
      const command = toSetCommand(name, ["--api-key-file", "PATH"], options);
      terminal.writeMessage(`Requests to it go without a credential. To set one: ${command}\n`);
    });
  });
  addExamples(add, [
    "lockport provider add openai --base-url https://api.openai.com/v1",
    "lockport provider add openai --base-url https://api.openai.com/v1 --api-key-file key.txt",
    "pass show openai | lockport provider add openai --base-url https://api.openai.com/v1 --api-key-file -",
    "lockport provider add anthropic --base-url https://api.anthropic.com/v1 --auth-style x-api-key",
    "lockport provider add vllm --base-url http://10.0.0.7:8000/v1 --no-api-key --max-concurrency 8",
  ]);

  const set = addProviderOptions(
    addCommand(provider, "set <name>", "change what is said here, and leave the rest")
      .option("--base-url <url>", "full URL including /v1")
      .addOption(new Option("--no-api-key", "remove the stored API key").conflicts("apiKeyFile"))
      .addOption(new Option("--no-ca", "trust the system's roots again").conflicts("caFile"))
      .addOption(new Option("--no-endpoints", "no URL of its own for any endpoint").conflicts("endpoint")),
    { isNew: false },
  ).action(async (name: string, options: SetOptions) => {
    const patch = await toPatch(terminal, options);
    if (Object.keys(patch).length === 0) {
      throw new CommandError("usage", "Say what to change: lockport provider set --help lists what can be.");
    }
    await withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("PATCH /admin/v1/providers/:name", { params: { name }, body: patch });
      writeDone(terminal, options, { view, sentence: `changed provider ${name}` });
      if (options.baseUrl !== undefined && options.json !== true) writeUrlWarning(terminal, view, options);
    });
  });
  addExamples(set, [
    "lockport provider set openai --api-key-file -",
    "lockport provider set vllm --base-url http://10.0.0.8:8000/v1 --max-concurrency 0",
  ]);

  for (const enabled of [true, false]) {
    const verb = enabled ? "enable" : "disable";
    const effect = enabled ? "serve its models again" : "its models stop resolving and leave the public list";
    const command = addCommand(provider, `${verb} <name>`, effect).action(
      (name: string, options: InstallationOptions) =>
        withInstallation(terminal, options, async ({ api }) => {
          const view = await api.call("PATCH /admin/v1/providers/:name", {
            params: { name },
            body: { enabled },
          });
          writeDone(terminal, options, { view, sentence: `${verb}d provider ${name}` });
        }),
    );
    addExamples(command, [`lockport provider ${verb} openai`]);
  }

  const remove = addRemoveCommand(
    provider,
    "remove <name>",
    "remove a provider and the models bound to it",
  ).action((name: string, options: RemoveOptions) =>
    withInstallation(terminal, options, async (installation) => {
      const { api } = installation;
      await confirmRemoval(terminal, options, installation, () =>
        describeRemoval(installation, "DELETE /admin/v1/providers/:name", { params: { name } }),
      );
      const view = await api.call("DELETE /admin/v1/providers/:name", { params: { name } });
      writeDone(terminal, options, { view, sentence: `removed provider ${name}` });
    }),
  );
  addExamples(remove, ["lockport provider remove vllm", "lockport provider remove vllm --yes"]);

  addDiscoverCommand(provider, terminal);
}

async function toPatch(terminal: Terminal, options: SetOptions) {
  const typed = await toProviderBody(options);
  const { ca_pem: _, ...checked } = typed;
  checkTyped(() => parseProviderPatch(checked));
  return given({
    ...typed,
    api_key: await readProviderKey(terminal, options, { ask: false }),
    remove_credential: options.apiKey === false ? true : undefined,
    ...(options.ca === false && { ca_pem: "" }),
    ...(options.endpoints === false && { endpoints: {} }),
  });
}

interface ProviderView {
  readonly name: string;
  readonly base_url: string;
}

function writeUrlWarning(terminal: Terminal, view: ProviderView, options: InstallationOptions): void {
  const warning = findBaseUrlWarning(view.base_url);
  if (warning === null) return;
  const command = toSetCommand(view.name, ["--base-url", warning.suggestion], options);
  terminal.writeMessage(`Is its base URL right? In it ${warning.text}. To change it: ${command}\n`);
}

import { Option, type Command } from "commander";
import { CAPABILITIES } from "#catalog/capability.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { parseAlias, type ModelDraft } from "#catalog/model-draft.ts";
import { parseDraftRoute } from "#catalog/model-route.ts";
import { parsePricing } from "#catalog/price-plan.ts";
import { UNITS } from "#kernel/units.ts";
import { choiceOption, choicesOption, pairsOption } from "#cli/input/choice.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { checkTyped } from "#cli/screen/failure.ts";
import { collectNumbers } from "#cli/input/input.ts";
import { writeDone, writeFields } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { given } from "#cli/installation/client.ts";
import { addModelListCommands } from "./model-list.ts";
import { addModelSetCommand } from "./model-set.ts";
import { addRemoveCommand, confirmRemoval, type RemoveOptions } from "./removal.ts";
import { describeRemoval } from "./removal-facts.ts";
import { writeUnlisted } from "./unlisted.ts";

interface AliasOptions extends InstallationOptions {
  readonly price?: { readonly [unit: string]: number };
  readonly hidden?: true;
}

interface AddOptions extends AliasOptions {
  readonly provider?: string;
  readonly upstreamName?: string;
  readonly target?: string;
  readonly capability?: readonly string[];
}

interface ResolveOptions extends InstallationOptions {
  readonly endpoint: string;
  readonly stream?: true;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const model = program.command("model").description("the catalog of public aliases");

  addModelListCommands(model, terminal);

  const add = addNameOptions(
    addCommand(
      model,
      "add [alias]",
      "bind an alias to a provider's model; without an alias it serves under its upstream name",
    )
      .option("--provider <name>", "the provider that serves it")
      .option("--upstream-name <name>", "what the provider calls it")
      .addOption(
        new Option(
          "--target <alias>",
          "the model that this alias is a name for, in place of the two above",
        ).conflicts(["provider", "upstreamName", "capability"]),
      )
      .addOption(
        choicesOption("--capability <capability>", "default: chat and chat_stream; repeatable", CAPABILITIES),
      ),
  ).action((alias: string | undefined, options: AddOptions) => {
    const { provider, upstreamName, target, capability: capabilities, price: pricing, hidden } = options;
    checkDraft({ alias, provider, upstreamName, target, capabilities, pricing });
    return withInstallation(terminal, options, async ({ api }) => {
      const binding = { provider, upstream_name: upstreamName, capabilities };
      const view = await api.call("POST /admin/v1/models", {
        body: given({ alias, ...binding, target, pricing, hidden }),
      });
      writeDone(terminal, options, { view, sentence: `added model ${view.alias}` });
      if (target === undefined && options.json !== true)
        await writeUnlisted(terminal, api, { model: view, options });
    });
  });
  addExamples(add, [
    "lockport model add fast --provider openai --upstream-name gpt-5-mini",
    "lockport model add embed --provider vllm --upstream-name bge-m3 --capability embeddings",
    "lockport model add big --provider openai --upstream-name gpt-5 --price input_tokens=1.25 --price output_tokens=10",
  ]);

  const alias = addNameOptions(
    addCommand(model, "alias <name> <target>", "make a name for another model"),
  ).action((name: string, target: string, options: AliasOptions) => {
    const draft = { alias: name, target, pricing: options.price, hidden: options.hidden };
    checkDraft(draft);
    return withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("POST /admin/v1/models", { body: given(draft) });
      writeDone(terminal, options, { view, sentence: `made ${name} a name for ${target}` });
    });
  });
  addExamples(alias, ["lockport model alias default fast"]);

  addModelSetCommand(model, terminal);

  for (const hidden of [true, false]) {
    const verb = hidden ? "hide" : "show";
    const effect = hidden
      ? "keep it off the public list; it still serves"
      : "put it on the public list again";
    const command = addCommand(model, `${verb} <alias>`, effect).action(
      (name: string, options: InstallationOptions) =>
        withInstallation(terminal, options, async ({ api }) => {
          const view = await api.call("PATCH /admin/v1/models/:alias", {
            params: { alias: name },
            body: { hidden },
          });
          writeDone(terminal, options, { view, sentence: `${name} is ${hidden ? "hidden" : "shown"}` });
        }),
    );
    addExamples(command, [`lockport model ${verb} fast`]);
  }

  const rename = addCommand(
    model,
    "rename <alias> <new-alias>",
    "give it another name; prices follow, and names for it keep pointing at it",
  ).action((from: string, to: string, options: InstallationOptions) => {
    checkTyped(() => parseAlias(to));
    return withInstallation(terminal, options, async ({ api }) => {
      const view = await api.call("PATCH /admin/v1/models/:alias", {
        params: { alias: from },
        body: { alias: to },
      });
      writeDone(terminal, options, { view, sentence: `renamed ${from} to ${to}` });
    });
  });
  addExamples(rename, ["lockport model rename fast small"]);

  const remove = addRemoveCommand(model, "remove <alias>", "remove a model; its usage stays").action(
    (name: string, options: RemoveOptions) =>
      withInstallation(terminal, options, async (installation) => {
        await confirmRemoval(terminal, options, installation, () =>
          describeRemoval(installation, "DELETE /admin/v1/models/:alias", {
            params: { alias: name },
            used: { model: name },
          }),
        );
        const view = await installation.api.call("DELETE /admin/v1/models/:alias", {
          params: { alias: name },
        });
        writeDone(terminal, options, { view, sentence: `removed model ${name}` });
      }),
  );
  addExamples(remove, ["lockport model remove fast", "lockport model remove fast --yes"]);

  const resolve = addCommand(model, "resolve <alias>", "show what a request for this alias would call")
    .addOption(choiceOption("--endpoint <endpoint>", "that is called", ENDPOINTS).default("chat"))
    .option("--stream", "as for a streamed request")
    .action((name: string, options: ResolveOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const query = { model: name, endpoint: options.endpoint, stream: String(options.stream === true) };
        const view = await api.call("GET /admin/v1/resolve", { query });
        writeFields(terminal, options, view);
      }),
    );
  addExamples(resolve, ["lockport model resolve fast", "lockport model resolve embed --endpoint embeddings"]);
}

function checkDraft(draft: ModelDraft): void {
  checkTyped(() => [parseDraftRoute(draft), parsePricing(draft.pricing ?? {})]);
}

/** The options of a binding and of a name for another model alike. */
function addNameOptions(command: Command): Command {
  return command
    .addOption(
      pairsOption({
        flags: "--price <unit=price>",
        description: `price per million of ${UNITS.join(", ")}, such as input_tokens=2.5; repeatable`,
        keys: UNITS,
        collect: collectNumbers,
      }),
    )
    .option("--hidden", "keep it off the public list");
}

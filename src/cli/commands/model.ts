import type { Command } from "commander";
import { CAPABILITIES } from "#catalog/capability.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { parseAlias, type ModelDraft } from "#catalog/model-draft.ts";
import { parseDraftRoute } from "#catalog/model-route.ts";
import { parsePricing } from "#catalog/price-plan.ts";
import { UNITS } from "#kernel/units.ts";
import { typed, type Flag } from "#cli/routes/flags.ts";
import { addPresets, type Made, type RouteCommand, type Said } from "#cli/routes/route-command.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { addModelListCommands } from "#cli/commands/model-list.ts";
import { addModelSetCommand } from "#cli/commands/model-set.ts";
import { toPrintable } from "#kernel/printable.ts";
import { withinLimit } from "#kernel/timer.ts";
import { formatCommand } from "#cli/screen/help.ts";
import { given, type Client } from "#cli/installation/client.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import { suggest } from "#cli/screen/failure.ts";

export function addCommands(program: Command, terminal: Terminal, made: Made): void {
  const model = program.command("model").description("the catalog of public aliases");

  addModelListCommands(model, terminal);

  addPresets(program, { ...made, terminal, presets: ADDING });
  addModelSetCommand(model, terminal);
  addPresets(program, { ...made, terminal, presets: CHANGING });
}

/** The flags of a binding and of a name for another model alike. */
const NAME_FLAGS: readonly Flag[] = [
  {
    flags: "--price <unit=price>",
    text: `price per million of ${UNITS.join(", ")}, such as input_tokens=2.5; repeatable`,
    field: "pricing",
    pairs: { keys: UNITS, areNumbers: true },
  },
  { flags: "--hidden", text: "keep it off the public list", field: "hidden", value: true },
];

function checkDraft({ fields }: Said): void {
  const { upstream_name: upstreamName, ...others } = fields;
  const draft: ModelDraft = typed({ ...others, upstreamName });
  parseDraftRoute(draft);
  parsePricing(draft.pricing ?? {});
}

const ADDING: readonly RouteCommand[] = [
  {
    route: "POST /admin/v1/models",
    usage: "model add [alias]",
    about: "bind an alias to a provider's model; without an alias it serves under its upstream name",
    flags: [
      { flags: "--provider <name>", text: "the provider that serves it", field: "provider" },
      { flags: "--upstream-name <name>", text: "what the provider calls it", field: "upstream_name" },
      {
        flags: "--target <alias>",
        text: "the model that this alias is a name for, in place of the two above",
        field: "target",
        conflicts: ["provider", "upstreamName", "capability"],
      },
      {
        flags: "--capability <capability>",
        text: "default: chat and chat_stream; repeatable",
        field: "capabilities",
        choices: CAPABILITIES,
        isList: true,
      },
      ...NAME_FLAGS,
    ],
    toFields: ({ alias }) => (alias === undefined ? {} : { alias }),
    check: checkDraft,
    done: ({ view }) => `added model ${String(view["alias"])}`,
    after: async ({ terminal, installation, options, fields, view }) => {
      if (fields["target"] === undefined)
        await writeUnlisted(terminal, installation.api, { model: typed(view), options });
    },
    examples: [
      "lockport model add fast --provider openai --upstream-name gpt-5-mini",
      "lockport model add embed --provider vllm --upstream-name bge-m3 --capability embeddings",
      "lockport model add big --provider openai --upstream-name gpt-5 --price input_tokens=1.25 --price output_tokens=10",
    ],
  },
  {
    route: "POST /admin/v1/models",
    usage: "model alias <name> <target>",
    about: "make a name for another model",
    flags: NAME_FLAGS,
    toFields: ({ name, target }) => ({ alias: name, target }),
    check: checkDraft,
    done: "made {name} a name for {target}",
    examples: ["lockport model alias default fast"],
  },
];

const CHANGING: readonly RouteCommand[] = [
  ...[true, false].map((hidden): RouteCommand => {
    const verb = hidden ? "hide" : "show";
    return {
      route: "PATCH /admin/v1/models/:alias",
      usage: `model ${verb} <alias>`,
      about: hidden ? "keep it off the public list; it still serves" : "put it on the public list again",
      flags: [],
      toFields: () => ({ hidden }),
      done: `{alias} is ${hidden ? "hidden" : "shown"}`,
      examples: [`lockport model ${verb} fast`],
    };
  }),
  {
    route: "PATCH /admin/v1/models/:alias",
    usage: "model rename <alias> <new-alias>",
    about: "give it another name; prices follow, and names for it keep pointing at it",
    flags: [],
    toFields: (named) => ({ alias: named["new-alias"] }),
    check: ({ fields }) => parseAlias(String(fields["alias"])),
    done: ({ named }) => `renamed ${named["alias"]} to ${named["new-alias"]}`,
    examples: ["lockport model rename fast small"],
  },
  {
    route: "DELETE /admin/v1/models/:alias",
    usage: "model remove <alias>",
    about: "remove a model; its usage stays",
    used: "model",
    done: "removed model {alias}",
    examples: ["lockport model remove fast", "lockport model remove fast --yes"],
  },
  {
    route: "GET /admin/v1/resolve",
    usage: "model resolve <alias>",
    about: "show what a request for this alias would call",
    flags: [
      {
        flags: "--endpoint <endpoint>",
        text: "that is called",
        field: "endpoint",
        choices: ENDPOINTS,
        standard: "chat",
      },
      { flags: "--stream", text: "as for a streamed request", field: "stream", value: "true" },
    ],
    defaults: { stream: "false" },
    toFields: ({ alias }) => ({ model: alias }),
    examples: ["lockport model resolve fast", "lockport model resolve embed --endpoint embeddings"],
  },
];

/** How long a command that is done waits for the provider's list of models. */
const LIST_MS_MAX = 2_000;

interface Bound {
  readonly provider: string;
  readonly upstream_name: string;
}

/**
 * Says on stderr when the provider does not list this upstream model: a misspelled one fails at its first request. Says nothing
 * where the provider has no list, or does not answer within `LIST_MS_MAX`.
 */
async function writeUnlisted(
  terminal: Terminal,
  api: Client,
  { model, options }: { readonly model: Bound; readonly options: InstallationOptions },
): Promise<void> {
  const { provider, upstream_name: name } = model;
  const asked = api.call("GET /admin/v1/providers/:name/discover", { params: { name: provider }, query: {} });
  const found = await withinLimit(
    asked.catch(() => null),
    LIST_MS_MAX,
    () => null,
  );
  const names = found?.models.map((each) => each.upstream_name) ?? [];
  if (names.length === 0 || names.includes(name)) return;
  const where = options.url === undefined ? [] : ["--url", options.url];
  const command = formatCommand(
    ["provider", "discover", provider, ...where],
    given({ dataDir: options.dataDir }),
  );
  terminal.writeMessage(
    `${provider} does not list ${toPrintable(name)}: requests to it may fail. To see what it lists: ${command}${suggest(name, names)}\n`,
  );
}

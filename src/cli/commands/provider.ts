import type { Command } from "commander";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { parseProviderDraft, parseProviderPatch } from "#catalog/provider.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { findBaseUrlWarning } from "#catalog/upstream-url.ts";
import type { Field } from "#kernel/fields.ts";
import { toCounted } from "#kernel/text.ts";
import { formatCommand } from "#cli/screen/typed-command.ts";
import { readCaFile, readNumber, readSecretInput } from "#cli/input/input.ts";
import type { Json } from "#cli/installation/client.ts";
import { toText, typed, type Flag } from "#cli/routes/flags.ts";
import { addPresets, type Done, type Made, type RouteCommand, type Said } from "#cli/routes/route-command.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { addDiscoverCommand } from "./discover.ts";

export function addCommands(program: Command, terminal: Terminal, made: Made): void {
  const provider = program.command("provider").description("upstream providers");
  addPresets(program, { ...made, terminal, presets: PROVIDERS });
  addDiscoverCommand(provider, terminal);
}

/** Files and the API key are read by `readFiles`, and sent as fields of other names. */
const API_KEY_FILE: Flag = {
  flags: "--api-key-file <path>",
  text: "read the provider's API key from a file; - is stdin or a prompt",
  field: "api_key_file",
};
const CA_FILE = "ca_file";

/** The flags of a field: of a switch, what can turn it from where it is, which is its default while its resource is new. */
function toFieldFlags(field: Field, { isNew }: { readonly isNew: boolean }): readonly Flag[] {
  const { wire } = field;
  const word = wire.replaceAll("_", "-");
  switch (field.kind) {
    case "number":
    case "count":
      return [{ flags: `--${word} <${field.unit}>`, text: field.help, field: wire, parse: readNumber }];
    case "switch":
      return [
        ...(isNew && field.initial
          ? []
          : [{ flags: `--${word}`, text: field.help, field: wire, value: true }]),
        ...(isNew && !field.initial
          ? []
          : [{ flags: `--no-${word}`, text: field.helpOff, field: wire, value: false }]),
      ];
    case "choice":
      return [{ flags: `--${word} <${field.unit}>`, text: field.help, field: wire, choices: field.words }];
    default:
      return [{ flags: `--${field.flag} <path>`, text: field.help, field: CA_FILE }];
  }
}

function toSettingFlags(how: { readonly isNew: boolean }): readonly Flag[] {
  return [
    API_KEY_FILE,
    ...Object.values(PROVIDER_SETTINGS).flatMap((field) => toFieldFlags(field, how)),
    {
      flags: "--endpoint <endpoint=url>",
      text: "URL of its own for an endpoint, named by its capability; repeatable",
      field: "endpoints",
      pairs: { keys: ENDPOINTS },
    },
  ];
}

const BASE_URL: Flag = { flags: "--base-url <url>", text: "full URL including /v1", field: "base_url" };

const NO_API_KEY: Flag = {
  flags: "--no-api-key",
  text: "remove the stored API key",
  field: "remove_credential",
  value: true,
  conflicts: ["apiKeyFile"],
};

const PROVIDERS: readonly RouteCommand[] = [
  {
    route: "GET /admin/v1/providers",
    usage: "provider list",
    about: "list providers",
    flags: [],
    whole: { absent: {} },
    table: {
      rows: ["providers"],
      columns: [
        "name",
        "base_url",
        "enabled",
        "has_credential",
        "max_concurrency",
        "credential_set_at? as key set",
      ],
      spare: ["key set"],
    },
    examples: ["lockport provider list", "lockport provider list --url https://models.example.org"],
  },
  {
    route: "POST /admin/v1/providers",
    usage: "provider add <name>",
    about: "register a provider; on a terminal, asks for its API key",
    flags: [
      { ...BASE_URL, isRequired: true },
      {
        flags: "--no-api-key",
        text: "the provider needs no API key",
        field: "is_keyless",
        value: true,
        conflicts: ["apiKeyFile"],
      },
      ...toSettingFlags({ isNew: true }),
    ],
    toFields: ({ name }) => ({ name }),
    check: ({ fields }) => parseProviderDraft(typed(fields)),
    prepare: (terminal, said) => readFiles(terminal, said, OPTIONAL_API_KEY_QUESTION),
    done: "added provider {name}",
    after(done) {
      writeUrlWarning(done);
      const { terminal, options, view, typed: said } = done;
      if (said["is_keyless"] === true || view["has_credential"] === true) return;
      const command = formatCommand(
        ["provider", "set", String(view["name"]), "--api-key-file", "PATH"],
        options,
      );
      terminal.writeMessage(`Requests to it go without a credential. To set one: ${command}\n`);
    },
    examples: [
      "lockport provider add openai --base-url https://api.openai.com/v1",
      "lockport provider add openai --base-url https://api.openai.com/v1 --api-key-file key.txt",
      "pass show openai | lockport provider add openai --base-url https://api.openai.com/v1 --api-key-file -",
      "lockport provider add anthropic --base-url https://api.anthropic.com/v1 --auth-style x-api-key",
      "lockport provider add vllm --base-url http://10.0.0.7:8000/v1 --no-api-key --max-concurrency 8",
    ],
  },
  {
    route: "PATCH /admin/v1/providers/:name",
    usage: "provider set <name>",
    about: "change what is said here, and leave the rest",
    flags: [
      BASE_URL,
      NO_API_KEY,
      {
        flags: "--no-ca",
        text: "trust the system's roots again",
        field: "ca_pem",
        value: "",
        conflicts: ["caFile"],
      },
      {
        flags: "--no-endpoints",
        text: "no URL of its own for any endpoint",
        field: "endpoints",
        value: {},
        conflicts: ["endpoint"],
      },
      ...toSettingFlags({ isNew: false }),
    ],
    check: ({ fields }) => parseProviderPatch(typed(fields)),
    prepare: (terminal, said) => readFiles(terminal, said, null),
    done: "changed provider {name}",
    after(done) {
      if (done.typed["base_url"] !== undefined) writeUrlWarning(done);
    },
    examples: [
      "lockport provider set openai --api-key-file -",
      "lockport provider set vllm --base-url http://10.0.0.8:8000/v1 --max-concurrency 0",
    ],
  },
  {
    route: "POST /admin/v1/providers/:name/test",
    usage: "provider test <name>",
    about: "ask it for its models as it is, or as it would be with what is said here; changes nothing",
    flags: [
      BASE_URL,
      { ...NO_API_KEY, text: "without the stored API key" },
      ...toSettingFlags({ isNew: false }),
    ],
    check: ({ fields }) => parseProviderPatch(typed(fields)),
    prepare: (terminal, said) => readFiles(terminal, said, null),
    done: ({ view, named }) => describeTest(view, named["name"] ?? ""),
    examples: ["lockport provider test openai", "lockport provider test openai --api-key-file -"],
  },
  {
    route: "POST /admin/v1/providers/:name/restore-credential",
    usage: "provider restore-credential <name>",
    about: "take the API key back that was replaced within the last day",
    done: "provider {name} has its former API key again",
    help: "The one that it replaces is kept in its place for a day. provider show says until when one is kept.",
    examples: ["lockport provider restore-credential openai"],
  },
  ...[true, false].map((enabled): RouteCommand => {
    const verb = enabled ? "enable" : "disable";
    return {
      route: "PATCH /admin/v1/providers/:name",
      usage: `provider ${verb} <name>`,
      about: enabled ? "serve its models again" : "its models stop resolving and leave the public list",
      flags: [],
      toFields: () => ({ enabled }),
      done: `${verb}d provider {name}`,
      examples: [`lockport provider ${verb} openai`],
    };
  }),
  {
    route: "DELETE /admin/v1/providers/:name",
    usage: "provider remove <name>",
    about: "remove a provider and the models bound to it",
    done: "removed provider {name}",
    examples: ["lockport provider remove vllm", "lockport provider remove vllm --yes"],
  },
];

function describeTest({ models, credential_checked: isChecked }: Json, name: string): string {
  const count = Array.isArray(models) ? models.length : 0;
  const unchecked =
    isChecked === false
      ? " It lists them without a credential too: nothing tells whether this one holds."
      : "";
  return `${name} answers, and lists ${toCounted(count, "model")}; nothing was changed.${unchecked}`;
}

const API_KEY_QUESTION = "API key of the provider: ";
const OPTIONAL_API_KEY_QUESTION = "API key of the provider (empty for none): ";

/**
 * The fields with what their files hold. The API key comes from a file, from stdin or is asked for: never from the
 * arguments, which every user of the machine can list. `question` asks a person for one that was not given.
 */
async function readFiles(terminal: Terminal, { fields }: Said, question: string | null): Promise<Json> {
  const { api_key_file: keyFile, [CA_FILE]: caFile, is_keyless: isKeyless, ...others } = fields;
  const [keyPath, caPath] = [toText(keyFile), toText(caFile)];
  const readKey = async () => {
    if (keyPath !== undefined)
      return readSecretInput(terminal, { path: keyPath, question: API_KEY_QUESTION });
    if (question === null || isKeyless === true || !terminal.interactive) return undefined;
    return (await terminal.askHidden(question)).trim();
  };
  const ca = caPath === undefined ? {} : { ca_pem: await readCaFile(caPath) };
  const key = await readKey();
  return { ...others, ...ca, ...(key !== undefined && { api_key: key }) };
}

function writeUrlWarning({ terminal, view, options }: Done): void {
  const warning = findBaseUrlWarning(String(view["base_url"]));
  if (warning === null) return;
  const command = formatCommand(
    ["provider", "set", String(view["name"]), "--base-url", warning.suggestion],
    options,
  );
  terminal.writeMessage(`Is its base URL right? In it ${warning.text}. To change it: ${command}\n`);
}

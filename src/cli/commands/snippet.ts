import type { Made } from "#cli/routes/route-command.ts";
import { Argument, InvalidArgumentError, type Command } from "commander";
import { parseConfig } from "#boot/settings/config.ts";
import { ALIAS_LENGTH_MAX, codePointLength, hasControlCharacter } from "#kernel/text.ts";
import {
  MODEL_PLACEHOLDER,
  SECRET_VARIABLES,
  SNIPPET_USES,
  toUses,
  type SnippetClient,
  type SnippetUse,
} from "#snippets/client.ts";
import { CLIENTS, findClient } from "#snippets/clients.ts";
import { UNSUPPORTED, type Unsupported } from "#snippets/unsupported.ts";
import { suggest, CommandError } from "#cli/screen/failure.ts";
import { addExamples } from "#cli/screen/help.ts";
import { readOrigin, choiceOption } from "#cli/input/options.ts";
import { findOrigin, readServerUrl } from "#cli/installation/open.ts";
import { writeJson } from "#cli/screen/output.ts";
import { toTable } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

const SECRET_NAMES = { openai: "an API key", messages: "an API key", relay: "a relay token" } as const;
const CLIENT_IDS = CLIENTS.map(({ id }) => id);

interface SnippetOptions {
  readonly model?: string;
  readonly url?: string;
  readonly use?: SnippetUse;
  readonly json?: true;
}

export function addCommands(program: Command, terminal: Terminal, { name }: Made): void {
  if (name === "snippet") addSnippetCommand(program, terminal);
  else addOpenapiCommand(program, terminal);
}

/**
 * `lockport snippet [CLIENT]`: the text that makes a client use this server, or the list of clients. The text goes to
 * stdout and what to know about it to stderr. Opens no database and shows no secret.
 */
function addSnippetCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("snippet")
    .description("print what makes a client use this server")
    .addArgument(
      new Argument("[client]", "without it they are listed").choices(CLIENT_IDS).argParser(readClient),
    )
    .option("--model <alias>", "model to call", readModel)
    .option("--url <origin>", "address of this server as the client reaches it", readBase)
    .addOption(
      choiceOption("--use <use>", "what the snippet shows; default: the client's first", SNIPPET_USES),
    )
    .option("--json", "print JSON")
    .action((client: SnippetClient | undefined, options: SnippetOptions) => {
      if (client === undefined) writeClients(terminal, options);
      else writeSnippet(terminal, client, options);
    });
  addExamples(command, [
    "lockport snippet",
    "lockport snippet curl --model small",
    "lockport snippet openai-python --model small --use stream > example.py",
    "lockport snippet codex --model gpt-5",
    "lockport snippet claude-code-key --url https://models.example.org",
  ]);
}

function readClient(id: string): SnippetClient {
  return findClient(id) ?? refuse(describeUnknown(id));
}

function writeSnippet(terminal: Terminal, client: SnippetClient, options: SnippetOptions): void {
  const use = options.use ?? toUses(client)[0];
  const toSnippet =
    (use === undefined ? undefined : client.snippets[use]) ??
    refuse(`${client.name} has a snippet for ${toUses(client).join(" and ")} only.`);
  const origin =
    options.url ??
    readServerUrl(terminal.env) ??
    findOrigin(parseConfig(terminal.env)) ??
    refuse("PROXY_PORT is 0, so say where the server is: --url.");
  const text = toSnippet({ origin, model: options.model ?? null, secret: null });
  if (options.json === true) {
    writeJson(terminal, { ...toView(client), use, text });
    return;
  }
  terminal.writeData(text);
  const hints = [
    ...(client.install === null ? [] : [`Install it: ${client.install}`]),
    ...(client.file === null ? [] : [`The text goes into ${client.file}.`]),
    `${SECRET_VARIABLES[client.kind]} stands for ${SECRET_NAMES[client.kind]}.`,
    ...(text.includes(MODEL_PLACEHOLDER) ? [`${MODEL_PLACEHOLDER} stands for a model: --model.`] : []),
    ...client.notes,
  ];
  terminal.writeMessage(`\n${hints.map((hint) => `- ${hint}\n`).join("")}`);
}

function writeClients(terminal: Terminal, options: SnippetOptions): void {
  if (options.json === true) {
    writeJson(terminal, { clients: CLIENTS.map(toView), unsupported: UNSUPPORTED.map(toUnsupportedView) });
    return;
  }
  const rows = CLIENTS.map((client) => [client.id, client.name, toUses(client).join(","), client.language]);
  terminal.writeData(toTable(["CLIENT", "NAME", "USES", "LANGUAGE"], rows));
  terminal.writeMessage(`\nWhat cannot work with this server:\n`);
  for (const row of UNSUPPORTED) terminal.writeMessage(`- ${describeUnsupported(row)}\n`);
}

function describeUnknown(id: string): string {
  const unsupported = UNSUPPORTED.find((row) => row.id === id.toLowerCase());
  if (unsupported !== undefined) return describeUnsupported(unsupported);
  return `there is no snippet for this client: lockport snippet lists them.${suggest(id, CLIENT_IDS)}`;
}

function refuse(sentence: string): never {
  throw new CommandError("usage", sentence);
}

function describeUnsupported({ name, reason, instead }: Unsupported): string {
  return `${name}: ${reason}${instead === null ? "" : ` ${instead}`}`;
}

function toView(client: SnippetClient) {
  const { id, name, kind, language, file, install, notes } = client;
  const secret = SECRET_VARIABLES[kind];
  return { client: id, name, kind, language, uses: toUses(client), file, install, secret, notes };
}

function toUnsupportedView({ id, name, reason, instead }: Unsupported) {
  return { id, name, reason, instead };
}

/** Takes a client's base URL, with `/v1`, for the origin that it names. */
function readBase(text: string): string {
  return readOrigin(text.replace(/\/v1\/?$/, ""), "--url");
}

/** An upstream of the relay may call its models otherwise than an alias may be called. */
function readModel(text: string): string {
  if (text === "" || codePointLength(text) > ALIAS_LENGTH_MAX || hasControlCharacter(text)) {
    throw new InvalidArgumentError(`It must be a name of 1 to ${ALIAS_LENGTH_MAX} characters.`);
  }
  return text;
}

function addOpenapiCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("openapi")
    .description("print the OpenAPI 3.1 document of the interface")
    .option("--json", "as always: the document is JSON")
    .action(async () => {
      // Loaded here and not above: no other command has need of it.
      const { toOpenApiText } = await import("#boot/local-api.ts");
      terminal.writeData(toOpenApiText());
    });
  addExamples(command, ["lockport openapi > openapi.json"]);
}

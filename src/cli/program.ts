import { Command, CommanderError } from "commander";
import { formatInstant } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { INTERFACE_VERSION, PRODUCT_COMMIT, PRODUCT_VERSION } from "#kernel/version.ts";
import { refuseSecrets } from "#cli/input/argv.ts";
import { ChangesFound, EXIT, toFailure } from "#cli/screen/failure.ts";
import { addGroupExamples } from "#cli/help/examples.ts";
import { toHelpLine, COLUMNS_MAX, foldHelp, formatRootHelp, listOptions } from "#cli/help/help.ts";
import { addWaysOut } from "#cli/help/way-out.ts";
import { holdOptions, refuseBlankArguments, refuseLeadingOption } from "#cli/input/option-rules.ts";
import { createStyle, isColoured } from "#cli/screen/style.ts";
import { writeJson } from "#cli/screen/output.ts";
import { toPrintableMessage } from "#cli/screen/printable.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

type AddCommands = (program: Command, terminal: Terminal) => void;

interface CommandEntry {
  /** What the program's help lists it under. */
  readonly group: string;
  readonly name: string;
  /** A command line loads its own command alone: all of them take 25 ms and 13 MB, which a server would keep. */
  readonly load: () => Promise<AddCommands>;
}

/** Every command, in the order and under the words of the program's help. A new one is a line here. */
const COMMANDS: readonly CommandEntry[] = [
  {
    group: "Server",
    name: "serve",
    load: async () => (await import("#cli/commands/serve.ts")).addServeCommand,
  },
  {
    group: "Server",
    name: "admin",
    load: async () => (await import("#cli/commands/admin.ts")).addAdminCommands,
  },
  {
    group: "Server",
    name: "health",
    load: async () => (await import("#cli/commands/health.ts")).addHealthCommand,
  },
  {
    group: "Catalog",
    name: "provider",
    load: async () => (await import("#cli/commands/provider.ts")).addProviderCommands,
  },
  {
    group: "Catalog",
    name: "model",
    load: async () => (await import("#cli/commands/model.ts")).addModelCommands,
  },
  {
    group: "Catalog",
    name: "pricing",
    load: async () => (await import("#cli/commands/pricing.ts")).addPricingCommands,
  },
  {
    group: "Catalog",
    name: "import",
    load: async () => (await import("#cli/commands/import.ts")).addImportCommands,
  },
  {
    group: "Catalog",
    name: "export",
    load: async () => (await import("#cli/commands/export.ts")).addExportCommand,
  },
  {
    group: "Catalog",
    name: "apply",
    load: async () => (await import("#cli/commands/apply.ts")).addApplyCommand,
  },
  {
    group: "People",
    name: "principal",
    load: async () => (await import("#cli/commands/principal.ts")).addPrincipalCommands,
  },
  { group: "People", name: "key", load: async () => (await import("#cli/commands/key.ts")).addKeyCommands },
  {
    group: "People",
    name: "relay-token",
    load: async () => (await import("#cli/commands/relay-token.ts")).addRelayTokenCommands,
  },
  {
    group: "People",
    name: "limit",
    load: async () => (await import("#cli/commands/limit.ts")).addLimitCommands,
  },
  {
    group: "Usage",
    name: "usage",
    load: async () => (await import("#cli/commands/usage.ts")).addUsageCommand,
  },
  {
    group: "Usage",
    name: "requests",
    load: async () => (await import("#cli/commands/requests.ts")).addRequestsCommands,
  },
  {
    group: "Usage",
    name: "request",
    load: async () => (await import("#cli/commands/request.ts")).addRequestCommand,
  },
  {
    group: "Operation",
    name: "backup",
    load: async () => (await import("#cli/commands/backup.ts")).addBackupCommand,
  },
  {
    group: "Operation",
    name: "restore",
    load: async () => (await import("#cli/commands/restore.ts")).addRestoreCommand,
  },
  {
    group: "Operation",
    name: "migrate",
    load: async () => (await import("#cli/commands/migrate.ts")).addMigrateCommand,
  },
  {
    group: "Operation",
    name: "doctor",
    load: async () => (await import("#cli/commands/doctor.ts")).addDoctorCommand,
  },
  {
    group: "Operation",
    name: "secrets",
    load: async () => (await import("#cli/commands/secrets.ts")).addSecretsCommands,
  },
  {
    group: "Operation",
    name: "notice",
    load: async () => (await import("#cli/commands/notice.ts")).addNoticeCommands,
  },
  {
    group: "Operation",
    name: "ledger",
    load: async () => (await import("#cli/commands/ledger.ts")).addLedgerCommands,
  },
  {
    group: "Operation",
    name: "service",
    load: async () => (await import("#cli/commands/service.ts")).addServiceCommand,
  },
  {
    group: "Tools",
    name: "snippet",
    load: async () => (await import("#cli/commands/snippet.ts")).addSnippetCommand,
  },
  {
    group: "Tools",
    name: "openapi",
    load: async () => (await import("#cli/commands/openapi.ts")).addOpenApiCommand,
  },
  {
    group: "Tools",
    name: "complete",
    load: async () => (await import("#cli/commands/complete.ts")).addCompleteCommand,
  },
];

/** What many programs call their `--version`. */
const VERSION_WORD = "version";
const SERVER_WORD = "serve";

/** Runs one command line (without the program's own name) and returns its exit code. Never throws. */
export async function runCli(words: readonly string[], terminal: Terminal): Promise<number> {
  const args = words[0] === VERSION_WORD ? ["--version", ...words.slice(1)] : words;
  try {
    const program = await createProgram(terminal, args[0]);
    if (isCompletion(args)) {
      const { completeLine } = await import("#cli/commands/complete.ts");
      await completeLine(program, args.slice(2), terminal);
      return EXIT.ok;
    }
    refuseSecrets(args);
    if (isVersionAsJson(args)) {
      writeJson(terminal, {
        version: PRODUCT_VERSION,
        commit: PRODUCT_COMMIT,
        interface_version: INTERFACE_VERSION,
      });
      return EXIT.ok;
    }
    refuseLeadingOption(program, args);
    await program.parseAsync(toHelpLine(program, args), { from: "user" });
    return EXIT.ok;
  } catch (error) {
    return report(error, terminal, args[0] === SERVER_WORD);
  }
}

/** The command tree: all of it, or what runs a line that begins with this word. */
export async function createProgram(terminal: Terminal, firstWord = ""): Promise<Command> {
  const { env, screens } = terminal;
  const style = createStyle(env, screens.data);
  const prefix = toPrefix(terminal);
  const program = new Command("lockport")
    .description("A self-hosted model-routing proxy.")
    .version(
      `lockport ${PRODUCT_VERSION} (${PRODUCT_COMMIT === null ? "" : `commit ${PRODUCT_COMMIT}, `}interface ${INTERFACE_VERSION})`,
      "--version",
      "print the version, its commit, and the version of the interface",
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.writeData(foldHelp(text)),
      writeErr: (text) => terminal.writeMessage(foldHelp(text)),
      outputError: (text) => terminal.writeMessage(toPrintableMessage(text).replace(/^error:/, prefix)),
      getOutHelpWidth: () => COLUMNS_MAX,
      getErrHelpWidth: () => COLUMNS_MAX,
      getOutHasColors: () => isColoured(env, screens.data),
      getErrHasColors: () => isColoured(env, screens.messages),
    })
    // Taken over by each command as it is added.
    .configureHelp({ styleTitle: style.bold, visibleOptions: listOptions });
  for (const { group, load } of findCommands(firstWord)) {
    program.commandsGroup(group);
    (await load())(program, terminal);
  }
  program.hook("preAction", (_program, command) => refuseBlankArguments(command));
  addGroupExamples(program);
  holdOptions(program);
  addWaysOut(program);
  return program.configureHelp({ formatHelp: () => formatRootHelp(program, style) });
}

/** The one of this name; all of them for a word that is none, which may ask for help, and for the completion of any. */
function findCommands(firstWord: string): readonly CommandEntry[] {
  const named = COMMANDS.filter(({ name }) => name === firstWord && name !== "complete");
  return named.length > 0 ? named : COMMANDS;
}

/** The scripts' `complete -- WORD...`; any other line was typed by a person. */
function isCompletion([first, second]: readonly string[]): boolean {
  return first === "complete" && second === "--";
}

/** commander prints its version before it knows of any other option. */
function isVersionAsJson(args: readonly string[]): boolean {
  return args.length === 2 && args[0] === "--version" && args[1] === "--json";
}

function report(error: unknown, terminal: Terminal, isServer: boolean): number {
  // commander has written its own message: help and version end with 0, everything else is a usage error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof ChangesFound) return EXIT.changes;
  const { kind, sentence } = toFailure(error);
  // The last line of a server's log is one as the others: what collects them takes no other.
  if (isServer && kind !== "usage" && !terminal.screens.messages) writeLast(sentence, EXIT[kind], terminal);
  else terminal.writeMessage(`${toPrefix(terminal)} ${toPrintableMessage(sentence)}\n`);
  return EXIT[kind];
}

function writeLast(sentence: string, code: number, terminal: Terminal): void {
  const log = createLog({
    level: "error",
    json: true,
    write: (line) => terminal.writeMessage(line),
    timestamp: () => formatInstant(terminal.clock.nowUs()),
  });
  log.error(sentence, { exit_code: code });
}

/** Before every message of a failure. */
function toPrefix({ env, screens }: Terminal): string {
  return createStyle(env, screens.messages).bad("lockport:");
}

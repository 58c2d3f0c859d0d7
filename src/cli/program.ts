import { Command, CommanderError } from "commander";
import { INTERFACE_VERSION } from "#kernel/version.ts";
import { addAdminCommands } from "#cli/commands/admin.ts";
import { addApplyCommand } from "#cli/commands/apply.ts";
import { refuseSecrets } from "#cli/input/argv.ts";
import { addBackupCommand } from "#cli/commands/backup.ts";
import { addCompleteCommand, completeLine } from "#cli/commands/complete.ts";
import { addExportCommand } from "#cli/commands/export.ts";
import { addDoctorCommand } from "#cli/commands/doctor.ts";
import { EXIT, toFailure } from "#cli/screen/failure.ts";
import { addGroupExamples } from "#cli/help/examples.ts";
import { toHelpLine, COLUMNS_MAX, foldHelp, formatRootHelp, listOptions } from "#cli/help/help.ts";
import { addHealthCommand } from "#cli/commands/health.ts";
import { addImportCommands } from "#cli/commands/import.ts";
import { addKeyCommands } from "#cli/commands/key.ts";
import { addModelCommands } from "#cli/commands/model.ts";
import { addOpenApiCommand } from "#cli/commands/openapi.ts";
import { addPricingCommands } from "#cli/commands/pricing.ts";
import { addPrincipalCommands } from "#cli/commands/principal.ts";
import { addProviderCommands } from "#cli/commands/provider.ts";
import { addRelayTokenCommands } from "#cli/commands/relay-token.ts";
import { holdOptions, refuseBlankArguments, refuseLeadingOption } from "#cli/input/option-rules.ts";
import { addRequestsCommands } from "#cli/commands/requests.ts";
import { addRestoreCommand } from "#cli/commands/restore.ts";
import { addServeCommand } from "#cli/commands/serve.ts";
import { addServiceCommand } from "#cli/commands/service.ts";
import { addSnippetCommand } from "#cli/commands/snippet.ts";
import { createStyle, isColoured } from "#cli/screen/style.ts";
import { writeJson } from "#cli/screen/output.ts";
import { toPrintableMessage } from "#cli/screen/printable.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { addUsageCommand } from "#cli/commands/usage.ts";

type AddCommands = (program: Command, terminal: Terminal) => void;

/** Every command, in the order and under the words of the program's help. A new one is a line here. */
const COMMANDS: readonly (readonly [group: string, commands: readonly AddCommands[]])[] = [
  ["Server", [addServeCommand, addAdminCommands, addHealthCommand, addServiceCommand]],
  [
    "Catalog",
    [
      addProviderCommands,
      addModelCommands,
      addPricingCommands,
      addImportCommands,
      addExportCommand,
      addApplyCommand,
    ],
  ],
  ["People", [addPrincipalCommands, addKeyCommands, addRelayTokenCommands]],
  ["Usage", [addUsageCommand, addRequestsCommands]],
  ["Operation", [addBackupCommand, addRestoreCommand, addDoctorCommand]],
  ["Tools", [addSnippetCommand, addOpenApiCommand, addCompleteCommand]],
];

/** Runs one command line (without the program's own name) and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = createProgram(terminal);
  try {
    if (await completeLine(program, args, terminal)) return EXIT.ok;
    refuseSecrets(args);
    if (isVersionAsJson(args)) {
      writeJson(terminal, { version: INTERFACE_VERSION });
      return EXIT.ok;
    }
    refuseLeadingOption(program, args);
    await program.parseAsync(toHelpLine(program, args), { from: "user" });
    return EXIT.ok;
  } catch (error) {
    return report(error, terminal);
  }
}

/** The command tree, for running a line and for documenting it. */
export function createProgram(terminal: Terminal): Command {
  const { env, screens } = terminal;
  const style = createStyle(env, screens.data);
  const prefix = toPrefix(terminal);
  const program = new Command("lockport")
    .description("A self-hosted model-routing proxy.")
    .version(INTERFACE_VERSION, "--version", "print the version of the interface")
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
  for (const [group, commands] of COMMANDS) {
    program.commandsGroup(group);
    for (const add of commands) add(program, terminal);
  }
  program.hook("preAction", (_program, command) => refuseBlankArguments(command));
  addGroupExamples(program);
  holdOptions(program);
  return program.configureHelp({ formatHelp: () => formatRootHelp(program, style) });
}

/** commander prints its version before it knows of any other option. */
function isVersionAsJson(args: readonly string[]): boolean {
  return args.length === 2 && args[0] === "--version" && args[1] === "--json";
}

function report(error: unknown, terminal: Terminal): number {
  // commander has written its own message: help and version end with 0, everything else is a usage error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const { kind, sentence } = toFailure(error);
  terminal.writeMessage(`${toPrefix(terminal)} ${toPrintableMessage(sentence)}\n`);
  return EXIT[kind];
}

/** Before every message of a failure. */
function toPrefix({ env, screens }: Terminal): string {
  return createStyle(env, screens.messages).bad("lockport:");
}

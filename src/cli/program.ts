import { Command, CommanderError } from "commander";
import { ProxyError, SetupError } from "#kernel/errors.ts";
import { describeCause } from "#kernel/log.ts";
import { INTERFACE_VERSION } from "#kernel/version.ts";
import { addAdminCommands } from "./admin.ts";
import { addKeyCommands } from "./key.ts";
import { addModelCommands } from "./model.ts";
import { addOpenApiCommand } from "./openapi.ts";
import { addPrincipalCommands } from "./principal.ts";
import { addProviderCommands } from "./provider.ts";
import { addServeCommand } from "./serve.ts";
import type { Terminal } from "./terminal.ts";

/** sysexits.h, where it has a word for it. */
const EXIT = { ok: 0, failure: 1, usage: 2, permission: 77, configuration: 78 } as const;

/** Runs one command line (without the program's own name) and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  const program = createProgram(terminal);
  try {
    await program.parseAsync(args, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    return report(error, terminal);
  }
}

function createProgram(terminal: Terminal): Command {
  const program = new Command("lockport")
    .description("A self-hosted model-routing proxy.")
    .version(INTERFACE_VERSION, "--version", "print the version of the interface")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.writeData(text),
      writeErr: (text) => terminal.writeMessage(text),
      // No colours anywhere, so that NO_COLOR has nothing left to turn off.
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  addServeCommand(program, terminal);
  addAdminCommands(program, terminal);
  addPrincipalCommands(program, terminal);
  addKeyCommands(program, terminal);
  addProviderCommands(program, terminal);
  addModelCommands(program, terminal);
  addOpenApiCommand(program, terminal);
  return program;
}

function report(error: unknown, terminal: Terminal): number {
  // commander has written its own message: help and version end with 0, everything else is a usage error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof SetupError) {
    terminal.writeMessage(`lockport: ${error.message}\n`);
    return EXIT[error.kind];
  }
  if (error instanceof ProxyError) {
    const param = error.param === null ? "" : `, ${error.param}`;
    terminal.writeMessage(`lockport: ${error.message} (${error.code}${param})\n`);
    return EXIT.failure;
  }
  const { cause, cause_code: code } = describeCause(error);
  terminal.writeMessage(
    `lockport: unexpected failure (${[cause, code].filter((part) => typeof part === "string").join(", ")})\n`,
  );
  return EXIT.failure;
}

import type { Command } from "commander";
import { addExamples } from "#cli/help/examples.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toServiceUnit } from "./service-unit.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { writeJson, type OutputOptions } from "#cli/screen/output.ts";

interface ServiceOptions extends OutputOptions {
  readonly executable: string;
  readonly environmentFile: string;
  readonly user?: string;
}

/** What a unit may be given: a path or a name that systemd reads as one word. */
const WORD = /^[A-Za-z0-9_.@/-]+$/;

export function addCommands(program: Command, terminal: Terminal): void {
  const service = program.command("service").description("run it as a service of the system");
  const print = service
    .command("print")
    .description("print a hardened systemd unit")
    .option("--executable <path>", "where lockport lies", "/usr/local/bin/lockport")
    .option(
      "--environment-file <path>",
      "a file of PROXY_… settings, which need not exist",
      "/etc/lockport/env",
    )
    .option("--user <name>", "an existing user (else systemd makes one for the service)")
    .option("--json", "print JSON: {unit}")
    .action((options: ServiceOptions) => {
      const { executable, environmentFile, user } = options;
      checkPath("--executable", executable);
      checkPath("--environment-file", environmentFile);
      if (user !== undefined && !WORD.test(user)) {
        throw new CommandError("usage", "--user must be the name of a user of this system.");
      }
      const unit = toServiceUnit({ executable, environmentFile, user: user ?? null });
      if (options.json === true) writeJson(terminal, { unit });
      else terminal.writeData(unit);
    });
  addExamples(print, [
    "lockport service print | sudo tee /etc/systemd/system/lockport.service",
    "sudo systemctl daemon-reload && sudo systemctl enable --now lockport",
  ]);
}

/** A `%` would be a specifier of systemd's, a space the end of the path. */
function checkPath(option: string, path: string): void {
  if (path.startsWith("/") && WORD.test(path)) return;
  throw new CommandError("usage", `${option} must be an absolute path of letters, digits and ./_@-.`);
}

import { Option, type Command } from "commander";
import { SETTINGS, type Setting } from "#boot/settings/settings.ts";
import { addDataDirOption, refuseUrl } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { runServer, type ServeOptions } from "./server.ts";

export function addCommands(program: Command, terminal: Terminal): void {
  const command = refuseUrl(addDataDirOption(program.command("serve").description("start the server")))
    .addOption(
      new Option("--host <address>", "address to listen on (before PROXY_HOST)").argParser(
        toParser("--host", SETTINGS.host),
      ),
    )
    .addOption(
      new Option("--port <port>", "port to listen on (before PROXY_PORT)").argParser(
        toParser("--port", SETTINGS.port),
      ),
    )
    .option("--open", "open the page in the browser of this machine, signed in as admin")
    .option("--json", "say where it listens as a line of JSON")
    .action((options: ServeOptions) => runServer(terminal, options));
  addExamples(command, [
    "lockport serve --open",
    "lockport serve --host 0.0.0.0 --port 8080",
    "PROXY_PUBLIC_URL=https://models.example.org lockport serve",
  ]);
}

/** The variable's rule; but a wrong word of a command line is a usage error. Throws a `CommandError` without the value. */
function toParser(flag: string, { parse }: Setting<unknown>): (text: string) => string {
  return (text) => {
    try {
      parse(text);
      return text;
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw new CommandError("usage", `${flag} must be ${cause.message}.`);
    }
  };
}

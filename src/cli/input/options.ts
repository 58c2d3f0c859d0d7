import { Option, type Command, type CommandOptions } from "commander";
import { toOrigin } from "#boot/settings/setting-values.ts";
import { toPath } from "#cli/help/command-tree.ts";
import { CommandError } from "#cli/screen/failure.ts";

/** A command that works on this machine's data folder or, with `--url`, on a server; its options are `InstallationOptions`. */
export function addCommand(
  parent: Command,
  usage: string,
  description: string,
  how: CommandOptions = {},
): Command {
  return addDataDirOption(parent.command(usage, how).description(description))
    .addOption(
      new Option(
        "--url <origin>",
        "work on this server (before LOCKPORT_URL), as the owner of LOCKPORT_API_KEY",
      )
        .argParser((text) => readOrigin(text, "--url"))
        .conflicts("dataDir"),
    )
    .option("--json", "print JSON");
}

/** A command that works on this machine's data folder only; its options are `LocalOptions`. */
export function addLocalCommand(parent: Command, usage: string, description: string): Command {
  return refuseUrl(addDataDirOption(parent.command(usage).description(description))).option(
    "--json",
    "print JSON",
  );
}

export function addDataDirOption(command: Command): Command {
  return command.option("--data-dir <path>", "data folder (before PROXY_DATA_DIR)");
}

/** Answers `--url` with a sentence where it can have no meaning. */
export function refuseUrl(command: Command): Command {
  const refuse = () => {
    throw new CommandError(
      "usage",
      `lockport ${toPath(command)} works on the data folder of the machine that it runs on: leave --url out, and run it where the server runs.`,
    );
  };
  return command.addOption(new Option("--url <origin>").argParser(refuse).hideHelp());
}

/** A former spelling of an option, whose value goes to the present one: it works, and no help lists it. */
export function formerOption(flags: string, attribute: string): Option {
  const option = new Option(flags).hideHelp();
  option.attributeName = () => attribute;
  return option;
}

/** An option's origin. Throws a `CommandError` without the value, which may hold a password. */
export function readOrigin(text: string, option: string): string {
  try {
    return toOrigin(text);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new CommandError("usage", `${option} must be ${cause.message}.`);
  }
}

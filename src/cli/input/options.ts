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
  const refuseHere = () => {
    throw new CommandError(
      "usage",
      `lockport ${toPath(command)} works on the data folder of the machine that it runs on: leave --url out, and run it where the server runs.`,
    );
  };
  return command.addOption(new Option("--url <origin>").argParser(refuseHere).hideHelp());
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

/**
 * Refuses, in this command and all beneath it, what would silently mean something else than was meant:
 * - a blank value, as a shell makes of a variable that is not set;
 * - an option given again where only its last value would count, and one beside its opposite (`--x --no-x`). An option whose
 *   value is a list or a record collects, and a switch says the same twice.
 */
export function holdOptions(command: Command): void {
  const given = new Map<string, Option>();
  for (const option of command.options) {
    const name = option.attributeName();
    const flag = option.long ?? option.flags;
    const takesValue = option.required || option.optional;
    // commander's own listener came before and has kept the value.
    command.on(`option:${option.name()}`, (text: string | undefined) => {
      if (takesValue && text?.trim() === "") {
        throw refuse(`${flag} is blank: give it a value${option.mandatory ? "" : ", or leave it out"}.`);
      }
      const before = given.get(name);
      given.set(name, option);
      const isCollected = typeof command.getOptionValue(name) === "object";
      if (before === undefined || isCollected) return;
      if (before !== option) throw refuse(`${before.long} and ${flag} exclude each other: leave one out.`);
      if (takesValue) throw refuse(`${flag} was given twice: give it once.`);
    });
  }
  for (const each of command.commands) holdOptions(each);
}

/** Refuses a blank argument, as a shell makes of a variable that is not set. Throws a `CommandError`. */
export function refuseBlankArguments({ args, registeredArguments }: Command): void {
  const at = args.findIndex((text) => text.trim() === "");
  if (at === -1) return;
  const argument = registeredArguments[at];
  throw refuse(
    `The argument ${argument?.name() ?? at + 1} is blank: give it a value${argument?.required === true ? "" : ", or leave it out"}.`,
  );
}

/**
 * Refuses an option that stands before the command though commands have it. What no command has is left to commander and
 * its suggestions. Throws a `CommandError`.
 */
export function refuseLeadingOption(program: Command, args: readonly string[]): void {
  const flag = args[0]?.split("=", 1)[0] ?? "";
  const isOwn = ({ options }: Command) => options.some(({ short, long }) => flag === short || flag === long);
  const isBeneath = ({ commands }: Command): boolean =>
    commands.some((each) => isOwn(each) || isBeneath(each));
  if (isOwn(program) || !isBeneath(program)) return;
  throw refuse(`${flag} comes after the command, as in lockport key list ${flag}.`);
}

function refuse(sentence: string): CommandError {
  return new CommandError("usage", sentence);
}

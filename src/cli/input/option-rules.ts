import type { Command, Option } from "commander";
import { CommandError } from "#cli/screen/failure.ts";

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

import type { Command } from "commander";

const HELP_FLAGS: ReadonlySet<string> = new Set(["-h", "--help"]);
const HELP_WORD = "help";

/**
 * Every way of asking for help, as `command --help`: `help command` and `group help command` too. Help for a command that
 * does not exist becomes that command alone, which is refused with what was probably meant. Anything else stays as it is.
 */
export function toHelpLine(program: Command, args: readonly string[]): readonly string[] {
  const end = args.findIndex((arg) => arg.startsWith("-"));
  const words = end === -1 ? args : args.slice(0, end);
  const path: string[] = [];
  let at = program;
  let isAsked = args.some((arg) => HELP_FLAGS.has(arg));
  for (const word of words) {
    if (at.commands.length === 0) break;
    if (word === HELP_WORD) {
      isAsked = true;
      continue;
    }
    path.push(word);
    const next = at.commands.find((each) => each.name() === word);
    if (next === undefined) return isAsked ? path : args;
    at = next;
  }
  return isAsked ? [...path, "--help"] : args;
}

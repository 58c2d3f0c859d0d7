import type { Command } from "commander";
import { toPath } from "./command-tree.ts";

/** Refusals of commander's that leave a person to look for what there is. */
const VAGUE =
  /^error: (?:unknown command|unknown option|missing required argument|required option|too many arguments)/;

/** Adds to such a refusal of this command, and of all beneath it, which help says what there is; a suggestion is enough. */
export function addWaysOut(command: Command): void {
  const inherited = command.configureOutput();
  const help = ["lockport", toPath(command), "--help"].filter((part) => part !== "").join(" ");
  const effect = command.commands.length > 0 ? "lists the commands" : "shows what it takes";
  command.configureOutput({
    outputError: (text, write) =>
      inherited.outputError?.(
        VAGUE.test(text) && !text.includes("(Did you mean")
          ? text.replace(/\n?$/, `\n(${help} ${effect}.)\n`)
          : text,
        write,
      ),
  });
  for (const each of command.commands) addWaysOut(each);
}

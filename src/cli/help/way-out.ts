import type { Command } from "commander";
import { toPath } from "#cli/help/command-tree.ts";

/** Refusals of commander's that leave a person to look for what there is. */
const VAGUE =
  /^error: (?:unknown command|unknown option|missing required argument|required option|too many arguments)/;

const UNKNOWN_COMMAND = /^error: unknown command '([^']*)'/;

/** What other programs call a command, and what there is for it here. */
const WORDS_ELSEWHERE: readonly (readonly [words: readonly string[], wayOut: string])[] = [
  [
    ["status"],
    "lockport health says whether a server answers, lockport doctor what is wrong with its installation.",
  ],
  [["logs", "log"], "lockport requests tail shows requests; a server writes its own log to stderr."],
  [["start", "run"], "lockport serve starts the server."],
  [["stop"], "A server stops on Ctrl-C or SIGTERM, once running requests have ended."],
  [["users", "user"], "lockport principal is about people and services, lockport key about their keys."],
];

/**
 * Adds to a refusal of this command, and of all beneath it, where to look: the command for a word of other programs, else
 * which help says what there is. A suggestion is enough.
 */
export function addWaysOut(command: Command): void {
  const inherited = command.configureOutput();
  const help = ["lockport", toPath(command), "--help"].filter((part) => part !== "").join(" ");
  const effect = command.commands.length > 0 ? "lists the commands" : "shows what it takes";
  const addWayOut = (text: string) => {
    const elsewhere = command.parent === null ? findElsewhere(text) : null;
    // Another program's word may also be near one of these, and is not meant for it.
    if (elsewhere !== null) return text.replace(/\n[^]*$/, `\n(${elsewhere})\n`);
    if (!VAGUE.test(text) || text.includes("(Did you mean")) return text;
    return text.replace(/\n?$/, `\n(${help} ${effect}.)\n`);
  };
  command.configureOutput({
    outputError: (text, write) => inherited.outputError?.(addWayOut(text), write),
  });
  for (const each of command.commands) addWaysOut(each);
}

function findElsewhere(text: string): string | null {
  const word = UNKNOWN_COMMAND.exec(text)?.[1] ?? "";
  return WORDS_ELSEWHERE.find(([words]) => words.includes(word))?.[1] ?? null;
}

import { readCommandTree } from "#cli/screen/help.ts";
import { createProgram } from "#cli/program.ts";
import { refuseSecrets } from "#cli/input/options.ts";
import { SILENT_TERMINAL } from "../../contrib/docs/command-line.ts";

/** Text that may precede a command: nothing, settings, or a program that runs it. */
const BEFORE = String.raw`(?:^|\$\(|[|;&(]|\bsudo|\bexec)\s*(?:[A-Z_][A-Z0-9_]*=(?:"[^"]*"|\S)*\s+)*`;
/** Thrown once a line is found good, before it does anything. */
const PARSED = new Error("parsed");
const COMMAND_PATTERN = new RegExp(String.raw`${BEFORE}lockport(?=\s)`, "gm");

/** The arguments of each `lockport …` of a text, as a shell would pass them on; a variable is its value, or else its name. */
export function listCommandLines(
  text: string,
  variables: ReadonlyMap<string, string> = new Map(),
): string[][] {
  const joined = text.replaceAll(/\\\n\s*/g, " ");
  return [...joined.matchAll(COMMAND_PATTERN)].map((match) =>
    readWords(joined.slice(match.index + match[0].length), variables),
  );
}

/** Up to the end of the command: a line break, a pipe, a redirection, a comment, or the bracket around it. */
function readWords(text: string, variables: ReadonlyMap<string, string>): string[] {
  const words: string[] = [];
  let rest = text;
  for (;;) {
    rest = rest.replace(/^[ \t]+/, "");
    const word = /^(?:"[^"]*"|'[^']*'|\$\([^)]*\)|[^\s"'|&;<>()])+/.exec(rest)?.[0] ?? "";
    if (word === "" || word.startsWith("#") || /^\d?[<>]/.test(rest)) return words;
    rest = rest.slice(word.length);
    words.push(
      word
        .replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2")
        .replaceAll(/\$\{?(\w+)\}?/g, (_, name) => variables.get(name) ?? name),
    );
  }
}

/** Null when the command exists with these options and arguments, else what is wrong with it. Runs nothing. */
export async function findMistake(args: readonly string[]): Promise<string | null> {
  let said = "";
  const program = await createProgram({ ...SILENT_TERMINAL, writeMessage: (text) => (said += text) });
  // Also of a command that has others below it (`errors clients`): it would run on this machine's data folder.
  program.hook("preAction", () => {
    throw PARSED;
  });
  try {
    refuseSecrets(args);
    await program.parseAsync(args, { from: "user" });
    return null;
  } catch (error) {
    if (error === PARSED) return null;
    if (error instanceof Error && "exitCode" in error && error.exitCode === 0) return null;
    return said.trim() || String(error);
  }
}

/** The mistake of a command that a sentence names, which may lack its arguments; null when there is none. */
export async function findMisnaming(args: readonly string[]): Promise<string | null> {
  let node = readCommandTree(await createProgram(SILENT_TERMINAL));
  for (const word of args) {
    if (node.commands.length === 0 || word.startsWith("-")) break;
    const next = node.commands.find(({ name }) => name === word);
    if (next === undefined) return `there is no ${[...node.path, word].join(" ")}`;
    node = next;
  }
  const known = new Set(["--version", "--help", ...node.options.flatMap(({ names }) => names)]);
  const unknown = args.find((word) => word.startsWith("-") && word !== "-" && !known.has(word));
  return unknown === undefined ? null : `${node.path.join(" ")} has no ${unknown}`;
}

import { readCommandTree, type CommandNode } from "#cli/help/command-tree.ts";
import { Help, type Command, type Option } from "commander";
import type { Style } from "#cli/screen/style.ts";

export const COLUMNS_MAX = 80;
const GAP = "  ";
const EXAMPLES_HEADING = "\nExamples:\n";
/** The indent of an example's later lines and the blank and backslash at the end of one. */
const CONTINUED_COLUMNS = 6;
/** An option stays with its value. */
const BEFORE_OPTION = /\s+(?=--|\|)/;

/** What most commands have in common comes after what is their own. */
const COMMON_OPTIONS: ReadonlySet<string | undefined> = new Set(["--data-dir", "--url", "--json", "--help"]);

/** The options that a command's help lists, its own first. */
export function listOptions(command: Command): Option[] {
  const options = new Help().visibleOptions(command);
  const isCommon = ({ long }: Option) => COMMON_OPTIONS.has(long);
  return [...options.filter((option) => !isCommon(option)), ...options.filter(isCommon)];
}

/**
 * Brings what stands after a command's options to 80 columns: the paragraph of a longer line is filled again, a longer
 * example goes on behind a backslash.
 */
export function foldHelp(text: string): string {
  const [notes = "", examples] = text.split(EXAMPLES_HEADING, 2);
  const filled = notes.split("\n\n").map(fillParagraph).join("\n\n");
  return examples === undefined ? filled : [filled, continueLines(examples)].join(EXAMPLES_HEADING);
}

function fillParagraph(paragraph: string): string {
  const isLong = paragraph.split("\n").some((line) => Bun.stringWidth(line) > COLUMNS_MAX);
  if (!isLong || /^ /m.test(paragraph)) return paragraph;
  const [, start = "", body = "", end = ""] = /^(\s*)(.*?)(\s*)$/s.exec(paragraph) ?? [];
  const filled = breakLine(body.split(/\s+/), { columns: COLUMNS_MAX, between: "\n" });
  return `${start}${filled}${end}`;
}

function continueLines(examples: string): string {
  return examples
    .split("\n")
    .map((line) =>
      Bun.stringWidth(line) <= COLUMNS_MAX
        ? line
        : `  ${breakLine(line.trim().split(BEFORE_OPTION), { columns: COLUMNS_MAX - CONTINUED_COLUMNS, between: " \\\n    " })}`,
    )
    .join("\n");
}

/** Words on as few lines as they fit on. */
function breakLine(
  words: readonly string[],
  { columns, between }: { readonly columns: number; readonly between: string },
): string {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line === undefined || Bun.stringWidth(line) + 1 + Bun.stringWidth(word) > columns) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join(between);
}

/**
 * The program's own help on one screen of 24 lines and 80 columns: each command in one line, with its verbs, beside what it
 * belongs to.
 */
export function formatRootHelp(program: Command, style: Style): string {
  const tree = readCommandTree(program);
  const groupWidth = Math.max(...tree.commands.map(({ group }) => group.length));
  const nameWidth = Math.max(...tree.commands.map(({ name }) => name.length));
  const width = COLUMNS_MAX - groupWidth - nameWidth - 2 * GAP.length;
  const lines = [...Map.groupBy(tree.commands, ({ group }) => group)].flatMap(([group, commands]) =>
    joinShort(commands, width).map(({ name, effect }, index) => {
      const start = [
        style.dim((index === 0 ? group : "").padEnd(groupWidth)),
        style.bold(name.padEnd(nameWidth)),
      ];
      return `${start.join(GAP)}${GAP}${effect.slice(0, width)}\n`;
    }),
  );
  return ["Usage: lockport <command> [options]   (--help: more, with examples; --version)\n", ...lines].join(
    "",
  );
}

interface HelpLine {
  readonly name: string;
  readonly effect: string;
  readonly isShort: boolean;
}

/** Commands of a group, those without several verbs on one line as far as they fit: there are more than a screen has lines. */
function joinShort(commands: readonly CommandNode[], width: number): readonly HelpLine[] {
  const lines: HelpLine[] = [];
  // From the last: what stands alone is the first.
  for (const command of commands.toReversed()) {
    const whole = toEffect(command);
    const effect = whole.length <= width ? whole : command.commands.map(({ name }) => name).join(" ");
    const line = { name: command.name, effect, isShort: command.commands.length < 2 };
    const next = lines.at(-1);
    const joined = `${effect}; ${next?.name} ${next?.effect}`;
    const isJoined = line.isShort && next?.isShort === true && joined.length <= width;
    if (isJoined) lines[lines.length - 1] = { ...line, effect: joined };
    else lines.push(line);
  }
  return lines.toReversed();
}

function toEffect({ commands, summary }: CommandNode): string {
  return commands.length === 0 ? summary : commands.flatMap(toVerbs).join(" ");
}

/** `password show|rotate` for a verb that has verbs of its own. */
function toVerbs({ name, commands }: CommandNode): readonly string[] {
  return [commands.length === 0 ? name : `${name} ${commands.map((each) => each.name).join("|")}`];
}

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
    const next = at.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (next === undefined) return isAsked ? path : args;
    at = next;
  }
  return isAsked ? [...path, "--help"] : args;
}

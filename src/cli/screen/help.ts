import { Help, type Command, type Option } from "commander";
import type { Style } from "#cli/screen/output.ts";

export const COLUMNS_MAX = 80;
const GAP = "  ";
const EXAMPLES_HEADING = "\nExamples:\n";
/** The indent of an example's later lines and the blank and backslash at the end of one. */
const CONTINUED_COLUMNS = 6;
/** An option stays with its value. */
const BEFORE_OPTION = /\s+(?=--|\|)/;

/** Options of most commands come after a command's own. */
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
 * The program's own help on one screen of 24 lines and 80 columns: each command with its verbs, in as few lines as they take,
 * beside what it belongs to.
 */
export function formatRootHelp(program: Command, style: Style): string {
  const tree = readCommandTree(program);
  const groupWidth = Math.max(...tree.commands.map(({ group }) => group.length));
  const nameWidth = Math.max(...tree.commands.map(({ name }) => name.length));
  const width = COLUMNS_MAX - groupWidth - nameWidth - 2 * GAP.length;
  const lines = [...Map.groupBy(tree.commands, ({ group }) => group)].flatMap(([group, commands]) =>
    joinShort(commands, width)
      .flatMap(({ name, effect }) =>
        breakLine(effect.split(" "), { columns: width, between: "\n" })
          .split("\n")
          .map((text, line) => ({ name: line === 0 ? name : "", text })),
      )
      .map(({ name, text }, index) => {
        const start = [
          style.dim((index === 0 ? group : "").padEnd(groupWidth)),
          style.bold(name.padEnd(nameWidth)),
        ];
        return `${start.join(GAP)}${GAP}${text}\n`;
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

/** Commands of a group, on one line as far as they fit and one of two has not several verbs: there are more than a screen has lines. */
function joinShort(commands: readonly CommandNode[], width: number): readonly HelpLine[] {
  const lines: HelpLine[] = [];
  // From the last: what stands alone is the first.
  for (const command of commands.toReversed()) {
    const whole = toEffect(command);
    const effect = whole.length <= width ? whole : command.commands.map(({ name }) => name).join(" ");
    const line = { name: command.name, effect, isShort: command.commands.length < 2 };
    const next = lines.at(-1);
    const joined = `${effect}; ${next?.name} ${next?.effect}`;
    const isJoined = next !== undefined && (line.isShort || next.isShort) && joined.length <= width;
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

/** Refusals of commander's that leave a person to look for what there is. */
const VAGUE =
  /^error: (?:unknown command|unknown option|missing required argument|required option|too many arguments)/;

const UNKNOWN_COMMAND = /^error: unknown command '([^']*)'/;

/** Words of other programs, and the command here. */
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

/** Lines that can be typed as they stand, shown at the end of the command's help. */
export function addExamples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

/** Examples of a group of commands, by its path. */
const EXAMPLES: { readonly [path: string]: readonly string[] } = {
  admin: ["lockport admin bootstrap", "lockport admin login-link"],
  "admin password": ["lockport admin password show", "lockport admin password rotate"],
  service: ["lockport service print | sudo tee /etc/systemd/system/lockport.service"],
  provider: [
    "lockport provider add openai --base-url https://api.openai.com/v1",
    "lockport provider discover openai --bind",
  ],
  model: [
    "lockport model add fast --provider openai --upstream-name gpt-5-mini",
    "lockport model alias default fast",
  ],
  pricing: ["lockport pricing missing", "lockport pricing load prices.json"],
  reprice: ["lockport reprice plan --prices prices.json --since 2026-03-01", "lockport reprice list"],
  import: ["lockport import litellm-config config.yaml --dry-run"],
  principal: ["lockport principal create ada", "lockport principal list"],
  key: ["lockport key create --principal ada --label laptop", "lockport key list --principal ada"],
  "relay-token": ["lockport relay-token create --principal ada --label editor"],
  my: ["lockport my usage show --since this-month", "lockport my keys create --label laptop"],
  "my keys": ["lockport my keys", "lockport my keys create --label laptop"],
  "my relay-tokens": ["lockport my relay-tokens", "lockport my relay-tokens create --label editor"],
  "my usage": ["lockport my usage", "lockport my usage breakdown --by tag:app"],
  "my sessions": ["lockport my sessions", "lockport my sessions revoke-others"],
  limit: ["lockport limit set everyone --amount 20 --per day --each principal", "lockport limit list"],
  secrets: ["lockport secrets rotate"],
  ledger: ["lockport ledger check"],
  notice: ["lockport notice test", "lockport notice test --url https://models.example.org"],
  requests: ["lockport requests tail -f --outcome failed"],
};

/** Gives the help of each group beneath this command its examples. */
export function addGroupExamples(parent: Command): void {
  for (const group of parent.commands) {
    const examples = EXAMPLES[toPath(group)];
    if (examples !== undefined) addExamples(group, examples);
    addGroupExamples(group);
  }
}

/** The commands, their options and arguments, as far as completing and helping need them. */
export interface CommandNode {
  /** Such as `["key", "create"]`; empty for the program itself. */
  readonly path: readonly string[];
  readonly name: string;
  /** Other words for it. */
  readonly aliases: readonly string[];
  readonly description: string;
  /** A shorter description, which fits into the root's help. */
  readonly summary: string;
  /** Heading of the root's help that it stands under. */
  readonly group: string;
  readonly commands: readonly CommandNode[];
  readonly options: readonly OptionNode[];
  readonly args: readonly ValueNode[];
}

/** Values that can stand here: these words, a path, or (neither) anything. */
export interface ValueNode {
  /** `alias` of `<alias>`. */
  readonly name: string;
  readonly choices: readonly string[];
  readonly isPath: boolean;
}

export interface OptionNode {
  /** Such as `-f` and `--follow`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Null for a switch. */
  readonly value: ValueNode | null;
}

/** Reads a commander tree; hidden commands and options are left out. */
export function readCommandTree(command: Command, path: readonly string[] = []): CommandNode {
  const help = command.createHelp();
  const commands = help
    .visibleCommands(command)
    .filter((each) => each.name() !== "help")
    .map((each) => readCommandTree(each, [...path, each.name()]));
  return {
    path,
    name: command.name(),
    aliases: command.aliases(),
    description: command.description(),
    summary: command.summary() === "" ? command.description() : command.summary(),
    group: command.helpGroup(),
    commands,
    options: help.visibleOptions(command).map(readOption),
    args: command.registeredArguments.map((each) => toValue(each.name(), each.argChoices)),
  };
}

/** Every node, parents before their children. */
export function listNodes(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(listNodes)];
}

function readOption(option: Option): OptionNode {
  const takesValue = option.required || option.optional;
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    value: takesValue ? toValue(toValueName(option.flags), option.argChoices) : null,
  };
}

function toValue(name: string, choices: readonly string[] = []): ValueNode {
  return { name, choices, isPath: /^(path|file|folder)$/i.test(name) };
}

/** `path` of `--data-dir <path>`. */
function toValueName(flags: string): string {
  return /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? "";
}

/** `key create` of `lockport key create`. */
export function toPath(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent !== null && at !== null; at = at.parent)
    names.unshift(at.name());
  return names.join(" ");
}

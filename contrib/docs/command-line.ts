/** Writes docs/command-line.md from the commands themselves: `npm run docs`. */
import type { Command, Option } from "commander";
import { join } from "node:path";
import { createSystemClock } from "../../src/kernel/clock.ts";
import { readCommandTree, type CommandNode } from "../../src/cli/screen/help.ts";
import { createProgram } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/screen/terminal.ts";

/** From the root of the repository. */
export const COMMAND_LINE_PAGE = "docs/command-line.md";

/** Drops what is written to it. */
export const SILENT_TERMINAL: Terminal = {
  env: {},
  clock: createSystemClock(),
  interactive: false,
  screens: { data: false, messages: false },
  columns: null,
  writeData: () => undefined,
  writeMessage: () => undefined,
  deliverData: async () => true,
  writeBytes: async () => undefined,
  readStdin: async () => "",
  ask: async () => "",
  askHidden: async () => "",
  sayAtInterrupt: () => () => undefined,
  watchEnd: () => new AbortController().signal,
};

const INTRODUCTION = `# The command line

- Data goes to stdout and messages to stderr: \`KEY=$(lockport key create --principal ada)\` holds the key and nothing else.
- Options come after the command. A blank value, and a second value where only one counts, are refused.
- A removal (\`remove\` or \`delete\`, which mean the same) says what it removes and asks. Without a terminal it needs \`--yes\`, else it ends with 2.
- Secrets are read from a file, from stdin or from a hidden prompt, and refused among the arguments.
- \`NO_COLOR\` turns colors off.

Every command has these options, unless it says which of them it lacks:

| Option | Meaning |
| --- | --- |
| \`--data-dir <path>\` | The data folder to work on, in place of \`PROXY_DATA_DIR\`. A command opens its databases directly, also while the server runs; changes apply from the next request on. The audit log has them as \`(local command)\`. |
| \`--url <origin>\` | Work on a server over HTTP, as the owner of the API key in \`LOCKPORT_API_KEY\`. \`LOCKPORT_URL\` names one for every command that has this option. |
| \`--json\` | Print JSON. |
| \`--help\` | Say what the command does, with examples. |

| Exit code | Meaning |
| --- | --- |
| 0 | Done. |
| 1 | It failed; the message says why. \`reconcile\`: a line differs. |
| 2 | The command, an option or an argument is not right. |
| 3 | \`apply --dry-run --exit-code\`: there is something to change. |
| 69 | The server cannot be reached, or something else answers there. |
| 77 | A file may not be read, or the API key is missing or refused. |
| 78 | A setting is wrong; the message names it. |
| 130 | Ctrl-C ended it, or Ctrl-D at a prompt: what shells say of it. |

All commands on one screen: \`lockport --help\`; all examples of a command: its own \`--help\`. This page is made from the commands by \`npm run docs\`.
`;

/** Options that most commands have: the page tells of the commands that lack one. */
export const SHARED_OPTIONS = ["--data-dir", "--url", "--json"];
/** `--help` has all of a command's examples. */
const EXAMPLES_MAX = 2;
const COMMON_OPTIONS: ReadonlySet<string> = new Set([...SHARED_OPTIONS, "--help"]);

export async function toCommandLinePage(): Promise<string> {
  const program = await createProgram(SILENT_TERMINAL);
  const tree = readCommandTree(program);
  const groups = Map.groupBy(tree.commands, ({ group }) => group);
  const runnable = tree.commands.flatMap(listRunnable);
  const repeated = findRepeated(runnable.map((node) => findCommand(program, node)));
  const sections = [...groups].map(([group, nodes]) => {
    const commands = nodes
      .flatMap(listRunnable)
      .map((node) => describe(findCommand(program, node), node, repeated));
    return `## ${group}\n\n${commands.join("\n")}`;
  });
  const terms = [...repeated.values()].sort().join("");
  const shared = `## Options of several commands\n\nA command that has one of these names it after "Also".\n\n${terms}`;
  return `${INTRODUCTION}\n${sections.join("\n")}\n${shared}`;
}

/** Options that several commands have with the same meaning, by flag: of several meanings the one that most have. */
function findRepeated(commands: readonly Command[]): ReadonlyMap<string, string> {
  const counts = new Map<string, { readonly long: string; count: number }>();
  for (const command of commands) {
    for (const option of listOwn(command)) {
      const term = toOptionTerm(command, option);
      const known = counts.get(term) ?? { long: option.long ?? "", count: 0 };
      known.count += 1;
      counts.set(term, known);
    }
  }
  const repeated = new Map<string, string>();
  const byCount = [...counts].filter(([, { count }]) => count > 1);
  for (const [term, { long }] of byCount.sort(([, one], [, other]) => other.count - one.count)) {
    if (!repeated.has(long)) repeated.set(long, term);
  }
  return repeated;
}

function listOwn(command: Command): readonly Option[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter((option) => !isCommon(option));
}

function toOptionTerm(command: Command, option: Option): string {
  return toTerm(option.flags, command.createHelp().optionDescription(option));
}

/** The commands that can be run; one that has others below it may be one itself, such as `export`. */
function listRunnable(node: CommandNode): readonly CommandNode[] {
  const isGroup = node.commands.length > 0 && !node.options.some(({ names }) => names.includes("--json"));
  return [...(isGroup ? [] : [node]), ...node.commands.flatMap(listRunnable)];
}

function findCommand(program: Command, { path }: CommandNode): Command {
  return path.reduce((command, name) => {
    const found = command.commands.find((each) => each.name() === name);
    if (found === undefined) throw new Error(`there is no command ${path.join(" ")}`);
    return found;
  }, program);
}

function describe(
  command: Command,
  { path, description }: CommandNode,
  repeated: ReadonlyMap<string, string>,
): string {
  const help = command.createHelp();
  const args = command.registeredArguments.map((each) => help.argumentTerm(each));
  const options = help.visibleOptions(command);
  const own = listOwn(command);
  const isRepeated = (option: Option) => repeated.get(option.long ?? "") === toOptionTerm(command, option);
  const also = own.filter(isRepeated).map(({ long }) => `\`${long}\``);
  const { notes, examples } = readAfterHelp(command);
  const usage = command
    .usage()
    .replace(/^\[options\] ?/, "")
    .trim();
  const terms = [
    ...command.registeredArguments
      .filter((each) => each.description !== "")
      .map((each) => toTerm(help.argumentTerm(each), help.argumentDescription(each))),
    ...own.filter((option) => !isRepeated(option)).map((option) => toOptionTerm(command, option)),
    ...(also.length === 0 ? [] : [`- Also ${also.join(", ")}\n`]),
  ];
  const story =
    args.length === 0 ? toSentence(description) : `\`${[...path, usage].join(" ")}\`: ${description}.`;
  const missing = SHARED_OPTIONS.filter((flag) => !options.some(({ long }) => long === flag));
  return [
    `### lockport ${path.join(" ")}\n`,
    `${[story, ...toMissing(missing)].join(" ")}\n`,
    ...(terms.length === 0 ? [] : [terms.join("")]),
    ...(notes === "" ? [] : [`\`\`\`text\n${notes}\n\`\`\`\n`]),
    ...(examples === `lockport ${path.join(" ")}` ? [] : [`\`\`\`sh\n${examples}\n\`\`\`\n`]),
  ].join("\n");
}

function toSentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

function toMissing(flags: readonly string[]): readonly string[] {
  return flags.length === 0 ? [] : [`(Without ${flags.map((flag) => `\`${flag}\``).join(" and ")}.)`];
}

/** `--url` of some commands is an address that they do not call. */
function isCommon({ long, description }: Option): boolean {
  return COMMON_OPTIONS.has(long ?? "") && (long !== "--url" || description.startsWith("work on"));
}

/** A command's notes and examples, which follow its options. */
function readAfterHelp(command: Command): { readonly notes: string; readonly examples: string } {
  let text = "";
  command.configureOutput({ writeOut: (written) => (text += written) });
  command.outputHelp();
  const after = text.slice(command.helpInformation().length);
  const [notes = "", examples = ""] = after.split("\nExamples:\n");
  const lines = examples
    .replaceAll(/^ {2}/gm, "")
    .trim()
    .split(/(?<!\\)\n/);
  return { notes: notes.trim(), examples: lines.slice(0, EXAMPLES_MAX).join("\n") };
}

function toTerm(term: string, meaning: string): string {
  return `- \`${term}\`: ${meaning}\n`;
}

if (import.meta.main)
  await Bun.write(join(import.meta.dir, "../..", COMMAND_LINE_PAGE), await toCommandLinePage());

import type { Command } from "commander";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { configWith } from "#boot/settings/config.ts";
import {
  readCommandTree,
  addExamples,
  type CommandNode,
  type OptionNode,
  type ValueNode,
} from "#cli/screen/help.ts";
import { withinLimit } from "#kernel/timer.ts";
import { withLocal } from "#cli/installation/open.ts";
import { toPrintable } from "#kernel/printable.ts";
import { writeJson, type OutputOptions } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { choiceArgument } from "#cli/input/options.ts";

export function addCommands(program: Command, terminal: Terminal): void {
  const command = program
    .command("complete")
    .description("print a script that completes commands in a shell")
    .addArgument(choiceArgument("<shell>", "the shell", SHELLS))
    .option("--json", "print JSON")
    .action((shell: Shell, options: OutputOptions) => {
      const script = COMPLETION_SCRIPTS[shell];
      if (options.json === true) writeJson(terminal, { shell, script });
      else terminal.writeData(script);
    });
  addExamples(command, [
    'echo "source <(lockport complete bash)" >> ~/.bashrc',
    'echo "source <(lockport complete zsh)" >> ~/.zshrc',
    "lockport complete fish > ~/.config/fish/completions/lockport.fish",
  ]);
}

/** Answers the scripts' `complete -- WORD...`. */
export async function completeLine(
  program: Command,
  typed: readonly string[],
  terminal: Terminal,
): Promise<void> {
  const dataDir = typed[typed.lastIndexOf("--data-dir") + 1];
  const options = typed.includes("--data-dir") && dataDir !== undefined ? { dataDir } : {};
  // A server's names would take a key and a round trip at each key press.
  const isRemote =
    typed.includes("--url") || (!typed.includes("--data-dir") && terminal.env["LOCKPORT_URL"] !== undefined);
  const found = await listCandidates(readCommandTree(program), typed, async (source) =>
    isRemote ? [] : await readLocalNames(terminal, options, source),
  );
  terminal.writeData(formatCandidates(found));
}

/** A person waits at the prompt, for the start of this process as well: names that PostgreSQL does not give in time are not offered. */
const NAMES_MS_MAX = 300;

/** No shell reads them as anything but themselves; another name is left out. */
const PLAIN_NAME = /^[\w%+,./:@-]+$/;

/** Names in the data folder; none when there is no installation or it cannot be read. */
async function readLocalNames(
  terminal: Terminal,
  options: { readonly dataDir?: string },
  source: NameSource,
): Promise<readonly Candidate[]> {
  const page = { limit: PAGE_LIMIT_MAX, offset: 0 };
  try {
    const { database } = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
    const reading = withLocal(
      terminal,
      options,
      async ({ catalog, keys, limits, principals, relayTokens }) => {
        const read: { readonly [each in NameSource]: () => Promise<readonly Candidate[]> } = {
          alias: async () =>
            (await catalog.snapshot()).models.map(({ model, provider }) => [model.alias, provider.name]),
          provider: async () =>
            (await catalog.snapshot()).providers.map(({ name, baseUrl }) => [name, baseUrl]),
          principal: async () => (await principals.list(page)).rows.map(({ name, role }) => [name, role]),
          key: async () => (await keys.list({}, page)).rows.map(toOwned),
          limit: async () =>
            (await limits.listPlain()).slice(0, page.limit).map(({ name, measure }) => [name, measure]),
          relay_token: async () => (await relayTokens.list({}, page)).rows.map(toOwned),
        };
        const candidates = await read[source]();
        return candidates
          .filter(([name]) => PLAIN_NAME.test(name))
          .map(([name, text]): Candidate => [name, toPrintable(text)]);
      },
    );
    return await (database.kind === "postgres" ? withinLimit(reading, NAMES_MS_MAX, () => []) : reading);
  } catch {
    return [];
  }
}

function toOwned({ id, principalName }: { readonly id: string; readonly principalName: string }): Candidate {
  return [id, principalName];
}

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** A word that can stand at the cursor, and what it does. */
export type Candidate = readonly [word: string, description: string];

/** Resources whose names the data folder has. */
export type NameSource = "alias" | "provider" | "principal" | "key" | "relay_token" | "limit";
export type ReadNames = (source: NameSource) => Promise<readonly Candidate[]>;

/** In place of words: the shell completes a path. */
const PATH = "path";

/**
 * Lists candidates for the last of these words, which is empty after a blank. Words come from the tree, so that the shell
 * offers what the program understands.
 */
export async function listCandidates(
  root: CommandNode,
  typed: readonly string[],
  readNames: ReadNames,
): Promise<typeof PATH | readonly Candidate[]> {
  const current = typed.at(-1) ?? "";
  const { node, option, args } = readLine(root, typed.slice(0, -1));
  const starting = (candidates: readonly Candidate[]) =>
    candidates.filter(([word]) => word.startsWith(current));
  if (option === null && current.startsWith("-")) {
    return starting(
      node.options.flatMap(({ names, description }) => names.map((name): Candidate => [name, description])),
    );
  }
  if (option === null && node.commands.length > 0)
    return starting(node.commands.map(({ name, description }): Candidate => [name, description]));
  const value: ValueNode | undefined = option === null ? node.args[args.length] : (option.value ?? undefined);
  if (value === undefined) return [];
  if (value.isPath) return PATH;
  if (value.choices.length > 0) return starting(value.choices.map((choice): Candidate => [choice, ""]));
  const source = option === null ? findArgumentSource(node, value) : findOptionSource(option, value);
  return source === null ? [] : starting(await readNames(source));
}

/** The answer to the scripts below: a word on each line, with its description behind a tab. */
export function formatCandidates(found: typeof PATH | readonly Candidate[]): string {
  if (found === PATH) return ":path\n";
  return found.map(([word, description]) => `${word}\t${description}\n`).join("");
}

interface Line {
  readonly node: CommandNode;
  /** The option whose value comes next; null where none does. */
  readonly option: OptionNode | null;
  readonly args: readonly string[];
}

function readLine(root: CommandNode, words: readonly string[]): Line {
  let node = root;
  let option: OptionNode | null = null;
  const args: string[] = [];
  for (const word of words) {
    if (option !== null) option = null;
    else if (word.startsWith("-")) {
      const named = node.options.find(({ names }) => names.includes(word));
      option = named === undefined || named.value === null ? null : named;
    } else {
      const next = node.commands.find(({ name, aliases }) => name === word || aliases.includes(word));
      if (next === undefined) args.push(word);
      else node = next;
    }
  }
  return { node, option, args };
}

/** By flag and name of its value: `--model <upstream-name>` is not an alias. */
const OPTION_SOURCES: { readonly [flag: string]: NameSource } = {
  "--key <id>": "key",
  "--model <alias>": "alias",
  "--model <name>": "alias",
  "--principal <name>": "principal",
  "--provider <name>": "provider",
  "--relay-token <id>": "relay_token",
  "--target <alias>": "alias",
};

function findOptionSource({ names }: OptionNode, { name }: ValueNode): NameSource | null {
  return OPTION_SOURCES[`${names.at(-1)} <${name}>`] ?? null;
}

/** By group and name of the argument. */
const ARGUMENT_SOURCES: { readonly [argument: string]: NameSource } = {
  "key <id>": "key",
  "limit <name>": "limit",
  "model <alias>": "alias",
  "model <target>": "alias",
  "principal <name>": "principal",
  "provider <name>": "provider",
  "relay-token <id>": "relay_token",
};
/** Verbs whose argument is a name that is not taken yet. */
const MAKING = new Set(["add", "create"]);

function findArgumentSource({ path, name: verb }: CommandNode, { name }: ValueNode): NameSource | null {
  return MAKING.has(verb) ? null : (ARGUMENT_SOURCES[`${path[0]} <${name}>`] ?? null);
}

/** Scripts that ask the program at each key press: `lockport complete -- WORD...` prints the candidates. */
export const COMPLETION_SCRIPTS: { readonly [shell in Shell]: string } = {
  // Bash cuts words at `=` and `:`; the parts of an alias such as `team/fast:v1` are put together, and cut off the reply again.
  bash: `# bash completion for lockport: source <(lockport complete bash)
_lockport() {
    local IFS=$'\\n' i word part= last=-1 cut= typed=()
    COMPREPLY=()
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        if [[ $word == = ]]; then
            [[ $i == "$COMP_CWORD" ]] && typed[++last]=
        elif [[ ( $word == : || $part ) && $last -ge 0 ]]; then
            typed[last]+=$word
        else
            typed[++last]=$word
        fi
        if [[ $word == : ]]; then part=1; else part=; fi
    done
    word=\${typed[last]}
    cut=\${word%"\${word##*:}"}
    while IFS=$'\\t' read -r word _; do
        if [[ $word == :path ]]; then
            compopt -o filenames 2>/dev/null
            COMPREPLY=($(compgen -f -- "\${typed[last]}"))
            return
        fi
        COMPREPLY+=("\${word#"$cut"}")
    done < <("\${COMP_WORDS[0]}" complete -- "\${typed[@]}" 2>/dev/null)
}
complete -F _lockport lockport
`,
  zsh: `#compdef lockport
# zsh completion for lockport: source <(lockport complete zsh), or as _lockport in a folder of $fpath
_lockport() {
    local word description
    local -a candidates
    while IFS=$'\\t' read -r word description; do
        if [[ $word == :path ]]; then
            _files
            return
        fi
        candidates+=("\${word//:/\\\\:}:$description")
    done < <("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( \${#candidates} )); then _describe -o candidate candidates; fi
}
if [[ \${funcstack[1]} == _lockport ]]; then
    _lockport "$@"
else
    compdef _lockport lockport
fi
`,
  fish: `# fish completion for lockport: lockport complete fish | source
function __lockport_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($typed[1] complete -- $typed[2..] "$current" 2>/dev/null)
    if test "$found" = :path
        __fish_complete_path "$current"
    else
        printf '%s\\n' $found
    end
end
complete -c lockport -f -a '(__lockport_complete)'
`,
};

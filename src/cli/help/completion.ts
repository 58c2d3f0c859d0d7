import { quoteShell } from "#snippets/quote.ts";
import { listNodes, type CommandNode, type OptionNode, type ValueNode } from "./command-tree.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * A script that completes commands, options and their known values in a shell: made of the tree, so that it says what the
 * program understands. `at` in it is where in the tree the cursor is, such as ` key create`.
 */
export function toCompletionScript(root: CommandNode, shell: Shell): string {
  return SCRIPTS[shell](root);
}

const SCRIPTS: { readonly [shell in Shell]: (root: CommandNode) => string } = {
  bash: toBash,
  zsh: toZsh,
  fish: toFish,
};

function toBash(root: CommandNode): string {
  const nodes = listNodes(root);
  const values = eachValue(nodes).map(
    ({ at, names, value }) =>
      `            ${names.map((name) => quoteShell(`${at} ${name}`)).join("|")}) ${toBashReply(value)} ;;`,
  );
  const words = nodes.map(
    (node) =>
      `        ${quoteShell(toAt(node))}) words=${quoteShell(
        toWords(node)
          .map(([word]) => word)
          .join(" "),
      )}; options=${quoteShell(toFlags(node).join(" "))}${node.args.some(({ isPath }) => isPath) ? "; files=1" : ""} ;;`,
  );
  return `# bash completion for lockport: source <(lockport complete bash)
_lockport() {
    local cur=\${COMP_WORDS[COMP_CWORD]} at= pending= word i words= options= files=
    local IFS=$' \\t\\n'
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        [[ $word == = ]] && continue
        if [[ $pending ]]; then pending=; continue; fi
        case $word in
            ${toValueFlags(nodes).join("|")}) pending=$word; continue ;;
        esac
        case "$at $word" in
            ${toPaths(nodes).map(quoteShell).join("|")}) at="$at $word" ;;
        esac
    done
    if [[ $pending ]]; then
        [[ $cur == = ]] && cur=
        case "$at $pending" in
${values.join("\n")}
        esac
        return
    fi
    case $at in
${words.join("\n")}
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ $files ]]; then
        _lockport_files
    else
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
    fi
}
_lockport_files() {
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _lockport lockport
`;
}

function toBashReply(value: ValueNode): string {
  if (value.isPath) return "_lockport_files";
  return value.choices.length === 0
    ? ":"
    : `COMPREPLY=($(compgen -W ${quoteShell(value.choices.join(" "))} -- "$cur"))`;
}

function toZsh(root: CommandNode): string {
  const nodes = listNodes(root);
  const describe = (pairs: readonly Described[]) =>
    pairs.map(([word, description]) => quoteShell(`${word.replaceAll(":", "\\:")}:${description}`)).join(" ");
  const values = eachValue(nodes).map(
    ({ at, names, value }) =>
      `            ${names.map((name) => quoteShell(`${at} ${name}`)).join("|")}) ${value.isPath ? "_files" : value.choices.length === 0 ? ":" : `compadd -- ${value.choices.map(quoteShell).join(" ")}`} ;;`,
  );
  const words = nodes.map(
    (node) => `        ${quoteShell(toAt(node))})
            words_here=(${describe(toWords(node))})
            options_here=(${describe(toDescribedFlags(node))})${node.args.some(({ isPath }) => isPath) ? "\n            files=1" : ""} ;;`,
  );
  return `#compdef lockport
# zsh completion for lockport: source <(lockport complete zsh), or as _lockport in a folder of $fpath
_lockport() {
    local at= pending= word files= i
    local -a words_here options_here
    for ((i = 2; i < CURRENT; i++)); do
        word=\${words[i]}
        if [[ -n $pending ]]; then pending=; continue; fi
        case $word in
            ${toValueFlags(nodes).join("|")}) pending=$word; continue ;;
        esac
        case "$at $word" in
            ${toPaths(nodes).map(quoteShell).join("|")}) at="$at $word" ;;
        esac
    done
    if [[ -n $pending ]]; then
        case "$at $pending" in
${values.join("\n")}
        esac
        return
    fi
    case $at in
${words.join("\n")}
    esac
    if [[ \${words[CURRENT]} == -* ]]; then
        _describe -o option options_here
    elif [[ -n $files ]]; then
        _files
    elif (( \${#words_here} )); then
        _describe command words_here
    fi
}
if [[ \${funcstack[1]} == _lockport ]]; then
    _lockport "$@"
else
    compdef _lockport lockport
fi
`;
}

function toFish(root: CommandNode): string {
  const nodes = listNodes(root);
  const lines = nodes.flatMap((node) => {
    const head = `complete -c lockport -n ${quoteFish(`__lockport_at '${toAt(node)}'`)}`;
    return [
      ...toWords(node).map(
        ([word, description]) => `${head} -a ${quoteFish(word)} -d ${quoteFish(description)}`,
      ),
      ...(node.args.some(({ isPath }) => isPath) ? [`${head} -F`] : []),
      ...node.options.map((option) => `${head}${toFishOption(option)} -d ${quoteFish(option.description)}`),
    ];
  });
  return `# fish completion for lockport: lockport complete fish | source
function __lockport_at
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l at ''
    set -l pending ''
    for word in $tokens
        if test -n "$pending"
            set pending ''
            continue
        end
        switch $word
            case ${toValueFlags(nodes).join(" ")}
                set pending $word
            case '*'
                switch "$at $word"
                    case ${toPaths(nodes).map(quoteFish).join(" ")}
                        set at "$at $word"
                end
        end
    end
    test "$at" = "$argv[1]"
end
complete -c lockport -f
${lines.join("\n")}
`;
}

function toFishOption({ names, value }: OptionNode): string {
  const flags = names.map((name) =>
    name.startsWith("--") ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`,
  );
  if (value === null) return flags.join("");
  if (value.isPath) return `${flags.join("")} -r -F`;
  return `${flags.join("")} -x${value.choices.length === 0 ? "" : ` -a ${quoteFish(value.choices.join(" "))}`}`;
}

type Described = readonly [word: string, description: string];

/** What may stand here that is no option: commands, or the words that an argument can be. */
function toWords({ commands, args }: CommandNode): readonly Described[] {
  return [
    ...commands.map(({ name, description }): Described => [name, description]),
    ...args.flatMap(({ choices }) => choices.map((choice): Described => [choice, ""])),
  ];
}

function toFlags({ options }: CommandNode): readonly string[] {
  return options.flatMap(({ names }) => names);
}

function toDescribedFlags({ options }: CommandNode): readonly Described[] {
  return options.flatMap(({ names, description }) => names.map((name): Described => [name, description]));
}

/** Flags that take the word behind them, of whatever command. */
function toValueFlags(nodes: readonly CommandNode[]): readonly string[] {
  const flags = nodes.flatMap(({ options }) =>
    options.flatMap(({ names, value }) => (value === null ? [] : names)),
  );
  return [...new Set(flags)];
}

function toPaths(nodes: readonly CommandNode[]): readonly string[] {
  return nodes.filter(({ path }) => path.length > 0).map(toAt);
}

/** ` key create`; the empty text for the program itself. */
function toAt({ path }: CommandNode): string {
  return path.map((name) => ` ${name}`).join("");
}

function eachValue(nodes: readonly CommandNode[]) {
  return nodes.flatMap((node) =>
    node.options.flatMap(({ names, value }) => (value === null ? [] : [{ at: toAt(node), names, value }])),
  );
}

function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listNodes, readCommandTree, type CommandNode } from "#cli/help/command-tree.ts";
import { SHELLS, type Shell } from "#cli/help/completion.ts";
import { createProgram } from "#cli/program.ts";
import { SILENT_TERMINAL } from "../../contrib/docs/command-line.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { runLocal } from "./terminal.ts";

const isInstalled = (shell: Shell) => Bun.which(shell) !== null;

let folder: ReturnType<typeof makeFolder>;
beforeAll(async () => {
  folder = makeFolder();
  writeFileSync(join(folder.path, "a file.json"), "{}");
  for (const shell of SHELLS) {
    const { code, data, messages } = await runLocal("/nonexistent", ["complete", shell]);
    expect({ code, messages }).toEqual({ code: 0, messages: "" });
    writeFileSync(join(folder.path, `lockport.${shell}`), data);
  }
});
afterAll(() => folder.remove());

/** What the shell itself offers at the end of this line, sorted; a last word of `""` is a blank before the cursor. */
async function complete(shell: Shell, words: readonly string[]): Promise<readonly string[]> {
  const script = join(folder.path, `lockport.${shell}`);
  const home = { HOME: folder.path, LC_ALL: "C.UTF-8" };
  const { code, data, messages } = await runProcess(COMMANDS[shell](script, words), {
    cwd: folder.path,
    env: home,
  });
  expect({ words, code, messages }).toEqual({ words, code: 0, messages: "" });
  // fish adds descriptions behind a tab.
  const offered = data.split("\n").flatMap((line) => line.split("\t", 1)[0] || []);
  return [...new Set(offered)].sort();
}

const COMMANDS: {
  readonly [shell in Shell]: (script: string, words: readonly string[]) => readonly string[];
} = {
  bash: (script, words) => [
    "bash",
    "--norc",
    "-c",
    `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lockport; printf '%s\\n' "\${COMPREPLY[@]}"`,
    script,
    ...words,
  ],
  // The completion system's own two functions print what they are given, in place of a line editor.
  zsh: (script, words) => [
    "zsh",
    "-f",
    "-c",
    `compdef() { : }
     _describe() { [[ $1 == -o ]] && shift; local each; for each in "\${(@P)2}"; do print -r -- "\${\${each%%:*}}"; done }
     compadd() { shift; print -rl -- "$@" }
     _files() { print -rl -- * }
     source "$0"; words=("$@"); CURRENT=$#; _lockport`,
    script,
    ...words,
  ],
  fish: (script, words) => [
    "fish",
    "--no-config",
    "-c",
    `source $argv[1]; complete -C "$argv[2]"`,
    script,
    words.join(" "),
  ],
};

function root(): CommandNode {
  return readCommandTree(createProgram(SILENT_TERMINAL));
}

for (const shell of SHELLS) {
  describe.skipIf(!isInstalled(shell))(`in ${shell}`, () => {
    const at = (...words: string[]) => complete(shell, ["lockport", ...words]);
    /** zsh itself chooses from what it is given by what is typed. */
    const starting = (offered: readonly string[], start: string) =>
      offered.filter((word) => word.startsWith(start));

    test("every command of the tree is offered where it stands, and nothing else", async () => {
      for (const { path, commands, args } of listNodes(root())) {
        const choices = args.flatMap((arg) => arg.choices);
        const isPath = args.some((arg) => arg.isPath);
        const expected = [...commands.map(({ name }) => name), ...choices].sort();
        if (!isPath) expect({ path, offered: await at(...path, "") }).toEqual({ path, offered: expected });
      }
    }, 60_000);

    test("every option of a command is offered after a dash", async () => {
      for (const line of ["", "key create", "usage", "provider add", "requests tail"]) {
        const path = line === "" ? [] : line.split(" ");
        const node = listNodes(root()).find((each) => each.path.join(" ") === line)!;
        const long = node.options
          .flatMap(({ names }) => names.filter((name) => name.startsWith("--")))
          .sort();
        expect({ line, offered: starting(await at(...path, "--"), "--") }).toEqual({ line, offered: long });
      }
    });

    test("the value of an option is neither a command nor forgotten: its words are offered, or nothing", async () => {
      expect(starting(await at("key", "create", "--label", "delete", "--pr"), "--pr")).toEqual([
        "--principal",
      ]);
      expect(starting(await at("usage", "--by", "p"), "p")).toEqual(["person", "provider"]);
      expect(starting(await at("requests", "tail", "--outcome", "u"), "u")).toEqual([
        "unreachable",
        "upstream_error",
      ]);
      expect(starting(await at("principal", "create", "x", "--role", "a"), "a")).toEqual(["admin"]);
      expect(starting(await at("model", "add", "--capability", "chat"), "chat")).toEqual([
        "chat",
        "chat_stream",
      ]);
      expect(starting(await at("snippet", "curl", "--use", "s"), "s")).toEqual(["stream"]);
      expect(await at("key", "create", "--label", "")).toEqual([]);
    });

    test("a path is completed from the folder, also one with a blank in its name", async () => {
      for (const line of [
        ["pricing", "load"],
        ["provider", "add", "x", "--api-key-file"],
      ]) {
        const offered = await at(...line, "a");
        expect(offered.some((path) => path.replaceAll("\\", "").startsWith("a file.json"))).toBe(true);
      }
    });

    test("what is no command is completed to nothing", async () => {
      expect(starting(await at("nothing-such"), "nothing")).toEqual([]);
      expect(starting(await at("key", "nothing-such"), "nothing")).toEqual([]);
    });
  });
}

test("--json has the script as a value, and an unknown shell is exit code 2", async () => {
  const { data } = await runLocal("/nonexistent", ["complete", "bash", "--json"]);
  const plain = await runLocal("/nonexistent", ["complete", "bash"]);
  expect(JSON.parse(data)).toEqual({ shell: "bash", script: plain.data });
  expect(await runLocal("/nonexistent", ["complete", "tcsh"])).toMatchObject({ code: 2, data: "" });
});

test("a flag takes a value in every command that has it, or in none: the scripts tell them apart by name", () => {
  const kinds = new Map<string, Set<boolean>>();
  for (const { options } of listNodes(root())) {
    for (const { names, value } of options) {
      for (const name of names) kinds.set(name, (kinds.get(name) ?? new Set()).add(value !== null));
    }
  }
  expect([...kinds].filter(([, kind]) => kind.size > 1).map(([name]) => name)).toEqual([]);
});

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listNodes, readCommandTree, type CommandNode } from "#cli/screen/help.ts";
import { SHELLS, type Shell } from "#cli/commands/complete.ts";
import { createProgram } from "#cli/program.ts";
import { SILENT_TERMINAL } from "../../contrib/docs/command-line.ts";
import { engineEnvironment } from "../support/engine.ts";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { busyLimit, timed, until } from "../support/waiting.ts";
import { runLocal } from "./terminal.ts";

const isInstalled = (shell: Shell) => Bun.which(shell) !== null;

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
beforeAll(async () => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  writeFileSync(join(folder.path, "a file.json"), "{}");
  symlinkSync(await executable(), join(folder.path, "lockport"));
  for (const shell of SHELLS) {
    const { code, data, messages } = await runLocal("/nonexistent", ["complete", shell]);
    expect({ code, messages }).toEqual({ code: 0, messages: "" });
    writeFileSync(join(folder.path, `lockport.${shell}`), data);
  }
  for (const line of [
    "admin bootstrap",
    "principal create ada",
    "provider add up --base-url http://127.0.0.1:9/v1 --no-api-key",
    "model add team/fast:v1 --provider up --upstream-name u",
    "model add team/fast:v2 --provider up --upstream-name u",
  ]) {
    expect(await runLocal(dataDir, line.split(" "))).toMatchObject({ code: 0 });
  }
});
afterAll(() => folder.remove());

/** Asks the program what it answers to the scripts. */
async function ask(...words: string[]): Promise<readonly string[]> {
  const { code, data, messages } = await runLocal(dataDir, ["complete", "--", ...words]);
  expect({ words, code, messages }).toEqual({ words, code: 0, messages: "" });
  return data.split("\n").flatMap((line) => line.split("\t", 1)[0] || []);
}

/** Asks the shell what it offers at the end of this line, sorted; a last word of `""` is a blank before the cursor. */
async function complete(shell: Shell, words: readonly string[]): Promise<readonly string[]> {
  const script = join(folder.path, `lockport.${shell}`);
  const home = {
    HOME: folder.path,
    LC_ALL: "C.UTF-8",
    PATH: `${folder.path}:${process.env["PATH"]}`,
    PROXY_DATA_DIR: dataDir,
    ...(await engineEnvironment(dataDir)),
  };
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
     _describe() { [[ $1 == -o ]] && shift; print -rl -- "\${(@P)2}" | sed 's/\\\\:/;/g; s/:.*//; s/;/:/g'; }
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

async function root(): Promise<CommandNode> {
  return readCommandTree(await createProgram(SILENT_TERMINAL));
}

describe("lockport complete --", () => {
  test("offers every command of the tree where it stands, and nothing else", async () => {
    for (const { path, commands } of listNodes(await root())) {
      if (commands.length === 0) continue;
      const expected = commands.map(({ name }) => name);
      expect({ path, offered: await ask(...path, "") }).toEqual({ path, offered: expected });
    }
    expect(await ask("snippet", "claude")).toEqual(["claude-code-key", "claude-code"]);
    expect(await ask("nothing-such")).toEqual([]);
    expect(await ask("key", "nothing-such")).toEqual([]);
  });

  test("offers every option of a command after a dash", async () => {
    for (const { path, options } of listNodes(await root())) {
      const expected = options.flatMap(({ names }) => names.filter((name) => name.startsWith("--")));
      expect({ path, offered: await ask(...path, "--") }).toEqual({ path, offered: expected });
    }
  });

  test("takes the value of an option for neither a command nor an argument", async () => {
    expect(await ask("key", "create", "--label", "delete", "--pr")).toEqual(["--principal"]);
    expect(await ask("key", "create", "--label", "")).toEqual([]);
    expect(await ask("usage", "--by", "p")).toEqual(["principal", "provider"]);
    expect(await ask("model", "add", "--capability", "chat")).toEqual(["chat", "chat_stream"]);
  });

  test("offers aliases, providers, principals and ids of the data folder, and none where a name is still to be made", async () => {
    const aliases = ["team/fast:v1", "team/fast:v2"];
    for (const line of ["model remove", "model alias new", "usage --model", "pricing show --model"])
      expect({ line, offered: await ask(...line.split(" "), "") }).toEqual({ line, offered: aliases });
    for (const line of ["provider set", "model list --provider", "provider discover"])
      expect({ line, offered: await ask(...line.split(" "), "") }).toEqual({ line, offered: ["up"] });
    for (const line of ["key create --principal", "usage --principal", "principal revoke-sessions"])
      expect({ line, offered: await ask(...line.split(" "), "a") }).toEqual({
        line,
        offered: ["ada", "admin"],
      });
    expect(await ask("key", "delete", "")).toHaveLength(1);
    for (const line of [
      "provider add",
      "principal create",
      "model add",
      "model alias",
      "provider discover up --model",
    ])
      expect({ line, offered: await ask(...line.split(" "), "") }).toEqual({ line, offered: [] });
  });

  test("is silent, and changes nothing, where there is no data folder, on a server's names and on a secret", async () => {
    const nowhere = join(folder.path, "nowhere");
    const line = ["complete", "--", "model", "remove", "--data-dir", nowhere, ""];
    expect(await runLocal(nowhere, line)).toEqual({ code: 0, data: "", messages: "" });
    expect(existsSync(nowhere)).toBe(false);
    expect(await ask("model", "remove", "--url", "http://127.0.0.1:1", "")).toEqual([]);
    expect(await ask("key", "delete", "--token=hunter2", "--js")).toEqual(["--json"]);
  });

  test("offers no names of a PostgreSQL that is silent, and holds the prompt up for less than a second", async () => {
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const env = {
      PROXY_DATABASE_URL: `postgres://a@127.0.0.1:${silent.port}/b`,
      PROXY_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    const { result: run, tookMs } = await timed(() =>
      runLocal(dataDir, ["complete", "--", "model", "remove", ""], { env }),
    );
    expect(run).toEqual({ code: 0, data: "", messages: "" });
    expect(tookMs).toBeLessThan(busyLimit(1_000));
    silent.stop(true);
  });
});

for (const shell of SHELLS) {
  describe.skipIf(!isInstalled(shell))(`in ${shell}`, () => {
    const at = (...words: string[]) => complete(shell, ["lockport", ...words]);
    /** zsh itself chooses from what it is given by what is typed. */
    const starting = (offered: readonly string[], start: string) =>
      offered.filter((word) => word.startsWith(start));

    test("commands, options and words are offered where they stand", async () => {
      expect(await at("key", "")).toEqual(["create", "delete", "list", "rotate", "set"]);
      expect(starting(await at("key", "create", "--pr"), "--pr")).toEqual(["--principal"]);
      expect(starting(await at("usage", "--by", "p"), "p")).toEqual(["principal", "provider"]);
      expect(await at("key", "create", "--label", "")).toEqual([]);
    });

    test("names of the data folder are offered, also an alias with colons that is half typed", async () => {
      // A busy PostgreSQL may not give them in the time that a person waits at the prompt.
      const named = async (...words: string[]) => {
        let offered: readonly string[] = [];
        const isOffered = async () => (offered = await at(...words)).length > 0;
        await until(isOffered, () => `names after ${words.join(" ")}`);
        return offered;
      };
      expect(await named("provider", "set", "")).toEqual(["up"]);
      if (shell !== "bash")
        expect(await named("model", "remove", "te")).toEqual(["team/fast:v1", "team/fast:v2"]);
      // Bash cuts a word at its colons, and takes the part behind them only.
      else expect(await named("model", "remove", "team/fast", ":", "v")).toEqual(["v1", "v2"]);
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
  });
}

test("--json has the script as a value, and an unknown shell is exit code 2", async () => {
  const { data } = await runLocal("/nonexistent", ["complete", "bash", "--json"]);
  const plain = await runLocal("/nonexistent", ["complete", "bash"]);
  expect(JSON.parse(data)).toEqual({ shell: "bash", script: plain.data });
  expect(await runLocal("/nonexistent", ["complete", "tcsh"])).toMatchObject({ code: 2, data: "" });
});

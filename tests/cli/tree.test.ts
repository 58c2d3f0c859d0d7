import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { listNodes, readCommandTree } from "#cli/screen/help.ts";
import { createProgram } from "#cli/program.ts";
import { SILENT_TERMINAL } from "../../contrib/docs/command-line.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal, type CliInput } from "./terminal.ts";
import { listRoutes } from "#http/local.ts";
import { toOpenApiDocument } from "#http/openapi/document.ts";

const folder = useFolder();

const run = (line: string, input?: CliInput) =>
  runLocal(folder.data, line === "" ? [] : line.split(" "), input);

const tree = readCommandTree(await createProgram(SILENT_TERMINAL));
const nodes = listNodes(tree).slice(1);
const leaves = nodes.filter(({ commands }) => commands.length === 0);

describe("the command tree", () => {
  test("fits a screen of 24 lines and 80 columns as a whole, whoever asks for it, with every command in it", async () => {
    for (const line of ["--help", "-h", "help"]) {
      const { code, data, messages } = await run(line);
      expect({ line, code, messages }).toEqual({ line, code: 0, messages: "" });
      const lines = data.trimEnd().split("\n");
      // The prompt's line pushes the usage away, and no command.
      expect(lines.length).toBeLessThanOrEqual(24);
      expect(Math.max(...lines.map((each) => each.length))).toBeLessThanOrEqual(80);
      for (const { name } of tree.commands)
        expect(data).toMatch(new RegExp(`(?:^(?:\\w+)? +|; )${name} `, "m"));
      for (const { path } of nodes.filter((each) => each.path.length === 2)) expect(data).toContain(path[1]!);
      expect(data).not.toContain("…");
    }
    expect(existsSync(folder.data)).toBe(false);
  });

  test("explains each command and group on stdout with exit code 0 in 80 columns, with what it does, its options and examples that are its own", async () => {
    for (const { path, description, options, commands } of nodes) {
      const line = path.join(" ");
      const { code, data, messages } = await run(`${line} --help`);
      expect({ line, code, messages }).toEqual({ line, code: 0, messages: "" });
      expect(data.replaceAll(/\s+/g, " ")).toContain(description);
      expect(data.split("\n").filter((each) => Bun.stringWidth(each) > 80)).toEqual([]);
      const [, examples = ""] = data.split("\nExamples:\n");
      expect({ line, hasExample: examples.includes(`lockport ${line}`) }).toEqual({ line, hasExample: true });
      // These two are a command and a group each; what `export focus` writes of costs is CSV.
      const isBoth = line === "export" || line === "errors";
      const isGroup = (commands.length > 0 && !isBoth) || line === "export focus";
      expect({ line, json: options.some(({ names: flags }) => flags.includes("--json")) }).toEqual({
        line,
        json: !isGroup,
      });
      expect(options.every((option) => option.description !== "")).toBe(true);
    }
    expect(existsSync(folder.data)).toBe(false);
  });

  test("has no example with an option or a command that does not exist", async () => {
    for (const { path } of nodes) {
      const { data } = await run(`${path.join(" ")} --help`);
      const examples = (data.split("\nExamples:\n")[1] ?? "").replaceAll(/ \\\n */g, " ");
      for (const [, words = ""] of examples.matchAll(/lockport ((?:[^|>)"]|\n)*?)(?=\n|\||>|\)|"|$)/g)) {
        const given = words.trim().split(/\s+/);
        const node = nodes.findLast((each) => each.path.every((name, index) => given[index] === name));
        expect({ words, known: node !== undefined }).toEqual({ words, known: true });
        const flags = given.filter((word) => word.startsWith("-") && word !== "-");
        const known = new Set(node!.options.flatMap((option) => option.names));
        expect({ words, unknown: flags.filter((flag) => !known.has(flag)) }).toEqual({
          words,
          unknown: [],
        });
      }
    }
  });

  test("a group without a verb, no command at all and a word too many are exit code 2, with nothing on stdout", async () => {
    for (const line of [
      "",
      "key",
      "admin password",
      "key list extra",
      "complete",
      "complete tcsh",
      "usage --by wat",
    ]) {
      const { code, data, messages } = await run(line);
      expect({ line, code, data, said: messages !== "" }).toEqual({ line, code: 2, data: "", said: true });
    }
  });

  test("a typo in a command, a verb or an option is answered with what was probably meant, and exit code 2", async () => {
    const typos: readonly [string, string][] = [
      ["serv", "Did you mean serve?"],
      ["relay-tokne list", "Did you mean relay-token?"],
      ["provider discver up", "Did you mean discover?"],
      ["admin pasword show", "Did you mean password?"],
      ["admin password sho", "Did you mean show?"],
      ["requests tail --folow", "Did you mean --follow?"],
      ["model add a --upstream-nam x", "Did you mean --upstream-name?"],
      ["usage --sinse 7d", "Did you mean --since?"],
      ["help provder", "Did you mean provider?"],
      ["provder --help", "Did you mean provider?"],
      ["help provider ad", "Did you mean add?"],
      ["provider help ad", "Did you mean add?"],
      ["provider ad --help", "Did you mean add?"],
    ];
    for (const [line, hint] of typos) {
      const { code, data, messages } = await run(line);
      expect({ line, code, data }).toEqual({ line, code: 2, data: "" });
      expect(messages).toContain(hint);
    }
    for (const [line, help] of [
      ["frobnicate", "lockport --help lists the commands."],
      ["key rm x", "lockport key --help lists the commands."],
      ["key create", "lockport key create --help shows what it takes."],
      ["key delete", "lockport key delete --help shows what it takes."],
      ["key list --frobnicate", "lockport key list --help shows what it takes."],
    ] as const) {
      const { code, messages } = await run(line);
      expect({ line, code }).toEqual({ line, code: 2 });
      expect(messages).toEndWith(`\n(${help})\n`);
      expect(messages).not.toContain("Did you mean");
    }
    expect(existsSync(folder.data)).toBe(false);
  });
});

test("a word that other programs have for a command names ours, with exit code 2 and nothing done", async () => {
  for (const [word, ...meant] of [
    ["status", "lockport health", "lockport doctor"],
    ["logs", "lockport requests tail", "stderr"],
    ["log", "lockport requests tail"],
    ["start", "lockport serve"],
    ["stop", "SIGTERM"],
    ["users", "lockport principal"],
    ["user list", "lockport principal"],
  ] as const) {
    const { code, data, messages } = await run(word);
    expect({ word, code, data }).toEqual({ word, code: 2, data: "" });
    expect(messages).toStartWith(`lockport: unknown command '${word.split(" ")[0]}'\n`);
    for (const each of meant) expect(messages).toContain(each);
    expect(messages).not.toContain("Did you mean");
    expect(messages).not.toContain("lists the commands");
  }
  expect(existsSync(folder.data)).toBe(false);
});

test("the version is told to whoever asks with a word, as with the option", async () => {
  for (const rest of ["", " --json"]) {
    const asked = await run(`version${rest}`);
    expect(asked).toEqual(await run(`--version${rest}`));
    expect(asked).toMatchObject({ code: 0, messages: "" });
  }
});

test("help for a command is the same however it is asked for", async () => {
  const asked = await Promise.all(
    ["key create --help", "key create -h", "help key create", "key help create"].map((line) => run(line)),
  );
  for (const each of asked) expect(each).toEqual(asked[0]!);
  expect(asked[0]!.data).toStartWith("Usage: lockport key create ");
});

describe("a secret among the arguments", () => {
  const secret = "sk-do-not-repeat-me";
  const key = `lp_${"a".repeat(43)}`;

  test("is refused by every spelling with exit code 2 and what to do instead, and is repeated nowhere", async () => {
    const add = "provider add up --base-url http://127.0.0.1:9/v1";
    for (const line of [
      `${add} --api-key ${secret}`,
      `${add} --api-key=${secret}`,
      `provider set up --api-key ${secret}`,
      `admin bootstrap --password ${secret}`,
      `key list --token=${secret}`,
      `key list --url http://127.0.0.1:1 --secret ${secret}`,
    ]) {
      const { code, data, messages } = await run(line);
      expect({ line, code, data }).toEqual({ line, code: 2, data: "" });
      expect(messages).not.toContain(secret);
      expect(messages).toContain("--api-key-file");
      expect(messages).toContain("LOCKPORT_API_KEY");
    }
    const { code, messages } = await run(`key delete ${key}`);
    expect({ code, repeats: messages.includes(key) }).toEqual({ code: 2, repeats: false });
    expect(messages).toContain("by its id");
    expect(existsSync(folder.data)).toBe(false);
  });

  test("is known by its form as a provider's key or a login link, wherever it stands, and is not repeated", async () => {
    const random = "4fJ9aQ2xLm7TzK0wRb5N8cYd";
    for (const pasted of [
      `sk-${random}`,
      "sk-proj-abcdefghijklmnopqrstuvwx",
      `sk-proj-_-${random}_x`,
      `sk-ant-api03-${random}-AA`,
      `sk-or-v1-${random}`,
      `gsk_${random}`,
      `AIzaSy${random}-_x`,
      `xai-${random}`,
      `hf_${random}`,
      `r8_${random}`,
      `pplx-${random}`,
      `nvapi-${random}`,
      `lpl_${"a1".repeat(21)}b`,
    ]) {
      for (const line of [
        `provider add z --base-url http://127.0.0.1:9/v1 --api-key-file ${pasted}`,
        `provider add z --base-url http://127.0.0.1:9/v1 --api-key-file=${pasted}`,
        `provider add ${pasted} --base-url http://127.0.0.1:9/v1 --no-api-key`,
        `model add m --provider p --upstream-name ${pasted}`,
        `key list --url http://127.0.0.1:9/#login=${pasted}`,
        pasted,
      ]) {
        const { code, data, messages } = await run(line);
        expect({ line, code, data }).toEqual({ line, code: 2, data: "" });
        expect(messages).toContain("the shell's history keeps now");
        expect(messages).not.toContain(pasted.slice(6));
      }
    }
  });

  test("is not taken for one when it is a name that only begins so", async () => {
    for (const name of [
      "sk-learn",
      "sk-mistral-large-instruct-2407-fp8",
      "hf_llama_3_70b_instruct_awq_int4",
      "xai-grok-4-fast-reasoning-preview",
      "pplx-70b-online",
      "task-0123456789abcdef0123456789abcdef",
      "gsk_small",
    ]) {
      const { code, messages } = await run(`key create --principal ada --label ${name}`);
      expect({ name, code }).toEqual({ name, code: 78 });
      expect(messages).not.toContain("history");
    }
  });

  test("has no option that would take one: what takes a secret takes a file or asks", () => {
    const takers = leaves.flatMap(({ path, options }) =>
      options
        .filter(
          ({ value, names: flags }) =>
            value !== null && flags.some((flag) => /key|secret|password|token/.test(flag)),
        )
        .map(
          ({ names: flags, value }) =>
            `${path.join(" ")} ${flags.join(" ")}${value?.isPath === true ? " path" : ""}`,
        ),
    );
    // `--key` and `--relay-token` name one by its id.
    expect(takers.filter((taker) => !/ (?:path|--key|--relay-token)$/.test(taker))).toEqual([]);
  });
});

test("lockport openapi prints the document and makes no data folder", async () => {
  const { code, data, messages } = await run("openapi");
  expect({ code, messages }).toEqual({ code: 0, messages: "" });
  expect(JSON.parse(data)).toEqual(JSON.parse(JSON.stringify(toOpenApiDocument(listRoutes()))));
  expect(existsSync(folder.data)).toBe(false);
});

import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { useFolder } from "../support/folder.ts";
import { createClockAt } from "../limits/world.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
beforeEach(async () => {
  for (const line of [
    "admin bootstrap",
    "provider add up --base-url http://127.0.0.1:9/v1 --no-api-key",
    "model add gpt --provider up --upstream-name gpt-x",
  ])
    expect(await run(line)).toMatchObject({ code: 0 });
});

const run = (line: string | readonly string[], input?: CliInput) =>
  runLocal(folder.data, typeof line === "string" ? line.split(" ") : line, input);

/** Nothing listens there: whoever asked it would end with 69. */
const NOWHERE = "--url http://127.0.0.1:1";

async function refuses(line: string | readonly string[], ...said: readonly string[]): Promise<string> {
  const { code, data, messages } = await run(line, { env: { LOCKPORT_API_KEY: "lp_x" } });
  expect({ line, code, data }).toEqual({ line, code: 2, data: "" });
  expect(messages).toStartWith("lockport: ");
  for (const each of said) expect(messages).toContain(each);
  return messages;
}

describe("a value that an option does not know", () => {
  test("is exit code 2 with those that it knows, and with the one that was probably meant", async () => {
    for (const [line, known] of [
      ["principal create x --role root", "member, admin"],
      ["principal create x --kind bot", "user, service"],
      ["model add b --provider up --upstream-name b --capability foo", "chat, chat_stream, completions"],
      ["provider discover up --bind --capability foo", "chat, chat_stream, completions"],
      ["model resolve gpt --endpoint foo", "chat, completions, embeddings"],
      ["model add b --provider up --upstream-name b --price foo=1", "input_tokens, output_tokens"],
      ["provider set up --endpoint foo=http://127.0.0.1:9/chat", "chat, completions, embeddings"],
      ["requests tail --outcome foo", "ok, upstream_error, unreachable, cancelled, failed"],
      ["usage --by foo", "model, principal, key, provider"],
      ["snippet curl --use foo", "chat, stream, responses"],
      ["complete powershell", "bash, zsh, fish"],
    ] as const)
      expect(await refuses(line, known)).not.toContain("Did you mean");
    await refuses("principal create x --role admn", "(Did you mean admin?)");
    await refuses("model resolve gpt --endpoint chta", "(Did you mean chat?)");
    await refuses("provider set up --endpoint caht=http://127.0.0.1:9/chat", "(Did you mean chat?)");
    await refuses("usage --by modle", "(Did you mean model?)");
    await refuses("snippet crul", "(Did you mean curl?)");
    await refuses("complete bsh", "(Did you mean bash?)");
    expect(await refuses("complete tcsh", "bash, zsh, fish")).not.toContain("Did you mean");
    expect(JSON.parse((await run("principal list --json")).data)).toHaveLength(1);
    expect(JSON.parse((await run("model list --json")).data)).toHaveLength(1);
  });
});

describe("an instant, a tag and a number", () => {
  test("that is none is exit code 2 and says which forms there are", async () => {
    for (const option of ["--since", "--until"])
      for (const text of ["tomorrow", "7", "2026-02-30"])
        await refuses(
          ["usage", option, text],
          "2026-01-31T08:00:00Z",
          "how long ago: 90s, 15m, 12h, 7d",
          "last-month",
        );
    for (const text of ["app", "app=wiki", ":wiki", "a:b:c"])
      await refuses(["usage", "--tag", text], "key:value, such as app:wiki");
    await refuses(`requests tail ${"--tag a:b ".repeat(5).trim()}`, "At most 4 tags");
    for (const line of [
      "provider set up --timeout-read soon",
      "provider set up --timeout-read -1",
      "provider set up --timeout-connect 0",
      "provider set up --max-concurrency 1.5",
      "requests tail -n few",
      "model add b --provider up --upstream-name b --price input_tokens=cheap",
      "model add b --provider up --upstream-name b --price input_tokens=-1",
    ])
      await refuses(line);
    await refuses(
      "model add b --provider up --upstream-name b --price input_tokens=cheap",
      "--price: What stands behind the equals sign must be a number.",
    );
  });

  test("a word is when that day, week or month of the UTC calendar begins", async () => {
    // A Wednesday.
    const clock = createClockAt("2026-03-11T12:00:00Z");
    const since = async (line: string) => {
      const { code, data, messages } = await run(`usage --json ${line}`, { clock });
      expect({ line, code, messages }).toEqual({ line, code: 0, messages: "" });
      const { since: from, until } = JSON.parse(data);
      return until === null ? from : [from, until];
    };
    for (const [word, day] of [
      ["today", "2026-03-11"],
      ["yesterday", "2026-03-10"],
      ["this-week", "2026-03-09"],
      ["last-week", "2026-03-02"],
      ["this-month", "2026-03-01"],
      ["last-month", "2026-02-01"],
    ])
      expect(await since(`--since ${word}`)).toBe(`${day}T00:00:00.000000Z`);
    expect(await since("--since last-month --until this-month")).toEqual([
      "2026-02-01T00:00:00.000000Z",
      "2026-03-01T00:00:00.000000Z",
    ]);
    expect(await since("--by day")).toBe("2026-02-10T00:00:00.000000Z");
    expect(await since("--by day --until today")).toEqual([
      "2026-02-09T00:00:00.000000Z",
      "2026-03-11T00:00:00.000000Z",
    ]);
    await refuses("usage --since yesterday --until yesterday", "is when that begins");
  });

  test("a window that ends before it begins is exit code 2", async () => {
    await refuses("usage --since 1d --until 7d", "--since has to be before --until");
    await refuses("requests tail --since 2026-02-01 --until 2026-01-01");
    const { code, data } = await run("usage --until 2020-02-01 --json");
    expect(code).toBe(0);
    expect(JSON.parse(data)).toMatchObject({ since: "2020-01-02T00:00:00.000000Z", until: "2020-02-01" });
  });
});

test("what can be judged here is refused before a server is asked, with exit code 2 and the interface's code", async () => {
  for (const [line, code] of [
    ["principal create Not-A-Name", "(invalid_name, name)"],
    ["provider add Bad --base-url http://127.0.0.1:9/v1", "(invalid_name, name)"],
    ["provider add x --base-url file:///etc", "(invalid_base_url, base_url)"],
    ["provider set x --endpoint chat=nowhere", "(invalid_override"],
    ["model add -- -x", ""],
    ["model add x --provider up", "(invalid_request, upstream_name)"],
    ["model alias x! gpt", "(invalid_name, alias)"],
    ["model rename gpt x!", "(invalid_name, alias)"],
    [`key create --principal ada --label ${"x".repeat(121)}`, "(invalid_label, label)"],
    [`relay-token create --label ${"x".repeat(121)}`, "(invalid_label, label)"],
    ["usage --since tomorrow", ""],
    ["principal create x --role root", ""],
  ] as const)
    await refuses(
      line.includes(" -- ") ? line.replace(" -- ", ` ${NOWHERE} -- `) : `${line} ${NOWHERE}`,
      code,
    );
});

describe("an option that is given again", () => {
  test("is exit code 2 where only the last would count, and so is one beside its opposite", async () => {
    for (const line of [
      "key create --principal ada --principal grace",
      "key list --data-dir /a --data-dir /b",
      "requests tail -n 5 --lines 6",
      "principal create x --role admin --role member",
      "snippet curl --use chat --use stream",
    ])
      await refuses(line, "was given twice: give it once.");
    await refuses(
      "provider set up --verify-tls --no-verify-tls",
      "--verify-tls and --no-verify-tls exclude each other",
    );
    for (const line of [
      "provider set up --no-api-key --api-key-file -",
      "provider set up --ca-file x --no-ca",
      "provider set up --endpoint chat=http://127.0.0.1:9/chat --no-endpoints",
      "model add b --target gpt --provider up",
      "model add b --target gpt --capability chat",
      "requests tail --follow --until 1h",
    ])
      await refuses(line, "cannot be used with option");
    const twice = "provider set up --endpoint chat=http://127.0.0.1:9/a --endpoint chat=http://127.0.0.1:9/b";
    await refuses(twice, "chat was given twice");
  });

  test("adds to a list, and a switch says the same twice", async () => {
    const line =
      "model add two --provider up --upstream-name t --capability chat --capability vision --json --json";
    expect(JSON.parse((await run(line)).data)).toMatchObject({ capabilities: ["chat", "vision"] });
  });
});

test("what only says how to bind is exit code 2 without --bind", async () => {
  await refuses(`provider discover up --hidden ${NOWHERE}`, "--hidden", "add --bind");
  await refuses(`provider discover up --capability chat ${NOWHERE}`, "--capability", "add --bind");
});

test("a first admin of a malformed name is exit code 2, and makes no installation", async () => {
  const empty = join(folder.path, "empty");
  const { code, data, messages } = await runLocal(empty, ["admin", "bootstrap", "--name", "Not A Name"]);
  expect({ code, data }).toEqual({ code: 2, data: "" });
  expect(messages).toStartWith("lockport: ");
  expect(existsSync(empty)).toBe(false);
});

test("a blank value is exit code 2, and never means what is there without the option", async () => {
  for (const line of [
    ["key", "list", "--data-dir", ""],
    ["key", "list", "--principal", " "],
    ["key", "create", "--principal", ""],
    ["model", "list", "--provider="],
    ["usage", "--principal", ""],
  ])
    await refuses(line, "is blank: give it a value");
});

test("an option before the command is exit code 2 and told where it belongs", async () => {
  await refuses("--json key list", "--json comes after the command");
  await refuses("--data-dir=/x key list", "--data-dir comes after the command");
  await refuses("--jsn key list", "unknown option '--jsn'");
});

test("a URL with a password in it is not repeated when it is refused", async () => {
  for (const line of [
    "provider add x --base-url https://u:hunter2@h/v1",
    "provider set up --base-url https://u:hunter2@h/v1",
    "provider set up --endpoint chat=https://u:hunter2@h/v1",
    "provider set up --endpoint chta=https://u:hunter2@h/v1",
    "provider set up --endpoint https://u:hunter2@h/v1",
    "key list --url https://u:hunter2@h",
    "snippet curl --url https://u:hunter2@h",
  ])
    expect(await refuses(line)).not.toContain("hunter2");
});

test("control characters of an argument do nothing to the terminal that shows its refusal", async () => {
  const messages = await refuses(
    ["principal create", "x", "--role", "\u001b[2Jroot"].flatMap((w) => w.split(" ")),
  );
  expect(messages).toContain(String.raw`\u001b[2Jroot`);
  expect(messages).not.toContain("\u001b");
});

test("a provider without a key says so on stderr and how to set one, unless that was asked for or JSON was", async () => {
  const add = "--base-url http://127.0.0.1:9/v1";
  const silent = await run(`provider add a ${add}`);
  expect(silent).toMatchObject({ code: 0, data: "" });
  expect(silent.messages).toMatch(
    /^added provider a\nRequests to it go without a credential\. .* provider set a --api-key-file PATH\n$/,
  );
  expect((await run(`provider add b ${add} --data-dir ${folder.data}`)).messages).toContain(
    ` --data-dir ${folder.data}\n`,
  );
  expect((await run(`provider add c ${add} --no-api-key`)).messages).toBe("added provider c\n");
  expect((await run(`provider add d ${add} --json`)).messages).toBe("");
  expect((await run(`provider add e ${add} --api-key-file -`, { stdin: "sk-1" })).messages).toBe(
    "added provider e\n",
  );
});

test("prices under a name that has none are told apart from no feed", async () => {
  expect((await run("pricing show --model gpt")).messages).toBe("No price is kept under this name.\n");
  expect((await run("pricing show")).messages).toBe("no feed was loaded yet\n");
});

test("a base URL that looks wrong is taken, and said on stderr with what to type instead", async () => {
  for (const [url, suggestion] of [
    ["http://127.0.0.1:9", "http://127.0.0.1:9/v1"],
    ["http://127.0.0.1:9/v1/chat/completions/", "http://127.0.0.1:9/v1"],
  ]) {
    const { code, messages } = await run(`provider set up --base-url ${url}`);
    expect(code).toBe(0);
    expect(messages).toContain(`provider set up --base-url ${suggestion}\n`);
  }
  for (const url of [
    "http://127.0.0.1:9/v1beta/openai",
    "http://127.0.0.1:9/api/v3/",
    "http://127.0.0.1:9/v1",
  ])
    expect((await run(`provider set up --base-url ${url}`)).messages).toBe("changed provider up\n");
  expect((await run("provider set up --base-url http://127.0.0.1:9 --json")).messages).toBe("");
});

test("a window in which nothing was used says so on stderr, and JSON stays as it is", async () => {
  for (const line of [
    "usage",
    "usage --by principal --since 7d",
    "requests tail",
    "requests tail --tag app:wiki",
  ]) {
    const { code, messages } = await run(line);
    expect({ line, code }).toEqual({ line, code: 0 });
    expect(messages).toContain("No requests in this window.\n");
  }
  expect(await run("requests tail --json")).toEqual({ code: 0, data: "", messages: "" });
  expect((await run("usage --json")).messages).toBe("");
});

import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApp, type TestApp } from "../support/app.ts";
import { makeEmptyInstallation } from "../support/empty-installation.ts";
import { useFolder } from "../support/folder.ts";
import { startUpstream } from "../support/upstream.ts";
import { chat, waysTo } from "./both-ways.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
let path: string;
beforeEach(async () => {
  path = join(folder.path, "catalog.yaml");
  for (const name of ["one", "two"]) await makeEmptyInstallation(join(folder.path, name));
});

const runIn = (name: string, line: string, input?: CliInput) =>
  runLocal(join(folder.path, name), line.split(" "), input);

/** An installation with something of everything. */
async function fill(name: string): Promise<string> {
  const lines: readonly (readonly [line: string, stdin?: string])[] = [
    ["provider add up --base-url http://10.0.0.1/v1 --api-key-file - --max-concurrency 4", "sk-first"],
    ["provider add idle --base-url http://10.0.0.2/v1 --no-api-key --endpoint chat=http://10.0.0.2/c"],
    ["provider disable idle"],
    ["model add gpt --provider up --upstream-name gpt-x --price input_tokens=1.25"],
    ["model add embed --provider idle --upstream-name bge --capability embeddings --hidden"],
    ["model alias fast gpt --price output_tokens=2"],
    [
      "pricing load -",
      '{"version":"v1","entries":[{"model":"bge","unit":"input_tokens","price_per_million":0.1}]}',
    ],
  ];
  for (const [line, stdin] of lines) {
    const { code, messages } = await runIn(name, line, stdin === undefined ? {} : { stdin });
    expect({ line, code, messages }).toMatchObject({ code: 0 });
  }
  return (await runIn(name, "export")).data;
}

describe("lockport export", () => {
  test("writes a file without any key, the same bytes each time, and nothing on stderr", async () => {
    const text = await fill("one");
    expect(await runIn("one", "export")).toEqual({ code: 0, data: text, messages: "" });
    expect(text).not.toContain("sk-first");
    expect(text).toContain("api_key_env: UP_API_KEY");
    expect(text.startsWith("# The catalog of a Lockport")).toBe(true);
  });

  test("as JSON is the same catalog, which apply takes too", async () => {
    await fill("one");
    writeFileSync(path, (await runIn("one", "export --json")).data);
    expect((await runIn("one", `apply ${path}`)).messages).toBe("nothing to change\n");
  });
});

describe("lockport apply", () => {
  test("shows the difference, needs --yes where nobody can be asked, and brings an empty installation to the same bytes", async () => {
    const text = await fill("one");
    writeFileSync(path, text);
    const refused = await runIn("two", `apply ${path}`);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.messages).toContain("lockport: 6 changes to make. Nothing was changed: add --yes.");
    expect(refused.data.split("\n")[0]).toBe(
      "+  provider  idle   http://10.0.0.2/v1; no API key; endpoints: chat=http://10.0.0.2/c; enabled: false",
    );
    expect(JSON.parse((await runIn("two", "provider list --json")).data)).toEqual([]);

    const dry = await runIn("two", `apply ${path} --dry-run`);
    expect(dry).toMatchObject({ code: 0, data: refused.data });
    expect(JSON.parse((await runIn("two", "provider list --json")).data)).toEqual([]);

    const input = { env: { UP_API_KEY: "sk-second" } };
    const done = await runIn("two", `apply ${path} --yes`, input);
    expect(done).toMatchObject({ code: 0, messages: "made 6 changes\n" });
    expect(done.data).toContain("API key from UP_API_KEY");
    expect(done.data + done.messages).not.toContain("sk-second");
    expect((await runIn("two", "export")).data).toBe(text);
    expect(await runIn("two", `apply ${path} --yes`, input)).toEqual({
      code: 0,
      data: "",
      messages: "nothing to change\n",
    });
  });

  test("with --dry-run --exit-code ends with 3 where something would change and 0 where nothing would, and changes nothing", async () => {
    const text = await fill("one");
    writeFileSync(path, text);
    const dry = await runIn("two", `apply ${path} --dry-run`);
    expect(dry).toMatchObject({ code: 0 });
    expect(await runIn("two", `apply ${path} --dry-run --exit-code`)).toEqual({ ...dry, code: 3 });
    const json = await runIn("two", `apply ${path} --dry-run --exit-code --json`);
    expect([json.code, JSON.parse(json.data).changes.length]).toEqual([3, 6]);
    expect(JSON.parse((await runIn("two", "provider list --json")).data)).toEqual([]);
    expect(await runIn("one", `apply ${path} --dry-run --exit-code`)).toEqual({
      code: 0,
      data: "",
      messages: "nothing to change\n",
    });
    // No failure has the code of a difference.
    writeFileSync(path, "providers: 1\n");
    expect((await runIn("two", `apply ${path} --dry-run --exit-code`)).code).toBe(1);
    expect((await runIn("two", `apply ${path} --exit-code --yes`)).code).toBe(2);
  });

  test("carries how a provider's key is sent, and tells of it where it changes, in both directions", async () => {
    const text = await fill("one");
    await runIn("one", "provider set up --auth-style x-api-key");
    const changed = (await runIn("one", "export")).data;
    expect(changed).toBe(
      text.replace("api_key_env: UP_API_KEY", "api_key_env: UP_API_KEY\n    auth_style: x-api-key"),
    );
    writeFileSync(path, text);
    expect((await runIn("one", `apply ${path} --yes`)).data).toContain("auth_style: x-api-key -> bearer");
    writeFileSync(path, changed);
    expect((await runIn("one", `apply ${path} --yes`)).data).toContain("auth_style: bearer -> x-api-key");
    expect((await runIn("two", `apply ${path} --dry-run`)).data).toContain("auth_style: x-api-key");
    writeFileSync(path, changed.replace("auth_style: x-api-key", "auth_style: basic"));
    const refused = await runIn("one", `apply ${path} --yes`);
    expect([refused.code, refused.messages]).toEqual([
      1,
      expect.stringContaining("auth_style is bearer or x-api-key."),
    ]);
  });

  test("asks on a terminal, and does nothing but for a yes", async () => {
    writeFileSync(path, await fill("one"));
    for (const typed of ["", "n", "what"]) {
      const { code, messages } = await runIn("two", `apply ${path}`, { typed });
      expect({ code, asked: messages.includes("Make 6 changes? [y/N]") }).toEqual({ code: 1, asked: true });
      expect(JSON.parse((await runIn("two", "model list --json")).data)).toEqual([]);
    }
    expect((await runIn("two", `apply ${path}`, { typed: "y" })).code).toBe(0);
    expect(JSON.parse((await runIn("two", "model list --json")).data)).toHaveLength(3);
  });

  test("tells a missing key, fills it in on a later run, and never replaces or removes one that is stored", async () => {
    const text = await fill("one");
    writeFileSync(path, text);
    const without = await runIn("two", `apply ${path} --yes`);
    expect(without.code).toBe(0);
    expect(without.messages).toContain("up has no API key: the variable UP_API_KEY is not set.");
    const has = async () => JSON.parse((await runIn("two", "provider list --json")).data)[1].has_credential;
    expect(await has()).toBe(false);
    writeFileSync(join(folder.path, "up.key"), "sk-file\n");
    writeFileSync(path, text.replace("api_key_env: UP_API_KEY", "api_key_file: up.key"));
    expect((await runIn("two", `apply ${path} --yes`)).data).toBe("~  provider  up  API key from up.key\n");
    expect(await has()).toBe(true);
    writeFileSync(path, text.replace("    api_key_env: UP_API_KEY\n", ""));
    expect((await runIn("two", `apply ${path} --yes --prune`)).messages).toBe("nothing to change\n");
    expect(await has()).toBe(true);
  });

  test("changes what differs, keeps what the file does not have, and removes it with --prune only", async () => {
    const text = await fill("one");
    const changed = text.replace("input_tokens: 1.25", "input_tokens: 1.5").replace("    hidden: true\n", "");
    writeFileSync(path, changed);
    await runIn("one", "model add extra --provider up --upstream-name y");
    const kept = await runIn("one", `apply ${path} --yes`, { screens: true, env: { NO_COLOR: "1" } });
    expect(kept.data).toBe(
      "~  model  embed  hidden: true -> false\n~  model  gpt    prices: input_tokens=1.25 -> input_tokens=1.5\n",
    );
    expect(kept.messages).toContain(
      "does not have 1 model of this installation. They stay; --prune removes them.",
    );
    const coloured = await runIn("one", `apply ${path} --prune --dry-run`, { screens: true });
    expect(coloured.data).toBe("\u001b[31m-\u001b[39m  model  extra  up: y\n");
    expect((await runIn("one", `apply ${path} --prune --yes`)).data).toBe("-  model  extra  up: y\n");
    expect((await runIn("one", "export")).data).toBe(changed);
  });

  test("tells prices to come in words, and brings them over; one that has begun is refused with its place", async () => {
    await fill("one");
    await runIn("one", "model set gpt --price input_tokens=2 --effective-from 2999-01-01");
    const text = (await runIn("one", "export")).data;
    writeFileSync(path, text.replace("    api_key_env: UP_API_KEY\n", ""));
    const { data } = await runIn("two", `apply ${path} --yes`);
    const words = "from 2999-01-01T00:00:00.000000Z; price list: by hand; prices: input_tokens=2";
    expect(data.replaceAll(/ +/g, " ")).toContain(`+ prices_to_come gpt ${words}\n`);
    const former = text.slice(text.indexOf("prices_to_come:"));
    expect((await runIn("two", "export")).data).toContain(former);
    writeFileSync(path, text.slice(0, text.indexOf("prices_to_come:")));
    const kept = await runIn("one", `apply ${path} --yes`);
    expect(kept.messages).toContain("does not have 1 set of prices to come of this installation. They stay;");
    expect((await runIn("one", `apply ${path} --yes --prune`)).data).toBe(
      `-  prices_to_come  gpt  ${words}\n`,
    );
    writeFileSync(path, text.replace("2999-01-01T", "2020-01-01T"));
    const refused = await runIn("one", `apply ${path} --yes`);
    expect(refused.code).toBe(1);
    expect(refused.messages).toContain("prices_to_come[0].effective_from");
    expect(refused.messages).toContain("This moment has passed");
  });

  test("refuses a file of another shape, half a file, and one that is not there, each with a sentence and nothing changed", async () => {
    const text = await fill("one");
    const wrong: readonly (readonly [content: string | Uint8Array, sentence: string])[] = [
      [text.slice(0, text.indexOf("upstream_name: gpt-x") + 8), "line "],
      ["{", "is not YAML here"],
      ["model_list: []", "lockport import litellm-config FILE"],
      ['{"version":"v1","entries":[]}', "This is no catalog of Lockport's"],
      [new Uint8Array([0xff, 0xfe, 0, 1]), "line 1"],
      [text.replace("hidden:", "hiden:"), "Did you mean hidden?"],
    ];
    for (const [content, sentence] of wrong) {
      writeFileSync(path, content);
      const { code, data, messages } = await runIn("one", `apply ${path} --yes --prune`);
      expect({ sentence, code, data }).toEqual({ sentence, code: 1, data: "" });
      expect(messages).toContain(sentence);
      expect(messages).toContain("nothing was changed");
      expect((await runIn("one", "export")).data).toBe(text);
    }
    expect((await runIn("one", "apply /nonexistent/catalog.yaml --yes")).code).toBeGreaterThan(0);
    expect((await runIn("one", `apply ${path} --purne`)).messages).toContain("Did you mean --prune?");
    expect((await runIn("one", `apply ${path} --purne`)).code).toBe(2);
  });
});

describe("over --url", () => {
  test("export and apply do the same as beside the server, and the server serves what was applied at once", async () => {
    const upstream = await startUpstream({ script: (call) => call.reply({ body: '{"choices":[]}' }) });
    const apps: TestApp[] = [];
    try {
      const [from, to] = [await startApp(), await startApp()];
      apps.push(from, to);
      const [beside, through] = waysTo(from);
      const [besideTo, throughTo] = waysTo(to);
      await beside.run(`provider add up --base-url ${upstream.baseUrl} --api-key-file -`, { stdin: "sk-up" });
      await beside.run(
        "model add org/gpt:1 --provider up --upstream-name gpt-x --price input_tokens=0.000001",
      );
      await beside.run(["pricing", "load", "-"], {
        stdin: '{"version":"v 1","entries":[{"model":"gpt-x","unit":"output_tokens","price_per_million":3}]}',
      });
      const text = (await through.run("export")).data;
      expect((await beside.run("export")).data).toBe(text);
      writeFileSync(path, text);
      const input = { env: { UP_API_KEY: "sk-other" } };
      const dry = await throughTo.run(`apply ${path} --dry-run`, input);
      expect(dry).toEqual(await besideTo.run(`apply ${path} --dry-run`, input));
      expect((await throughTo.run(`apply ${path} --yes`, input)).code).toBe(0);
      expect((await besideTo.run("export")).data).toBe(text);
      expect((await throughTo.run(`apply ${path} --yes`, input)).messages).toBe("nothing to change\n");
      expect(await chat(to, "org/gpt:1")).toBe(200);
      expect(upstream.lastRequest().headers.get("authorization")).toBe("Bearer sk-other");
      expect(readFileSync(path, "utf8")).toBe(text);
    } finally {
      for (const app of apps) await app.stop();
      await upstream.stop();
    }
  });
});

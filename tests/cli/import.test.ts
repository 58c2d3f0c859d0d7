import { beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { makeEmptyInstallation } from "../support/empty-installation.ts";
import { useFolder } from "../support/folder.ts";
import { startUpstream } from "../support/upstream.ts";
import { chat, waysTo } from "./both-ways.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
let path: string;
beforeEach(async () => {
  path = join(folder.path, "config.yaml");
  await makeEmptyInstallation(join(folder.path, "data"));
});

const run = (line: string, input?: CliInput) => runLocal(join(folder.path, "data"), line.split(" "), input);
const exported = async () => (await run("export")).data;

const CONFIG = `model_list:
  - model_name: big
    litellm_params:
      model: openai/gpt-x
      api_key: os.environ/OPENAI_API_KEY
      input_cost_per_token: 0.00000125
      output_cost_per_token: 0.00001
      rpm: 500
  - model_name: big
    litellm_params: {model: azure/gpt-x, api_base: "https://x.openai.azure.com", api_key: sk-azure}
  - model_name: local
    litellm_params: {model: ollama/llama, api_base: "http://10.0.0.1:11434"}
  - model_name: spare
    litellm_params: {model: openai/gpt-y, api_key: sk-literal}
router_settings:
  model_group_alias: {default: big}
general_settings: {master_key: sk-master}
`;
const KEYS = { env: { OPENAI_API_KEY: "sk-from-environment" } };

describe("lockport import litellm-config", () => {
  test("shows with --dry-run what it then does, lists by line what cannot be carried over, and tells no key", async () => {
    writeFileSync(path, CONFIG);
    const before = await exported();
    const dry = await run(`import litellm-config ${path} --dry-run`, KEYS);
    expect(dry.code).toBe(0);
    expect(await exported()).toBe(before);
    const done = await run(`import litellm-config ${path}`, KEYS);
    expect(done).toMatchObject({ code: 0, data: dry.data });
    expect(done.data.trimEnd().split("\n")).toEqual([
      "+  provider  api.openai.com    https://api.openai.com/v1; API key from OPENAI_API_KEY",
      "+  provider  10.0.0.1-11434    http://10.0.0.1:11434/v1; no API key",
      "+  provider  api.openai.com-2  https://api.openai.com/v1; API key from the file",
      "+  model     big               api.openai.com: gpt-x; chat, chat_stream; input_tokens=1.25 output_tokens=10",
      "+  model     local             10.0.0.1-11434: llama; chat, chat_stream",
      "+  model     spare             api.openai.com-2: gpt-y; chat, chat_stream",
      "+  model     default           -> big; input_tokens=1.25 output_tokens=10",
    ]);
    expect(done.messages).toContain("line 8: big: litellm_params.rpm:");
    expect(done.messages).toContain("line 9: big: is not carried over: a name has one provider, and line 2");
    expect(done.messages).toContain("line 17: general_settings.master_key:");
    expect(done.messages).toEndWith("made 7 changes\n");
    for (const secret of ["sk-literal", "sk-from-environment", "sk-master", "sk-azure"])
      expect(dry.data + dry.messages + done.data + done.messages).not.toContain(secret);
  });

  test("a second time changes nothing, whatever the environment has then", async () => {
    writeFileSync(path, CONFIG);
    await run(`import litellm-config ${path}`, KEYS);
    const text = await exported();
    for (const input of [KEYS, {}, { env: { OPENAI_API_KEY: "sk-another" } }]) {
      const { code, data, messages } = await run(`import litellm-config ${path}`, input);
      expect({ code, data, end: messages.endsWith("nothing to change\n") }).toEqual({
        code: 0,
        data: "",
        end: true,
      });
      expect(await exported()).toBe(text);
    }
  });

  test("asks for a word where the first deployment of a name cannot be carried over and another takes it", async () => {
    writeFileSync(
      path,
      `model_list:
  - {model_name: gpt-4o, litellm_params: {model: cohere/command, api_key: sk-c}}
  - {model_name: gpt-4o, litellm_params: {model: openai/gpt-4o, api_key: sk-o}}
`,
    );
    const before = await exported();
    const refused = await run(`import litellm-config ${path}`);
    expect(refused.code).toBe(1);
    expect(refused.messages).toContain("Nothing was changed. gpt-4o now goes to api.openai.com: gpt-4o.");
    expect(refused.messages).toContain("--take-next");
    expect(await exported()).toBe(before);
    const dry = await run(`import litellm-config ${path} --dry-run`);
    expect({ code: dry.code, tells: dry.messages.includes("add --take-next") }).toEqual({
      code: 0,
      tells: true,
    });
    expect(await exported()).toBe(before);
    expect(await run(`import litellm-config ${path} --take-next`)).toMatchObject({ code: 0, data: dry.data });
    // Models that are there already go nowhere else.
    expect(await run(`import litellm-config ${path}`)).toMatchObject({ code: 0, data: "" });
  });

  test("makes a provider without its key where that is not set, fills it in on the next run, and does neither with --strict", async () => {
    writeFileSync(path, CONFIG);
    const strict = await run(`import litellm-config ${path} --strict`);
    expect(strict.code).toBe(1);
    expect(strict.messages).toContain("Nothing was changed: 2 lines");
    expect(JSON.parse((await run("provider list --json")).data)).toEqual([]);
    const missing = await run(`import litellm-config ${path}`);
    expect(missing.code).toBe(0);
    expect(missing.messages).toContain(
      "line 5: big: the variable OPENAI_API_KEY for its API key is not set.",
    );
    const next = await run(`import litellm-config ${path}`, KEYS);
    expect(next.data).toBe("~  provider  api.openai.com  API key from OPENAI_API_KEY\n");
  });

  test("leaves what is there already as it is, and says so", async () => {
    writeFileSync(path, CONFIG);
    await run("provider add mine --base-url https://api.openai.com/v1 --api-key-file -", {
      stdin: "sk-mine",
    });
    await run("model add big --provider mine --upstream-name gpt-x --price input_tokens=9");
    await run("model add local --provider mine --upstream-name other");
    const { data, messages } = await run(`import litellm-config ${path}`, KEYS);
    expect(messages).toContain("line 2: big: is there already and keeps its prices (input_tokens=9).");
    expect(messages).toContain(
      "line 11: local: is not carried over: a model of this name is there already (mine: other).",
    );
    expect(data).not.toContain("10.0.0.1");
    expect(JSON.parse((await run("model list --json")).data)).toMatchObject([
      { alias: "big", provider: "mine", pricing: { input_tokens: 9 } },
      { alias: "default", target: "big" },
      { alias: "local", provider: "mine", upstream_name: "other" },
      { alias: "spare", provider: "api.openai.com" },
    ]);
  });

  test("gives a model whose key is another than that of the provider at its address a provider of its own, and the same key none", async () => {
    const at = "api_base: 'http://127.0.0.1:9100/v1'";
    const entry = (name: string, key: string) =>
      `  - {model_name: ${name}, litellm_params: {model: openai/${name}, ${at}, api_key: ${key}}}\n`;
    writeFileSync(path, `model_list:\n${entry("k1", "os.environ/KEY_ONE")}`);
    await run("provider add 127.0.0.1-9100 --base-url http://127.0.0.1:9100/v1 --api-key-file -", {
      stdin: "sk-a",
    });
    const env = { KEY_ONE: "sk-one" };
    const first = await run(`import litellm-config ${path}`, { env });
    expect(first.data.trimEnd().split("\n")).toEqual([
      "+  provider  127.0.0.1-9100-2  http://127.0.0.1:9100/v1; API key from KEY_ONE",
      "+  model     k1                127.0.0.1-9100-2: k1; chat, chat_stream",
    ]);
    expect(first.messages).not.toContain("keeps its API key");
    expect((await run(`import litellm-config ${path}`, { env })).data).toBe("");
    expect((await run(`import litellm-config ${path}`, { env: { KEY_ONE: "sk-later" } })).data).toBe("");
    // A model whose key is there already goes to it, whatever the order of the names.
    writeFileSync(path, `model_list:\n${entry("k2", "sk-one")}${entry("k3", "sk-a")}`);
    const second = await run(`import litellm-config ${path}`);
    expect(second.data.trimEnd().split("\n")).toEqual([
      "+  model  k2  127.0.0.1-9100-2: k2; chat, chat_stream",
      "+  model  k3  127.0.0.1-9100: k3; chat, chat_stream",
    ]);
    expect(second.messages).toBe("made 2 changes\n");
  });

  test("through --url, where keys cannot be compared, binds to the provider that is there and says that it keeps its key", async () => {
    const app = await startApp();
    const base_url = "http://127.0.0.1:9100/v1";
    await app.api("POST", "/admin/v1/providers", { name: "there", base_url, api_key: "sk-a" });
    writeFileSync(
      path,
      `model_list:\n  - {model_name: k1, litellm_params: {model: openai/k1, api_base: "${base_url}", api_key: sk-one}}\n`,
    );
    const [, remote] = waysTo(app);
    const { code, data, messages } = await remote.run(`import litellm-config ${path}`);
    expect({ code, data }).toEqual({ code: 0, data: "+  model  k1  there: k1; chat, chat_stream\n" });
    expect(messages).toContain("goes to the provider there, which is there already and keeps its API key.");
    await app.stop();
  });

  test("as JSON is one object without keys, and a file of another shape is a sentence and exit code 1", async () => {
    writeFileSync(path, CONFIG);
    const { data } = await run(`import litellm-config ${path} --json --dry-run`, KEYS);
    expect(JSON.parse(data)).toMatchObject({ applied: false, changes: { length: 7 } });
    expect(data).not.toContain("sk-");
    expect(
      JSON.parse((await run(`import litellm-config - --json`, { ...KEYS, stdin: CONFIG })).data).applied,
    ).toBe(true);
    for (const content of ["", "a: b", "model_list: 1", "\tx", "model_list:\n  - model_name: x\n"]) {
      const wrong = await run("import litellm-config -", { stdin: content });
      expect({ content, code: wrong.code, data: wrong.data }).toEqual({ content, code: 1, data: "" });
      expect(wrong.messages).toContain("stdin cannot be used as it is; nothing was changed.");
    }
    expect(await run("import litelm-config x")).toMatchObject({ code: 2 });
  });

  test("through --url does the same as beside the server, and what was imported serves at once", async () => {
    const upstream = await startUpstream({ script: (call) => call.reply({ body: '{"choices":[]}' }) });
    const [one, other] = [await startApp(), await startApp()];
    try {
      writeFileSync(
        path,
        CONFIG.replace("api_key: sk-literal", `api_key: sk-literal, api_base: "${upstream.baseUrl}"`),
      );
      const beside = await waysTo(one)[0].run(`import litellm-config ${path}`, KEYS);
      const through = await waysTo(other)[1].run(`import litellm-config ${path}`, KEYS);
      expect(beside.code).toBe(0);
      expect(through).toEqual(beside);
      expect((await waysTo(one)[0].run("export")).data).toBe((await waysTo(other)[1].run("export")).data);
      expect(await chat(other, "spare")).toBe(200);
      expect(upstream.lastRequest().headers.get("authorization")).toBe("Bearer sk-literal");
      expect(upstream.lastRequest().body.toString()).toContain("gpt-y");
    } finally {
      await one.stop();
      await other.stop();
      await upstream.stop();
    }
  });

  test("that is refused for one model adds nothing of the rest", async () => {
    writeFileSync(path, CONFIG);
    const app = await startApp();
    try {
      // A name is taken between the comparison and the change.
      const between = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        async fetch(request) {
          const { pathname, search } = new URL(request.url);
          if (request.method === "POST") {
            await app.api("POST", "/admin/v1/providers", { name: "theirs", base_url: "http://10.0.0.3/v1" });
            const model = { alias: "local", provider: "theirs", upstream_name: "x" };
            await app.api("POST", "/admin/v1/models", model);
          }
          const body = request.method === "GET" ? null : await request.text();
          const headers = { ...request.headers.toJSON(), host: new URL(app.url).host };
          return await fetch(`${app.url}${pathname}${search}`, { method: request.method, headers, body });
        },
      });
      const refused = await runLocal(
        "/nonexistent/lockport",
        ["import", "litellm-config", path, "--url", `http://127.0.0.1:${between.port}`],
        { env: { LOCKPORT_API_KEY: app.adminKey, ...KEYS.env } },
      );
      await between.stop(true);
      expect(refused.code).toBe(1);
      expect(refused.messages).toContain("(alias_exists, models.local)");
      const list = await waysTo(app)[0].run("model list --json");
      expect(JSON.parse(list.data).map(({ alias }: { alias: string }) => alias)).toEqual(["local"]);
    } finally {
      await app.stop();
    }
  });
});

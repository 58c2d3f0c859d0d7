import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { waysTo } from "./both-ways.ts";

let upstream: ScriptedUpstream;
let app: TestApp;

beforeEach(async () => {
  upstream = await startUpstream();
  app = await startApp();
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl, api_key: "sk-old" });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

describe("provider discover", () => {
  test("of a provider that refuses the API key says so, and how to set another where the command ran", async () => {
    for (const way of waysTo(app)) {
      const where = way.name === "through --url" ? ` --url ${app.url}` : "";
      for (const status of [401, 403, 404]) {
        const running = way.run("provider discover up");
        await (await upstream.nextCall()).reply({ status, body: "{}" });
        const { code, data, messages } = await running;
        expect({ status, code, data }).toEqual({ status, code: 1, data: "" });
        expect(messages).toContain(`answered with status ${status}. (discovery_failed)`);
        const hint = `provider set up --api-key-file PATH${where}\n`;
        expect({ status, hinted: messages.endsWith(hint) }).toEqual({ status, hinted: status !== 404 });
        expect(messages).not.toContain("sk-old");
      }
    }
  });

  test("of a provider that keeps silent says after a while what is waited for, also where there is no terminal", async () => {
    const said = Promise.withResolvers<string>();
    const [local] = waysTo(app);
    const running = local.run("provider discover up", { onMessage: said.resolve });
    const call = await upstream.nextCall();
    expect(await said.promise).toBe("asking up, for at most 30 s …\n");
    await call.reply({ body: '{"data":[{"id":"alpha"}]}' });
    expect(await running).toMatchObject({ code: 0, messages: "asking up, for at most 30 s …\n" });
  }, 20_000);

  test("shows what each model is guessed to be, and binds it as that: nothing for which there is no endpoint, unless it is named", async () => {
    const [local, remote] = waysTo(app);
    const ids = ["fast", "bge-m3", "gpt-realtime", "sora-2", "my-embedder", "whisper-1"];
    const list = JSON.stringify({ data: ids.map((id) => ({ id })) });
    const run = async (line: string, way = local) => {
      const running = way.run(line);
      await (await upstream.nextCall()).reply({ body: list });
      return await running;
    };
    const shown = await run("provider discover up", remote);
    expect(shown.data.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["UPSTREAM NAME", "KIND", "CAPABILITIES", "BOUND ALIAS"],
      ["bge-m3", "embeddings", "embeddings", "-"],
      ["fast", "chat", "chat,chat_stream", "-"],
      ["gpt-realtime", "realtime", "-", "-"],
      ["my-embedder", "embeddings", "embeddings", "-"],
      ["sora-2", "video", "-", "-"],
      ["whisper-1", "transcription", "transcription", "-"],
      [""],
    ]);
    expect(shown.messages).toContain(
      "2 models for which there is no endpoint here (realtime, video) would not be bound",
    );

    const bound = await run("provider discover up --bind --capability my-embedder=chat,vision --hidden");
    expect({ code: bound.code, lines: bound.data.trimEnd().split("\n").length }).toEqual({
      code: 0,
      lines: 7,
    });
    expect(bound.messages).toContain("(realtime, video) were not bound");
    expect(bound.messages).toContain("models without a price (bge-m3, fast, my-embedder");
    expect(bound.messages).toMatch(/model set bge-m3 --price 'input_tokens=USD'\n$/);
    const capabilities = async () =>
      Object.fromEntries(
        JSON.parse((await local.run("model list --json")).data).map(
          (model: { alias: string; capabilities: string[] }) => [model.alias, model.capabilities],
        ),
      );
    expect(await capabilities()).toEqual({
      "bge-m3": ["embeddings"],
      fast: ["chat", "chat_stream"],
      "my-embedder": ["chat", "vision"],
      "whisper-1": ["transcription"],
    });

    await run("provider discover up --bind --model sora-2 --capability gpt-realtime=responses", remote);
    expect(await capabilities()).toMatchObject({ "sora-2": ["chat", "chat_stream"] });
    expect(await capabilities()).not.toHaveProperty("gpt-realtime");
    const typo = await run("provider discover up --bind --capability fats=embeddings");
    expect(typo).toMatchObject({ code: 1, data: "" });
    expect(typo.messages).toContain("has no model fats.\n(Did you mean fast?)");
    for (const wrong of ["fast=embedding", "embeding", "=chat", "fast="]) {
      const refused = await local.run(`provider discover up --bind --capability ${wrong}`);
      expect({ wrong, code: refused.code }).toEqual({ wrong, code: 2 });
      expect(refused.messages).toContain("--capability:");
    }
  });
});

test("provider discover proposes what its list says beside chat, and leaves a model that is bound as it is", async () => {
  const [local] = waysTo(app);
  const models = [
    { id: "gpt-5.1", object: "model", owned_by: "system" },
    { id: "gpt-4o", object: "model", owned_by: "openai" },
    { id: "llama-3.3-70b", object: "model", owned_by: "vllm" },
    { id: "omni-moderation-latest", object: "model", owned_by: "system" },
  ];
  await app.api("POST", "/admin/v1/models", {
    provider: "up",
    upstream_name: "gpt-4o",
    capabilities: ["chat"],
  });
  for (const options of ["", " --bind"]) {
    const running = local.run(`provider discover up --json${options}`);
    await (await upstream.nextCall()).reply({ body: JSON.stringify({ data: models }) });
    const rows = JSON.parse((await running).data) as { upstream_name: string; capabilities: string[] }[];
    expect(rows.map((row) => [row.upstream_name, row.capabilities])).toEqual([
      ["gpt-4o", ["chat"]],
      ["gpt-5.1", ["chat", "chat_stream", "responses"]],
      ["llama-3.3-70b", ["chat", "chat_stream"]],
      ["omni-moderation-latest", ["moderation"]],
    ]);
  }
  const bound: any = await (await app.api("GET", "/v1/models")).json();
  expect(bound.data.map(({ id, capabilities }: any) => [id, capabilities])).toEqual([
    ["gpt-4o", ["chat"]],
    ["gpt-5.1", ["chat", "chat_stream", "responses"]],
    ["llama-3.3-70b", ["chat", "chat_stream"]],
    ["omni-moderation-latest", ["moderation"]],
  ]);
});

describe("model add of a name that the provider does not list", () => {
  const ADD = "model add quick --provider up --upstream-name gtp-5";
  const LISTED = JSON.stringify({ data: [{ id: "gpt-5" }, { id: "gpt-5-mini" }] });
  const remove = () => app.api("DELETE", "/admin/v1/models/quick");

  test("adds it and says so on stderr, with what was probably meant, and says nothing of a name that is listed", async () => {
    for (const way of waysTo(app)) {
      const running = way.run(ADD);
      await (await upstream.nextCall()).reply({ body: LISTED });
      const { code, data, messages } = await running;
      expect({ code, data }).toEqual({ code: 0, data: "" });
      expect(messages).toStartWith("added model quick\nup does not list gtp-5: requests to it may fail. ");
      expect(messages).toContain("provider discover up");
      expect(messages).toEndWith("(Did you mean gpt-5?)\n");
      await remove();

      const known = way.run(ADD.replace("gtp", "gpt"));
      await (await upstream.nextCall()).reply({ body: LISTED });
      expect(await known).toEqual({ code: 0, data: "", messages: "added model quick\n" });
      await remove();
    }
  });

  test("adds it without a word where the provider has no list, or does not answer soon", async () => {
    const [local] = waysTo(app);
    for (const reply of [{ status: 404, body: "{}" }, { body: '{"data":[]}' }, null]) {
      const running = local.run(ADD);
      const call = await upstream.nextCall();
      if (reply !== null) await call.reply(reply);
      expect(await running).toEqual({ code: 0, data: "", messages: "added model quick\n" });
      await remove();
    }
  });

  test("as JSON asks the provider nothing", async () => {
    const [local] = waysTo(app);
    const before = upstream.connectionCount();
    const { code, data, messages } = await local.run(`${ADD} --json`);
    expect({ code, messages, alias: JSON.parse(data).alias }).toEqual({
      code: 0,
      messages: "",
      alias: "quick",
    });
    expect(upstream.connectionCount()).toBe(before);
  });
});

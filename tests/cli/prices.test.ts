import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { makeEmptyInstallation } from "../support/empty-installation.ts";
import { useFolder } from "../support/folder.ts";
import { waysTo } from "./both-ways.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const folder = useFolder();
beforeEach(async () => {
  await makeEmptyInstallation(join(folder.path, "data"));
});

const run = (line: string, input?: CliInput) => runLocal(join(folder.path, "data"), line.split(" "), input);
const done = async (line: string, input?: CliInput) => {
  const { code, data, messages } = await run(line, input);
  expect({ line, code, messages }).toMatchObject({ code: 0 });
  return { data, messages };
};
const prices = async (): Promise<{ [alias: string]: unknown }> =>
  Object.fromEntries(
    JSON.parse((await done("model list --json")).data).map((model: { alias: string; pricing: unknown }) => [
      model.alias,
      model.pricing,
    ]),
  );
const addProvider = (name: string, baseUrl: string) =>
  done(`provider add ${name} --base-url ${baseUrl} --no-api-key`);
const rows = (data: string) =>
  data
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));

describe("price variants", () => {
  const FLEX = { when: { tier: "flex" }, pricing: { input_tokens: 0.5, output_tokens: 2 } };
  const LONG = { when: { input_over: 200_000, geo: "us" }, pricing: { input_tokens: 4 } };
  const variants = async (alias: string) => JSON.parse((await done(`pricing variants ${alias} --json`)).data);

  test("are set by flags as one list, shown with what was and is, and taken away", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done(
      "model add m --provider up --upstream-name u --variant tier=Flex,input_tokens=0.5,output_tokens=2",
    );
    expect(await variants("m")).toEqual([FLEX]);
    const { messages } = await done("model set m --variant input_over=200000,geo=us,input_tokens=4");
    expect(messages).toBe(
      "model m: price variants flex: input_tokens=0.5 output_tokens=2 -> input over 200,000, region us: input_tokens=4\n",
    );
    expect(await variants("m")).toEqual([LONG]);
    expect(rows((await done("pricing variants m")).data)).toEqual([
      ["WHEN", "INPUT"],
      ["input over 200,000, region us", "$4.00"],
    ]);
    expect((await done("model info m")).data).toContain("input over 200,000, region us");
    await done("model set m --price input_tokens=1");
    expect(await variants("m")).toEqual([LONG]);
    await done("model set m --no-variants");
    expect(await variants("m")).toEqual([]);
    expect((await done("pricing variants m")).messages).toBe("m has no prices under conditions\n");
  });

  test("are written back from the file that --json makes, or from stdin, and what is wrong with it changes nothing", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done("model add m --provider up --upstream-name u");
    const stdin = JSON.stringify([FLEX, LONG]);
    expect((await done("pricing variants m --file -", { stdin })).messages).toBe(
      "model m: 2 price variants\n",
    );
    expect(await variants("m")).toEqual([FLEX, LONG]);
    const bad = JSON.stringify([{ ...FLEX, when: { hours: "4-5" } }]);
    const refused = await run("pricing variants m --file -", { stdin: bad });
    expect(refused.code).toBe(1);
    expect(refused.messages).toContain("price_variants[0].when.hours");
    for (const [typed, word] of [
      ["tier", "conditions and prices"],
      ["tier=flex", "at least one price"],
      ["tier=flex,input_tokens=x", "number"],
    ]) {
      const { code, messages } = await run(`model set m --variant ${typed}`);
      expect(code).not.toBe(0);
      expect(messages).toContain(word!);
    }
    expect(await variants("m")).toEqual([FLEX, LONG]);
  });
});

describe("model set", () => {
  test("changes what is said and nothing else, shows what it was and is, and is the same through --url", async () => {
    const app = await startApp();
    for (const [index, way] of waysTo(app).entries()) {
      const there = (line: string) => way.run(line);
      const [name, other, alias] = [`up${index}`, `other${index}`, `fast${index}`];
      for (const provider of [name, other])
        await there(`provider add ${provider} --base-url http://127.0.0.1:9/v1 --no-api-key`);
      await there(
        `model add ${alias} --provider ${name} --upstream-name u --price input_tokens=2.5 --price output_tokens=10`,
      );
      const set = async (options: string) => {
        const { code, data, messages } = await there(`model set ${alias} ${options}`);
        expect({ options, code, data }).toEqual({ options, code: 0, data: "" });
        return messages;
      };
      expect(await set("--price input_tokens=3 --price cached_input_tokens=0.075")).toBe(
        `model ${alias}: input_tokens $2.50 -> $3.00, cached_input_tokens unpriced -> $0.075\n`,
      );
      expect(await set("--price cached_input_tokens=none --price cache_write_1h_tokens=4")).toBe(
        `model ${alias}: cached_input_tokens $0.075 -> unpriced, cache_write_1h_tokens as input_tokens -> $4.00\n`,
      );
      expect(await set(`--provider ${other} --upstream-name v --capability chat --hidden`)).toBe(
        `model ${alias}: provider ${name} -> ${other}, upstream name u -> v, capabilities chat,chat_stream -> chat, hidden no -> yes\n`,
      );
      expect(await set("--no-hidden")).toBe(`model ${alias}: hidden yes -> no\n`);
      expect(await set("--price input_tokens=3")).toBe(`model ${alias}: is so already\n`);
      const list = JSON.parse((await there("model list --json")).data);
      expect(list.find((model: { alias: string }) => model.alias === alias)).toMatchObject({
        provider: other,
        upstream_name: "v",
        capabilities: ["chat"],
        pricing: { input_tokens: 3, output_tokens: 10, cache_write_1h_tokens: 4 },
        hidden: false,
      });
    }
    await app.stop();
  });

  test("of a name for another model overrides only what is said, and takes the rest from its target again", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done(
      "model add fast --provider up --upstream-name u --price input_tokens=1 --price output_tokens=2",
    );
    await done("model add slow --provider up --upstream-name v --price input_tokens=5");
    await done("model alias best fast");
    expect((await done("model set best --price output_tokens=9")).messages).toBe(
      "model best: output_tokens $2.00 -> $9.00\n",
    );
    await done("model set fast --price input_tokens=1.5");
    expect((await prices())["best"]).toEqual({ input_tokens: 1.5, output_tokens: 9 });
    await done("model set best --price output_tokens=none");
    expect((await done("model set best --target slow")).messages).toBe(
      "model best: target fast -> slow, upstream name u -> v, input_tokens $1.50 -> $5.00, output_tokens $2.00 -> unpriced\n",
    );
    expect(await run("model set best --provider up")).toMatchObject({ code: 1 });
    await done("model set best --no-target --provider up --upstream-name w --price input_tokens=7");
    expect((await prices())["best"]).toEqual({ input_tokens: 7 });
  });

  test("adds a capability beside those that a model has, and takes none away, by the command of the refusal", async () => {
    const app = await startApp();
    for (const [index, way] of waysTo(app).entries()) {
      const there = (line: string) => way.run(line);
      const alias = `fast${index}`;
      const change = async (line: string) => {
        const { code, messages } = await there(line);
        expect({ line, code }).toEqual({ line, code: 0 });
        return messages;
      };
      await there(`provider add up${index} --base-url http://127.0.0.1:9/v1 --no-api-key`);
      await there(
        `model add ${alias} --provider up${index} --upstream-name u --capability chat --capability vision`,
      );
      await there(`model alias best${index} ${alias}`);
      const path = index === 0 ? "/v1/responses" : "/v1/rerank";
      const refusal = await (await app.api("POST", path, { model: alias })).text();
      const [, command = ""] = /`lockport (model set NAME [^`]+)`/.exec(refusal) ?? [];
      const [, added] = /--add-capability (\w+)$/.exec(command) ?? [];
      expect(await change(command.replace("NAME", alias))).toBe(
        `model ${alias}: capabilities chat,vision -> chat,vision,${added}\n`,
      );
      expect((await app.api("POST", path, { model: alias })).status).not.toBe(404);
      expect(await change(`model set ${alias} --add-capability chat --add-capability speech`)).toContain(
        "speech\n",
      );
      expect(await change(`model set ${alias} --add-capability speech`)).toBe(
        `model ${alias}: is so already\n`,
      );
      const ofName = await there(`model set best${index} --add-capability images`);
      expect(ofName).toMatchObject({ code: 1, data: "" });
    }
    await app.stop();
  });

  test("says which model was probably meant, and refuses what says nothing or cannot be", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done("model add gpt-4o --provider up --upstream-name u");
    const typo = await run("model set gpt4o --hidden");
    expect(typo).toMatchObject({ code: 1, data: "" });
    expect(typo.messages).toContain("There is no model `gpt4o`.");
    expect(typo.messages).toContain("(Did you mean gpt-4o?)");
    expect((await run("model info gpt-4")).messages).toContain("(Did you mean gpt-4o?)");
    for (const wrong of [
      "",
      " --price input=1",
      " --price input_tokens=free",
      " --price input_tokens=-1",
      " --no-target",
      " --target a --provider up",
      " --capability embedding",
      " --add-capability response",
      " --add-capability responses --capability chat",
      " --target a --add-capability responses",
    ]) {
      const refused = await run(`model set gpt-4o${wrong}`);
      expect({ wrong, code: refused.code, data: refused.data }).toEqual({ wrong, code: 2, data: "" });
    }
  });
});

describe("model list and model info", () => {
  test("write prices per million, where they come from, and what has none", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done(
      "model add fast --provider up --upstream-name u --price input_tokens=0.15 --price output_tokens=12.5",
    );
    await done("model add plain --provider up --upstream-name p --hidden");
    await done("model alias best fast");
    const feed = { version: "f1", entries: [{ model: "p", unit: "output_tokens", price_per_million: 3 }] };
    await done("pricing load -", { stdin: JSON.stringify(feed) });
    const list = await done("model list");
    expect(rows(list.data)).toEqual([
      ["ALIAS", "LEADS TO", "CAPABILITIES", "INPUT", "OUTPUT", "CACHED", "PRICES"],
      ["best", "-> fast", "chat,chat_stream", "$0.15", "$12.50", "-", "inherited"],
      ["fast", "up: u", "chat,chat_stream", "$0.15", "$12.50", "-", "own"],
      ["plain (hidden)", "up: p", "chat,chat_stream", "-", "$3.00", "-", "by upstream name"],
    ]);
    expect(list.messages).toContain("1 model without a price (plain)");
    expect(list.messages).toContain("model set plain --price 'input_tokens=USD'\n");
    expect(list.messages).not.toContain("--list-prices");
    expect(rows((await done("model info plain")).data)).toEqual([
      ["alias", "plain"],
      ["provider", "up"],
      ["upstream name", "p"],
      ["capabilities", "chat, chat_stream"],
      ["hidden", "yes, and it serves"],
      ["input_tokens", "unpriced"],
      ["output_tokens", "$3.00", "loaded as f1, by the name p"],
      ["cached_input_tokens", "unpriced"],
    ]);
    expect(rows((await done("model info best")).data)).toContainEqual([
      "output_tokens",
      "$12.50",
      "set with the model, by the name fast",
    ]);
    const note = "plain has prices of its own now, all of them: a feed changes them by that name only.\n";
    expect((await done("model set plain --price input_tokens=1")).messages).toEndWith(note);
    expect((await done("model set plain --price input_tokens=2")).messages).not.toContain(note);
  });
});

const MAP = {
  sample_spec: { input_cost_per_token: 0 },
  "gpt-x": {
    litellm_provider: "openai",
    input_cost_per_token: 1e-6,
    output_cost_per_token: 4e-6,
    cache_read_input_token_cost: 1e-7,
    cache_creation_input_token_cost: 1.25e-6,
    cache_creation_input_token_cost_above_1hr: 2e-6,
    input_cost_per_token_above_200k_tokens: 2e-6,
  },
  "tier-x": {
    litellm_provider: "openai",
    input_cost_per_token: 2e-6,
    output_cost_per_token: 8e-6,
    cache_read_input_token_cost: 2e-7,
    input_cost_per_token_flex: 1e-6,
    output_cost_per_token_flex: 4e-6,
    input_cost_per_token_above_272k_tokens_flex: 2e-6,
    output_cost_per_token_above_272k_tokens_flex: 6e-6,
    input_cost_per_token_batches: 1e-6,
  },
  "groq/llama-x": { litellm_provider: "groq", input_cost_per_token: 5e-7, output_cost_per_token: 8e-7 },
  "llama-x": { litellm_provider: "vertex_ai", input_cost_per_token: 9e-6 },
  "unused-model": { litellm_provider: "openai", input_cost_per_token: 3e-6 },
};

describe("pricing load", () => {
  test("of LiteLLM's public map loads cached and cache-write prices too, of the names in use alone, and shows them first with --dry-run", async () => {
    await addProvider("openai", "https://api.openai.com/v1");
    await addProvider("groq", "https://api.groq.com/openai/v1");
    await done("model add gpt-x --provider openai --upstream-name gpt-x");
    await done("model add l --provider groq --upstream-name llama-x");
    const stdin = JSON.stringify(MAP);
    const dry = await done("pricing load - --dry-run", { stdin });
    expect(await prices()).toEqual({ "gpt-x": {}, l: {} });
    expect(rows(dry.data)).toEqual([
      ["MODEL", "UNIT", "NOW", "NEW"],
      ["gpt-x", "input_tokens", "-", "1"],
      ["gpt-x", "output_tokens", "-", "4"],
      ["gpt-x", "cached_input_tokens", "-", "0.1"],
      ["gpt-x", "cache_write_tokens", "-", "1.25"],
      ["gpt-x", "cache_write_1h_tokens", "-", "2"],
      ["llama-x", "input_tokens", "-", "0.5"],
      ["llama-x", "output_tokens", "-", "0.8"],
    ]);
    expect(dry.messages).toContain("7 prices to load, version litellm 20");
    await done("pricing load -", { stdin });
    const cached = { cached_input_tokens: 0.1, cache_write_tokens: 1.25, cache_write_1h_tokens: 2 };
    expect(await prices()).toEqual({
      "gpt-x": { input_tokens: 1, output_tokens: 4, ...cached },
      l: { input_tokens: 0.5, output_tokens: 0.8 },
    });
    expect((await done("pricing load -", { stdin })).messages).toContain("nothing to change\n");
    expect((await done("pricing load - --all --dry-run", { stdin })).data).toContain("unused-model");
  });

  test("of LiteLLM's map loads the prices of tiers and long inputs with their conditions, and says by name what it did not read", async () => {
    await addProvider("openai", "https://api.openai.com/v1");
    await done("model add tier-x --provider openai --upstream-name tier-x");
    await done("model add gpt-x --provider openai --upstream-name gpt-x");
    const stdin = JSON.stringify(MAP);
    const dry = await done("pricing load - --dry-run", { stdin });
    expect(rows(dry.data).filter(([model]) => model !== "gpt-x")).toEqual([
      ["MODEL", "UNIT", "WHEN", "NOW", "NEW"],
      ["tier-x", "input_tokens", "-", "-", "2"],
      ["tier-x", "output_tokens", "-", "-", "8"],
      ["tier-x", "cached_input_tokens", "-", "-", "0.2"],
      ["tier-x", "input_tokens", "flex", "-", "1"],
      ["tier-x", "output_tokens", "flex", "-", "4"],
      ["tier-x", "input_tokens", "flex, input over 272,000", "-", "2"],
      ["tier-x", "output_tokens", "flex, input over 272,000", "-", "6"],
    ]);
    // A long input of gpt-x would have no price of its output.
    expect(dry.messages).toContain(
      "No unit or condition here, so not read: input_cost_per_token_above_200k_tokens (1 model), input_cost_per_token_batches (1 model).",
    );
    expect(dry.messages).toContain("1 model of these has no price of cached input under some condition");
    await done("pricing load -", { stdin });
    expect(JSON.parse((await done("pricing variants tier-x --json")).data)).toEqual([
      { when: { tier: "flex" }, pricing: { input_tokens: 1, output_tokens: 4 } },
      { when: { tier: "flex", input_over: 272_000 }, pricing: { input_tokens: 2, output_tokens: 6 } },
    ]);
    expect(JSON.parse((await done("pricing variants gpt-x --json")).data)).toEqual([]);
    expect((await done("pricing load - --dry-run", { stdin })).messages).toContain("nothing to change\n");
  });

  test("shows prices to come with their dates with --dry-run, and not as in force; model info has them as JSON", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done("model add m --provider up --upstream-name u");
    const from = "2999-01-01T00:00:00.000000Z";
    const entry = { model: "m", unit: "input_tokens", price_per_million: 1 };
    const stdin = JSON.stringify({
      version: "f1",
      entries: [
        entry,
        { ...entry, unit: "output_tokens", price_per_million: 2, effective_from: "2999-01-01" },
      ],
    });
    const dry = await done("pricing load - --dry-run", { stdin });
    expect(rows(dry.data)).toEqual([
      ["MODEL", "UNIT", "FROM", "NOW", "NEW"],
      ["m", "input_tokens", "-", "-", "1"],
      ["m", "output_tokens", "2999-01-01T00:00:00Z", "-", "2"],
    ]);
    expect(JSON.parse((await done("pricing load - --dry-run --json", { stdin })).data).changes).toEqual([
      { model: "m", unit: "input_tokens", now: null, new: 1 },
      { model: "m", unit: "output_tokens", effective_from: from, now: null, new: 2 },
    ]);
    expect(JSON.parse((await done("model info m --json")).data)).not.toHaveProperty("prices_to_come");
    await done("pricing load -", { stdin });
    // What holds is loaded; what is to come may have been loaded before, and is shown all the same.
    expect(rows((await done("pricing load - --dry-run", { stdin })).data)).toEqual([
      ["MODEL", "UNIT", "FROM", "NOW", "NEW"],
      ["m", "output_tokens", "2999-01-01T00:00:00Z", "-", "2"],
    ]);
    expect(JSON.parse((await done("model info m --json")).data)).toMatchObject({
      pricing: { input_tokens: 1 },
      prices_to_come: [{ model: "m", effective_from: from, pricing: { output_tokens: 2 } }],
    });
  });

  test("of a price map leaves a list of variants that was set in another way as it is, whole, unless it is to be replaced", async () => {
    await addProvider("openai", "https://api.openai.com/v1");
    await done(
      "model add tier-x --provider openai --upstream-name tier-x --variant tier=priority,input_tokens=7",
    );
    const stdin = JSON.stringify(MAP);
    const loaded = await done("pricing load -", { stdin });
    expect(loaded.messages).toContain(
      "4 prices set in another way stay as they are; --replace takes them too.",
    );
    const read = async () => JSON.parse((await done("pricing variants tier-x --json")).data);
    const own = { when: { tier: "priority" }, pricing: { input_tokens: 7 } };
    expect(await read()).toEqual([own]);
    await done("pricing load - --replace", { stdin });
    expect(await read()).toEqual([
      own,
      { when: { tier: "flex" }, pricing: { input_tokens: 1, output_tokens: 4 } },
      { when: { tier: "flex", input_over: 272_000 }, pricing: { input_tokens: 2, output_tokens: 6 } },
    ]);
  });

  test("of a price map or list prices leaves what was set in another way, and an alias that stands for another model", async () => {
    await addProvider("vllm", "http://127.0.0.1:9/v1");
    await done("model add gpt-x --provider vllm --upstream-name my-own");
    await done("model add real --provider vllm --upstream-name gpt-x");
    await done("model add llama-x --provider vllm --upstream-name llama-x --price input_tokens=7");
    const stdin = JSON.stringify(MAP);
    const loaded = await done("pricing load -", { stdin });
    expect(loaded.messages).toContain("1 price set in another way stays as it is; --replace takes them too.");
    expect(await prices()).toMatchObject({
      "gpt-x": {},
      real: { input_tokens: 1, output_tokens: 4 },
      "llama-x": { input_tokens: 7 },
    });
    await done("pricing load - --replace", { stdin });
    expect(await prices()).toMatchObject({ "gpt-x": {}, "llama-x": { input_tokens: 9 } });
  });

  test("--list-prices offers dated public prices: nothing of them applies before, and their source and day are told", async () => {
    await addProvider("openai", "https://api.openai.com/v1");
    await done("model add fast --provider openai --upstream-name gpt-5-mini");
    await done("model add mine --provider openai --upstream-name my-own");
    expect(await prices()).toEqual({ fast: {}, mine: {} });
    const listed = await done("model list");
    expect(listed.messages).toMatch(
      /Public list prices of \d{4}-\d\d-\d\d have 1 of them: .*pricing load --list-prices\n/,
    );
    const dry = await done("pricing load --list-prices --dry-run");
    expect(dry.messages).toMatch(/^List prices of (\d{4}-\d\d-\d\d), from LiteLLM /);
    expect(await prices()).toEqual({ fast: {}, mine: {} });
    const loaded = await done("pricing load --list-prices");
    expect(loaded.messages).toMatch(/^loaded 9 prices, version list prices \d{4}-\d\d-\d\d\n/);
    expect(loaded.messages).toContain("1 model without a price (mine)");
    const variants = JSON.parse((await done("pricing variants fast --json")).data);
    expect(variants.map(({ when }: { when: object }) => when)).toEqual([
      { tier: "flex" },
      { tier: "priority" },
    ]);
    expect((await prices())["fast"]).toEqual({
      input_tokens: expect.any(Number),
      output_tokens: expect.any(Number),
      cached_input_tokens: expect.any(Number),
    });
    for (const wrong of ["pricing load", "pricing load x.json --list-prices", "pricing load - --all"])
      expect({ wrong, code: (await run(wrong, { stdin: '{"version":"1","entries":[]}' })).code }).toEqual({
        wrong,
        code: 2,
      });
  });

  test("of a feed with --dry-run shows what would change and changes nothing", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done("model add fast --provider up --upstream-name u --price input_tokens=2");
    const entry = { model: "fast", unit: "input_tokens", price_per_million: 3 };
    const stdin = JSON.stringify({ version: "f", entries: [entry] });
    expect(rows((await done("pricing load - --dry-run", { stdin })).data)).toEqual([
      ["MODEL", "UNIT", "NOW", "NEW"],
      ["fast", "input_tokens", "2", "3"],
    ]);
    expect((await prices())["fast"]).toEqual({ input_tokens: 2 });
    const removed = [{ model: "fast", unit: "input_tokens" }];
    const removal = JSON.stringify({ version: "f", entries: [], removed });
    expect(rows((await done("pricing load - --dry-run", { stdin: removal })).data)).toEqual([
      ["MODEL", "UNIT", "NOW", "NEW"],
      ["fast", "input_tokens", "2", "-"],
    ]);
    expect((await prices())["fast"]).toEqual({ input_tokens: 2 });
    await done("pricing load -", { stdin: removal });
    expect((await prices())["fast"]).toEqual({});
    const odd = JSON.stringify({ version: "f", entries: [], removed: "all" });
    expect((await run("pricing load -", { stdin: odd })).messages).toContain("(invalid_request, removed");
    const bad = JSON.stringify({ version: "f", entries: [{ ...entry, unit: "x" }] });
    expect((await run("pricing load - --dry-run", { stdin: bad })).messages).toContain("(invalid_pricing");
  });
});

describe("model set --effective-from", () => {
  test("leaves a price that is not named as it held at that moment, past or to come", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done("model add m --provider up --upstream-name u --price input_tokens=1 --price output_tokens=2");
    const inputs = async () =>
      JSON.parse((await done("pricing history --model m --json")).data)
        .changes.filter(({ unit }: { unit: string }) => unit === "input_tokens")
        .map(({ price, from, until }: { [field: string]: unknown }) => ({ price, from, until }));
    const { created_at: made } = JSON.parse((await done("model info m --json")).data);
    await done("model set m --price input_tokens=3");
    const before = await inputs();
    expect(before).toMatchObject([{ price: 3 }, { price: 1 }]);
    // A re-pricing by the history would price what was used before at 3.
    await done(`model set m --price output_tokens=9 --effective-from ${made}`);
    expect(await inputs()).toEqual(before);

    await done("model set m --price input_tokens=5 --effective-from 2999-01-01");
    await done("model set m --price output_tokens=7 --effective-from 2999-02-01");
    expect((await inputs())[0]).toEqual({ price: 5, from: "2999-01-01T00:00:00.000000Z", until: null });
  });

  test("tells the price to come and its moment, where the model has another price now", async () => {
    await addProvider("up", "http://127.0.0.1:9/v1");
    await done("model add m --provider up --upstream-name u --price input_tokens=1");
    const { messages } = await done("model set m --price input_tokens=5 --effective-from 2999-01-01");
    expect(JSON.parse((await done("pricing schedule --json")).data).schedule).toMatchObject([
      { model: "m", pricing: { input_tokens: 5 }, effective_from: "2999-01-01T00:00:00.000000Z" },
    ]);
    expect(await prices()).toEqual({ m: { input_tokens: 1 } });
    expect(messages).not.toContain("is so already");
    expect(messages).toStartWith("model m: ");
    expect(messages).toContain("2999-01-01");
  });
});

test("pricing load --dry-run refuses a price map with more variants of a model than there may be, as loading it does", async () => {
  await addProvider("up", "http://127.0.0.1:9/v1");
  await done("model add m --provider up --upstream-name m");
  const bands = Array.from({ length: 33 }, (_, at) => `above_${at + 1}k_tokens`);
  const map = {
    m: {
      litellm_provider: "openai",
      mode: "chat",
      ...Object.fromEntries(
        ["input", "output"].flatMap((side) =>
          ["", ...bands.map((band) => `_${band}`)].map((band) => [`${side}_cost_per_token${band}`, 0.000001]),
        ),
      ),
    },
  };
  const stdin = JSON.stringify(map);
  const loaded = await run("pricing load -", { stdin });
  expect(loaded).toMatchObject({ code: 1, data: "" });
  expect(loaded.messages).toContain("invalid_price_variants");
  expect(await run("pricing load - --dry-run", { stdin })).toEqual(loaded);
});

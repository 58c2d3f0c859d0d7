import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Capability } from "#catalog/capability.ts";
import { toFreeProviderName, type DeploymentDraft } from "#catalog/deployment.ts";
import { createSnapshot } from "#catalog/snapshot.ts";
import { toBaseUrl } from "#catalog/upstream-url.ts";
import { isName } from "#kernel/text.ts";
import { openCredential } from "#catalog/provider.ts";
import fc from "fast-check";
import { ADMIN, expectRefused, openTestCatalog, type TestCatalog } from "./support.ts";

let fixture: TestCatalog;
beforeEach(async () => {
  fixture = await openTestCatalog();
});
afterEach(() => fixture.close());

const BASE = "http://models.example:8000/v1";
const deploy = (draft: Partial<DeploymentDraft> = {}) =>
  fixture.catalog.deploy(
    { modelName: "fast", paramsField: "compat_params", model: "llama", apiBase: BASE, ...draft },
    ADMIN,
  );
const refused = (draft: Partial<DeploymentDraft>, code: string, param: string) =>
  expectRefused(fixture, () => deploy(draft), { code, param });
const provider = async (name: string) => (await fixture.catalog.snapshot()).findProvider(name);
const credentialOf = async (name: string) => {
  const found = await provider(name);
  return found === null ? null : openCredential(fixture.secrets, found);
};

describe("a deployment", () => {
  test("of an unknown base URL makes a provider with the defaults and binds the name, both audited", async () => {
    const made = await deploy({ apiBase: `${BASE}/`, apiKey: "sk-1" });
    expect(made).toMatchObject({
      model: { alias: "fast", origin: "declared", hidden: false },
      upstreamName: "llama",
      capabilities: ["chat", "chat_stream"],
      provider: {
        name: "models.example-8000",
        baseUrl: BASE,
        endpoints: {},
        verifyTls: true,
        caPem: null,
        timeoutConnectSeconds: 10,
        timeoutReadSeconds: 300,
        maxConcurrency: null,
        enabled: true,
      },
    });
    expect(await credentialOf("models.example-8000")).toBe("sk-1");
    expect(await fixture.audited()).toEqual(["provider.create models.example-8000", "model.create fast"]);
  });

  test("of a known base URL uses its provider, and leaves every setting of it as it was", async () => {
    const before = await fixture.catalog.createProvider(
      { name: "acme", base_url: BASE, api_key: "sk-1", timeout_read: 7 },
      ADMIN,
    );
    expect((await deploy()).provider).toEqual(before);
    expect((await fixture.catalog.snapshot()).providers).toHaveLength(1);
    expect(await fixture.audited()).toEqual(["provider.create acme", "model.create fast"]);
  });

  test("of several providers with its base URL takes the first by name, a disabled one only when there is no other", async () => {
    for (const name of ["b", "c", "a"]) await fixture.catalog.createProvider({ name, base_url: BASE }, ADMIN);
    expect((await deploy({ modelName: "one" })).provider.name).toBe("a");
    await fixture.catalog.updateProvider("a", { enabled: false }, ADMIN);
    expect((await deploy({ modelName: "two" })).provider.name).toBe("b");
    for (const name of ["b", "c"]) await fixture.catalog.updateProvider(name, { enabled: false }, ADMIN);
    expect((await deploy({ modelName: "three" })).provider.name).toBe("a");
  });

  test("of a known base URL with another key has a provider of its own, and no other key is overwritten", async () => {
    await deploy({ apiKey: "sk-1" });
    const second = await deploy({ modelName: "second", apiKey: "sk-2" });
    const third = await deploy({ modelName: "third", apiKey: "sk-3" });
    const names = ["models.example-8000", "models.example-8000-2", "models.example-8000-3"];
    expect([second.provider.name, third.provider.name]).toEqual(names.slice(1));
    expect(await Promise.all(names.map(credentialOf))).toEqual(["sk-1", "sk-2", "sk-3"]);
    expect((await fixture.audited()).filter((entry) => entry.startsWith("provider.update"))).toEqual([]);
    // With a key that is stored, or without one, it shares the provider.
    expect((await deploy({ modelName: "fourth", apiKey: "sk-2" })).provider.name).toBe(names[1]!);
    expect((await deploy({ modelName: "fifth" })).provider.name).toBe(names[0]!);
    expect(await Promise.all(names.map(credentialOf))).toEqual(["sk-1", "sk-2", "sk-3"]);
    // Registered again, each rotates its own.
    await deploy({ modelName: "second", apiKey: "sk-2b" });
    expect(await Promise.all(names.map(credentialOf))).toEqual(["sk-1", "sk-2b", "sk-3"]);
  });

  test("of a known base URL whose provider was named by an admin leaves its key, too, and takes the host's name", async () => {
    await fixture.catalog.createProvider({ name: "acme", base_url: BASE, api_key: "sk-acme" }, ADMIN);
    expect((await deploy({ apiKey: "sk-1" })).provider.name).toBe("models.example-8000");
    expect(await credentialOf("acme")).toBe("sk-acme");
  });

  test("of a known base URL gives its key to a provider that has none, and takes one with the same key first", async () => {
    await fixture.catalog.createProvider({ name: "bare", base_url: BASE }, ADMIN);
    await fixture.catalog.createProvider({ name: "keyed", base_url: BASE, api_key: "sk-1" }, ADMIN);
    expect((await deploy({ apiKey: "sk-1" })).provider.name).toBe("keyed");
    expect(await credentialOf("bare")).toBeNull();
    expect((await deploy({ modelName: "other", apiKey: "sk-2" })).provider.name).toBe("bare");
    expect(await credentialOf("bare")).toBe("sk-2");
  });

  test.each<[string | undefined, Capability[]]>([
    ["embedding", ["embeddings"]],
    ["completion", ["completions"]],
    ["chat", ["chat", "chat_stream"]],
    ["responses", ["responses"]],
    ["audio_transcription", ["transcription"]],
    ["audio_speech", ["speech"]],
    ["image_generation", ["images"]],
    ["moderation", ["moderation"]],
    ["rerank", ["rerank"]],
    ["realtime", ["chat", "chat_stream"]],
    ["constructor", ["chat", "chat_stream"]],
    [undefined, ["chat", "chat_stream"]],
  ])("of mode %p can do %p", async (mode, capabilities) => {
    expect((await deploy({ mode })).capabilities).toEqual(capabilities);
  });

  test.each([
    [{ modelName: "a b" }, "invalid_name", "model_name"],
    [{ modelName: "" }, "invalid_name", "model_name"],
    [{ modelName: "openai/*" }, "invalid_name", "model_name"],
    [{ model: " " }, "invalid_name", "compat_params.model"],
    [{ model: "a\nb", paramsField: "litellm_params" }, "invalid_name", "litellm_params.model"],
    [{ apiBase: "models.example" }, "invalid_base_url", "compat_params.api_base"],
    [{ apiBase: "http://u:p@models.example/v1" }, "invalid_base_url", "compat_params.api_base"],
    [{ apiBase: "file:///etc/passwd" }, "invalid_base_url", "compat_params.api_base"],
    [{ apiBase: "http://169.254.169.254/v1" }, "invalid_base_url", "compat_params.api_base"],
    [{ apiKey: "a\nb" }, "invalid_request", "compat_params.api_key"],
    [{ apiKey: "os.environ/OPENAI_API_KEY" }, "invalid_request", "compat_params.api_key"],
  ] as const)("with %p is refused as %s, param %s, and makes nothing", async (draft, code, param) => {
    await refused(draft, code, param);
  });

  test("loses LiteLLM's openai/ once and only in litellm_params, where it names no part of the model", async () => {
    const litellm = await deploy({ paramsField: "litellm_params", model: "openai/openai/gpt" });
    expect(litellm.upstreamName).toBe("openai/gpt");
    expect((await deploy({ modelName: "two", model: "openai/gpt" })).upstreamName).toBe("openai/gpt");
  });

  test("with LiteLLM's switch to the Responses API loses it in litellm_params, and can do that beside what its mode says", async () => {
    const register = (modelName: string, draft: Partial<DeploymentDraft>) =>
      deploy({ modelName, paramsField: "litellm_params", model: "openai/responses/gpt-5", ...draft });
    const expected = { upstreamName: "gpt-5", capabilities: ["responses"] as const };
    expect(await register("a", {})).toMatchObject(expected);
    expect(await register("a", {})).toMatchObject(expected);
    expect(await register("b", { model: "responses/gpt-5", mode: "responses" })).toMatchObject(expected);
    expect(await register("c", { mode: "chat" })).toMatchObject({
      upstreamName: "gpt-5",
      capabilities: ["chat", "chat_stream", "responses"],
    });
    expect(await register("d", { paramsField: "compat_params", model: "responses/gpt-5" })).toMatchObject({
      upstreamName: "responses/gpt-5",
      capabilities: ["chat", "chat_stream"],
    });
  });

  test("without an actor is not audited", async () => {
    await fixture.catalog.deploy(
      { modelName: "fast", paramsField: "compat_params", model: "llama", apiBase: BASE },
      null,
    );
    expect(await fixture.audited()).toEqual([]);
  });
});

describe("registering again", () => {
  test("what is there already changes nothing and audits nothing", async () => {
    const made = await deploy({ apiKey: "sk-1", mode: "chat" });
    const before = await fixture.state();
    for (const draft of [
      {},
      { apiKey: "sk-1" },
      { apiKey: "" },
      { mode: "chat" },
      { apiBase: `${BASE}//` },
    ]) {
      expect((await deploy(draft)).model).toEqual(made.model);
    }
    expect(await fixture.state()).toEqual(before);
  });

  test("after an admin declared more capabilities, hid it or gave it prices is still the same deployment", async () => {
    await deploy();
    await fixture.catalog.updateModel(
      "fast",
      { capabilities: ["chat", "chat_stream", "vision"], hidden: true, pricing: { input_tokens: 1 } },
      ADMIN,
    );
    expect(await deploy({ mode: "chat" })).toMatchObject({
      model: { hidden: true },
      capabilities: ["chat", "chat_stream", "vision"],
    });
  });

  test("what was bound for chat while its mode had no endpoint is still the same deployment, and keeps its capabilities", async () => {
    const { model } = await deploy({ mode: "chat" });
    const before = await fixture.state();
    for (const mode of ["audio_transcription", "responses", "rerank"]) {
      expect(await deploy({ mode })).toMatchObject({ model, capabilities: ["chat", "chat_stream"] });
    }
    expect(await fixture.state()).toEqual(before);
    await fixture.catalog.updateModel("fast", { capabilities: ["embeddings"] }, ADMIN);
    await refused({ mode: "rerank" }, "alias_exists", "model_name");
  });

  test("a name for a target under what it leads to is the same deployment, and stays a name", async () => {
    const { model: target } = await deploy();
    await fixture.catalog.createModel({ alias: "quick", target: "fast" }, ADMIN);
    const { model } = await deploy({ modelName: "quick" });
    expect(model.route).toEqual({ kind: "name", targetId: target.id });
  });

  test.each([
    { model: "other" },
    { apiBase: "http://other.example/v1" },
    { mode: "embedding" },
    { mode: "completion", apiKey: "sk-2" },
  ])("another deployment, %p, under a used name is alias_exists and changes nothing", async (draft) => {
    await deploy({ apiKey: "sk-1" });
    await refused(draft, "alias_exists", "model_name");
  });

  test("with another credential replaces the stored one, audited as provider.update, and touches no model", async () => {
    const { model } = await deploy({ apiKey: "sk-1" });
    expect((await deploy({ apiKey: "sk-2" })).model).toEqual(model);
    expect(await credentialOf("models.example-8000")).toBe("sk-2");
    expect((await fixture.audited()).slice(2)).toEqual(["provider.update models.example-8000"]);
  });

  test("gives the credential to the provider that serves the name, not to another of the same base URL", async () => {
    await fixture.catalog.createProvider({ name: "second", base_url: BASE, api_key: "sk-second" }, ADMIN);
    await deploy();
    await fixture.catalog.createProvider({ name: "first", base_url: BASE, api_key: "sk-first" }, ADMIN);
    await deploy({ apiKey: "sk-new" });
    expect([await credentialOf("first"), await credentialOf("second")]).toEqual(["sk-first", "sk-new"]);
  });

  test("a provider that others share, too, is a rotation for all of them", async () => {
    await deploy({ apiKey: "sk-1" });
    const { provider: shared } = await deploy({ modelName: "slow", apiKey: "sk-1" });
    await deploy({ apiKey: "sk-2" });
    await deploy({ modelName: "slow", apiKey: "sk-2" });
    expect((await fixture.catalog.snapshot()).providers.map(({ name }) => name)).toEqual([shared.name]);
    expect(await credentialOf(shared.name)).toBe("sk-2");
  });

  test("at the same time from many sides makes one provider and one model", async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => deploy({ apiKey: "sk-1" })));
    expect(new Set(made.map(({ model }) => model.id)).size).toBe(1);
    expect(await fixture.audited()).toEqual(["provider.create models.example-8000", "model.create fast"]);
  });
});

describe("a derived provider name", () => {
  const nameFor = async (apiBase: string) =>
    (await deploy({ modelName: `m${(models += 1)}`, apiBase })).provider.name;
  let models = 0;

  test.each([
    ["https://API.OpenAI.com/v1", "api.openai.com"],
    ["https://api.openai.com:443/v1", "api.openai.com"],
    ["http://api.openai.com:443/v1", "api.openai.com-443"],
    ["http://127.0.0.1:8000/v1", "127.0.0.1-8000"],
    ["http://[2001:db8::1]:8000/v1", "2001-db8--1-8000"],
    ["http://[::1]:11434/v1", "0--1-11434"],
    ["http://[::]/v1", "0--"],
    ["http://_models/v1", "0_models"],
    ["http://my!host/v1", "my-host"],
    ["https://bücher.example/v1", "xn--bcher-kva.example"],
    [`http://${"a.".repeat(100)}example:8000/v1`, `${"a.".repeat(57)}a-8000`],
  ])("of %s is %s", async (apiBase, name) => {
    expect(await nameFor(apiBase)).toBe(name);
    expect((await provider(name))?.name).toBe(name);
  });

  test("is numbered while providers of other base URLs have it, and never shared", async () => {
    await fixture.catalog.createProvider({ name: "h.example-2", base_url: "http://x.example/v1" }, ADMIN);
    expect(await nameFor("http://h.example/v1")).toBe("h.example");
    expect(await nameFor("https://h.example/v1")).toBe("h.example-3");
    expect(await nameFor("http://h.example/api/v1")).toBe("h.example-4");
    expect(await nameFor("http://h.example/v1")).toBe("h.example");
  });

  test("is a name for every base URL that there can be", () => {
    const empty = createSnapshot({ providers: [], models: [], prices: [] });
    const host = fc.oneof(
      fc.string({ unit: "binary", minLength: 1 }),
      fc.domain(),
      fc.ipV6().map((address) => `[${address}]`),
    );
    fc.assert(
      fc.property(host, fc.integer({ min: 0, max: 65_535 }), (name, port) => {
        const baseUrl = toBaseUrl(`http://${name}:${port}/v1`);
        if (baseUrl !== null) expect(isName(toFreeProviderName(empty, baseUrl))).toBe(true);
      }),
    );
  });

  test("stays within 120 characters with its number", async () => {
    const host = "a".repeat(60) + "." + "b".repeat(60);
    const names = [await nameFor(`http://${host}/v1`), await nameFor(`http://${host}/v2`)];
    expect(names).toEqual([host.slice(0, 120), `${host.slice(0, 118)}-2`]);
  });
});

describe("deleting by id", () => {
  const remove = (id: string) => fixture.catalog.deleteDeployment(id, ADMIN);

  test("removes the model, leaves its provider, and is audited under the alias", async () => {
    const { model } = await deploy();
    await remove(model.id);
    const { models, providers } = await fixture.catalog.snapshot();
    expect([models.length, providers.length]).toEqual([0, 1]);
    expect((await fixture.audited()).at(-1)).toBe("model.delete fast");
  });

  test("follows a rename, since an id stays", async () => {
    const { model } = await deploy();
    await fixture.catalog.updateModel("fast", { alias: "slow" }, ADMIN);
    await remove(model.id);
    expect((await fixture.audited()).at(-1)).toBe("model.delete slow");
  });

  test("an unknown id, and an alias, are model_not_found", async () => {
    await deploy();
    for (const id of ["nope", "", "fast"]) {
      await expectRefused(fixture, () => remove(id), { code: "model_not_found", param: "id" });
    }
  });

  test("a target that names point at is model_in_use, and a name goes alone", async () => {
    const { model } = await deploy();
    const name = await fixture.catalog.createModel({ alias: "quick", target: "fast" }, ADMIN);
    await expectRefused(fixture, () => remove(model.id), { code: "model_in_use", param: null });
    await remove(name.model.id);
    expect((await fixture.catalog.snapshot()).models.map(({ model: { alias } }) => alias)).toEqual(["fast"]);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ModelDraft, ModelPatch } from "#catalog/model.ts";
import { ADMIN, expectRefused, openTestCatalog, type TestCatalog } from "./support.ts";

let fixture: TestCatalog;
beforeEach(async () => {
  fixture = await openTestCatalog();
  await fixture.catalog.createProvider({ name: "one", base_url: "http://one.example/v1" }, null);
  await fixture.catalog.createProvider({ name: "two", base_url: "http://two.example/v1" }, null);
});
afterEach(() => fixture.close());

const create = (draft: ModelDraft) => fixture.catalog.createModel(draft, ADMIN);
const update = (alias: string, patch: ModelPatch) => fixture.catalog.updateModel(alias, patch, ADMIN);
const bind = (alias: string, draft: ModelDraft = {}) =>
  create({ alias, provider: "one", upstreamName: "up", ...draft });
const aliases = async () => (await fixture.catalog.snapshot()).models.map(({ model }) => model.alias);
const refused = (call: () => unknown, code: string, param: string | null) =>
  expectRefused(fixture, call, { code, param });

describe("making a model", () => {
  test("that routes to a provider fills in the defaults and serves at the next request", async () => {
    const made = await bind("fast");
    expect(made).toMatchObject({
      model: { alias: "fast", origin: "declared", hidden: false },
      upstreamName: "up",
      capabilities: ["chat", "chat_stream"],
      prices: {},
      pricesInherited: false,
    });
    expect(made.provider.name).toBe("one");
    expect((await fixture.catalog.snapshot()).findModel("fast")).toEqual(made);
    expect(await fixture.audited()).toEqual(["model.create fast"]);
  });

  test.each([undefined, ""])("with the alias %p serves under its upstream name", async (alias) => {
    expect((await bind("", { alias, upstreamName: "org/model:8b" })).model.alias).toBe("org/model:8b");
  });

  test("without an alias is invalid_name when the upstream name does not fit the rule for aliases", async () => {
    await refused(() => create({ provider: "one", upstreamName: "a model" }), "invalid_name", "alias");
    expect((await bind("named", { upstreamName: "a model ü" })).upstreamName).toBe("a model ü");
  });

  test.each(["-a", "/a", "a b", "a\n", "ü", "a\u0000", "a?b", "a".repeat(201)])(
    "under the alias %p is invalid_name",
    async (alias) => {
      await refused(() => bind(alias), "invalid_name", "alias");
      await bind("ok");
      await refused(() => update("ok", { alias }), "invalid_name", "alias");
    },
  );

  test.each(["", "  ", "a\nb", "a\u0085", "\uD800", "😀".repeat(201)])(
    "with the upstream name %p is invalid_name",
    async (upstreamName) => {
      await refused(() => bind("a", { upstreamName }), "invalid_name", "upstream_name");
      await bind("ok");
      await refused(() => update("ok", { upstreamName }), "invalid_name", "upstream_name");
    },
  );

  test("takes 200 characters of each name, counted as code points", async () => {
    const made = await bind("a".repeat(200), { upstreamName: "😀".repeat(200) });
    expect(made.upstreamName).toBe("😀".repeat(200));
  });

  test("under a used name is alias_exists, whichever kind of model has it or is to have it", async () => {
    await bind("fast");
    await create({ alias: "name", target: "fast" });
    await refused(() => bind("fast"), "alias_exists", "alias");
    await refused(() => bind("name", { provider: "two" }), "alias_exists", "alias");
    await refused(() => create({ alias: "name", target: "fast" }), "alias_exists", "alias");
  });

  test("on an unknown provider is provider_not_found", async () => {
    await refused(() => bind("a", { provider: "none" }), "provider_not_found", "provider");
    await bind("ok");
    await refused(() => update("ok", { provider: "none" }), "provider_not_found", "provider");
  });

  test("with neither a target nor both provider and upstream_name is invalid_request", async () => {
    await refused(() => create({ alias: "a" }), "invalid_request", "provider");
    await refused(() => create({ alias: "a", target: "" }), "invalid_request", "provider");
    await refused(() => create({ alias: "a", upstreamName: "up" }), "invalid_request", "provider");
    await refused(() => create({ alias: "a", provider: "one" }), "invalid_request", "upstream_name");
  });

  test("keeps capabilities in the order given, each once, and none when none are given", async () => {
    const capabilities = ["vision", "chat", "vision"];
    expect((await bind("a", { capabilities })).capabilities).toEqual(["vision", "chat"]);
    expect((await bind("b", { capabilities: [] })).capabilities).toEqual([]);
    expect((await update("a", { capabilities: ["embeddings"] })).capabilities).toEqual(["embeddings"]);
  });

  test("with an unknown capability, origin or unit is refused at that place", async () => {
    await refused(() => bind("a", { capabilities: ["chat", "smell"] }), "invalid_request", "capabilities[1]");
    await refused(() => bind("a", { origin: "guessed" }), "invalid_request", "origin");
    await refused(() => bind("a", { pricing: { tokens: 1 } }), "invalid_pricing", "pricing.tokens");
    await refused(
      () => bind("a", { pricing: { input_tokens: -1 } }),
      "invalid_pricing",
      "pricing.input_tokens",
    );
    await refused(
      () => bind("a", { pricing: { input_tokens: 0.0000001 } }),
      "invalid_pricing",
      "pricing.input_tokens",
    );
    await bind("ok");
    await refused(() => update("ok", { capabilities: ["smell"] }), "invalid_request", "capabilities[0]");
    await refused(
      () => update("ok", { pricing: { output_tokens: Infinity } }),
      "invalid_pricing",
      "pricing.output_tokens",
    );
  });
});

describe("a name for a target", () => {
  beforeEach(() => bind("base", { capabilities: ["embeddings"], upstreamName: "base-up", provider: "two" }));

  test("inherits provider, upstream model and capabilities, and ignores capabilities sent with its creation", async () => {
    const made = await create({
      alias: "name",
      target: "base",
      capabilities: ["chat", "smell"],
      origin: "discovered",
    });
    expect(made.capabilities).toEqual(["embeddings"]);
    expect(made.provider.name).toBe("two");
    expect(made.upstreamName).toBe("base-up");
    expect(made.bound.alias).toBe("base");
    await update("base", { provider: "one", upstreamName: "new-up", capabilities: ["chat"] });
    expect((await fixture.catalog.snapshot()).findModel("name")).toMatchObject({
      upstreamName: "new-up",
      capabilities: ["chat"],
      provider: { name: "one" },
    });
  });

  test("needs an alias", async () => {
    await refused(() => create({ target: "base" }), "invalid_request", "alias");
    await refused(() => create({ alias: "", target: "base" }), "invalid_request", "alias");
  });

  test("together with provider or upstream_name is invalid_target", async () => {
    await refused(() => create({ alias: "n", target: "base", provider: "one" }), "invalid_target", "target");
    await refused(
      () => create({ alias: "n", target: "base", upstreamName: "up" }),
      "invalid_target",
      "target",
    );
  });

  test("is invalid_target when the target is unknown, itself, or a name too", async () => {
    await create({ alias: "name", target: "base" });
    await refused(() => create({ alias: "n", target: "none" }), "invalid_target", "target");
    await refused(() => create({ alias: "n", target: "n" }), "invalid_target", "target");
    await refused(() => create({ alias: "base", target: "base" }), "invalid_target", "target");
    await refused(() => create({ alias: "n", target: "name" }), "invalid_target", "target");
    await bind("other");
    await refused(() => update("other", { target: "none" }), "invalid_target", "target");
    await refused(() => update("other", { target: "other" }), "invalid_target", "target");
    await refused(() => update("other", { target: "name" }), "invalid_target", "target");
    await refused(() => update("other", { alias: "x", target: "other" }), "invalid_target", "target");
    await refused(() => update("other", { alias: "x", target: "x" }), "invalid_target", "target");
    await refused(() => update("name", { target: "name" }), "invalid_target", "target");
  });

  test("does not take provider, upstream_name or capabilities by a patch, whether it stays a name or becomes one", async () => {
    await create({ alias: "name", target: "base" });
    await bind("other");
    for (const patch of [{ provider: "one" }, { upstreamName: "x" }, { capabilities: ["chat"] }]) {
      await refused(() => update("name", patch), "invalid_target", "target");
      await refused(() => update("name", { ...patch, target: "other" }), "invalid_target", "target");
      await refused(() => update("other", { ...patch, target: "base" }), "invalid_target", "target");
    }
  });

  test("can be pointed at another target, and an own binding can become a name", async () => {
    const other = await bind("other");
    await create({ alias: "name", target: "base" });
    expect((await update("name", { target: "other" })).bound.alias).toBe("other");
    const turned = await update("other", { target: "", provider: "two", upstreamName: "x" });
    expect(turned.model.id).toBe(other.model.id);
    await bind("third");
    expect((await update("third", { target: "other" })).model.route.kind).toBe("name");
  });

  test("is not made of a model that names point at", async () => {
    await create({ alias: "name", target: "base" });
    await bind("other");
    await refused(() => update("base", { target: "other" }), "invalid_target", "target");
  });

  test("becomes a binding with an empty target and both provider and upstream_name, keeping what it could do", async () => {
    const name = await create({ alias: "name", target: "base" });
    for (const patch of [{}, { provider: "one" }, { upstreamName: "x" }, { capabilities: ["chat"] }]) {
      await refused(() => update("name", { ...patch, target: "" }), "invalid_target", "target");
    }
    const bound = await update("name", { target: "", provider: "one", upstreamName: "own-up" });
    expect(bound.model).toMatchObject({ id: name.model.id, alias: "name", route: { kind: "binding" } });
    expect(bound.bound.alias).toBe("name");
    expect(bound.upstreamName).toBe("own-up");
    expect(bound.capabilities).toEqual(["embeddings"]);
    await update("name", { target: "base" });
    const given = { target: "", provider: "one", upstreamName: "own-up", capabilities: ["chat"] };
    expect((await update("name", given)).capabilities).toEqual(["chat"]);
  });

  test("keeps pointing at a target that is renamed or hidden, and is not hidden with it", async () => {
    await create({ alias: "name", target: "base" });
    await update("base", { alias: "renamed", hidden: true });
    const name = (await fixture.catalog.snapshot()).findModel("name");
    expect(name?.bound.alias).toBe("renamed");
    expect(name?.model.hidden).toBe(false);
  });
});

describe("changing a model", () => {
  test("renames in place: the same row under the new name, and the old one is free", async () => {
    const before = await bind("old");
    const after = await update("old", { alias: "new" });
    expect(after.model).toEqual({ ...before.model, alias: "new" });
    expect(await aliases()).toEqual(["new"]);
    expect(await fixture.audited()).toEqual(["model.create old", "model.update old"]);
    expect((await bind("old")).model.id).not.toBe(before.model.id);
  });

  test("onto its own name is no clash, onto another's it is alias_exists", async () => {
    await bind("a");
    await bind("b");
    expect((await update("a", { alias: "a" })).model.alias).toBe("a");
    await refused(() => update("a", { alias: "b" }), "alias_exists", "alias");
  });

  test("changes what is sent and leaves everything else", async () => {
    const before = await bind("a", {
      capabilities: ["vision"],
      origin: "discovered",
      pricing: { input_tokens: 2 },
    });
    const after = await update("a", { hidden: true });
    expect(after).toEqual({
      ...before,
      model: { ...before.model, hidden: true },
      bound: { ...before.model, hidden: true },
    });
    expect((await update("a", { provider: "two" })).upstreamName).toBe("up");
  });

  test("that does not exist is model_not_found, to patch as to delete", async () => {
    await refused(() => update("none", { hidden: true }), "model_not_found", "model");
    await refused(() => fixture.catalog.deleteModel("none", ADMIN), "model_not_found", "model");
  });

  test("works while its provider is disabled", async () => {
    await bind("a");
    await fixture.catalog.updateProvider("one", { enabled: false }, null);
    expect((await update("a", { provider: "two" })).provider.enabled).toBe(true);
  });
});

describe("deleting a model", () => {
  test("that names point at is model_in_use, which lists them", async () => {
    await bind("base");
    await create({ alias: "name-b", target: "base" });
    await create({ alias: "name-a", target: "base" });
    const { message } = await refused(() => fixture.catalog.deleteModel("base", ADMIN), "model_in_use", null);
    expect(message).toContain("name-a, name-b");
    await fixture.catalog.deleteModel("name-a", ADMIN);
    await fixture.catalog.deleteModel("name-b", ADMIN);
    await fixture.catalog.deleteModel("base", ADMIN);
    expect(await aliases()).toEqual([]);
  });

  test("lists twenty names at most and says how many more there are", async () => {
    await bind("base");
    for (let index = 10; index < 32; index += 1) await create({ alias: `n${index}`, target: "base" });
    const { message } = await refused(() => fixture.catalog.deleteModel("base", ADMIN), "model_in_use", null);
    expect(message).toContain("n29 and 2 more");
    expect(message).not.toContain("n30");
  });

  test("without an actor is not audited", async () => {
    await fixture.catalog.createModel({ alias: "a", provider: "one", upstreamName: "up" }, null);
    await fixture.catalog.updateModel("a", { hidden: true }, null);
    await fixture.catalog.deleteModel("a", null);
    expect(await fixture.audited()).toEqual([]);
  });
});

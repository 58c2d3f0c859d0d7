import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Capability } from "#catalog/capability.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { listModels } from "#catalog/snapshot.ts";
import { requireCapability, resolveModel, upstreamUrl, withQuery } from "#catalog/resolve.ts";
import { openTestCatalog, refusalOf, type TestCatalog } from "./support.ts";

let fixture: TestCatalog;
beforeEach(async () => {
  fixture = await openTestCatalog();
  const { catalog } = fixture;
  const endpoints = { embeddings: "https://embed.example/e?v=1" };
  await catalog.createProvider({ name: "one", base_url: "http://one.example/v1/", endpoints }, null);
  await catalog.createProvider({ name: "two", base_url: "http://two.example/v1" }, null);
  await catalog.createModel(
    { alias: "talk", provider: "one", upstreamName: "t", capabilities: ["chat", "vision"] },
    null,
  );
  await catalog.createModel(
    { alias: "embed", provider: "two", upstreamName: "e", capabilities: ["embeddings"] },
    null,
  );
  await catalog.createModel(
    { alias: "all", provider: "two", upstreamName: "a", capabilities: [...ENDPOINTS, "chat_stream"] },
    null,
  );
  await catalog.createModel({ alias: "A-name", target: "all", hidden: true }, null);
});
afterEach(() => fixture.close());

describe("resolving an alias", () => {
  test("gives the model, its provider and its upstream name, through a name as well", async () => {
    const snapshot = await fixture.catalog.snapshot();
    expect(resolveModel(snapshot, "talk")).toMatchObject({ provider: { name: "one" }, upstreamName: "t" });
    expect(resolveModel(snapshot, "A-name")).toMatchObject({ provider: { name: "two" }, upstreamName: "a" });
  });

  test("that is unknown is model_not_found, and an upstream name is not tried in its place", async () => {
    const snapshot = await fixture.catalog.snapshot();
    for (const alias of ["t", "TALK", "talk ", "", "__proto__", "constructor"]) {
      expect(await refusalOf(() => resolveModel(snapshot, alias))).toMatchObject({
        code: "model_not_found",
        param: "model",
      });
    }
  });

  test("of a disabled provider is model_not_found and says so, also through a name, until it is enabled again", async () => {
    await fixture.catalog.updateProvider("two", { enabled: false }, null);
    const disabled = await fixture.catalog.snapshot();
    for (const alias of ["all", "A-name"]) {
      const refusal = await refusalOf(() => resolveModel(disabled, alias));
      expect(refusal).toMatchObject({ code: "model_not_found", param: "model" });
      expect(refusal.message).toBe(`The model \`${alias}\` is not served: its provider is disabled.`);
    }
    await fixture.catalog.updateProvider("two", { enabled: true }, null);
    expect(resolveModel(await fixture.catalog.snapshot(), "A-name").upstreamName).toBe("a");
  });

  test("is not stopped by hiding it", async () => {
    expect(resolveModel(await fixture.catalog.snapshot(), "A-name").model.hidden).toBe(true);
  });
});

describe("the refusal of an unknown model", () => {
  const messageFor = async (alias: string, scope: ReadonlySet<string> | null = null) =>
    (await refusalOf(async () => resolveModel(await fixture.catalog.snapshot(), alias, scope))).message;
  const END = " GET /v1/models lists the models that are.";

  test("names what was asked for, and the nearest model, in other letters too", async () => {
    expect(await messageFor("tlak")).toBe(
      `The model \`tlak\` is not served here. Did you mean \`talk\`?${END}`,
    );
    expect(await messageFor("EMBED")).toBe(
      `The model \`EMBED\` is not served here. Did you mean \`embed\`?${END}`,
    );
  });

  test("suggests a model that is called the same behind a vendor's name, or without one", async () => {
    expect(await messageFor("vendor/talk")).toContain("Did you mean `talk`?");
    await fixture.catalog.updateModel("embed", { alias: "maker/very-long-name" }, null);
    expect(await messageFor("very-long-name")).toContain("Did you mean `maker/very-long-name`?");
    expect(await messageFor("vendor/a-name")).not.toContain("Did you mean");
    expect(await messageFor("vendor/talk", new Set(["maker/very-long-name"]))).not.toContain("talk`?");
  });

  test("suggests nothing that is far, hidden or of a disabled provider, and no upstream name", async () => {
    for (const alias of ["something-else", "A-nam", "t", "", "e"])
      expect(await messageFor(alias)).toBe(`The model \`${alias}\` is not served here.${END}`);
    await fixture.catalog.updateProvider("two", { enabled: false }, null);
    expect(await messageFor("embd")).toBe(`The model \`embd\` is not served here.${END}`);
  });

  test("neither suggests nor tells apart what the caller may not see, not even that its provider is disabled", async () => {
    const scope = new Set(["embed"]);
    expect(await messageFor("talk", scope)).toBe(`The model \`talk\` is not served here.${END}`);
    expect(await messageFor("tlak", scope)).toBe(`The model \`tlak\` is not served here.${END}`);
    expect(await messageFor("embde", scope)).toContain("Did you mean `embed`?");
    await fixture.catalog.updateProvider("one", { enabled: false }, null);
    expect(await messageFor("talk", scope)).toBe(`The model \`talk\` is not served here.${END}`);
  });

  test("repeats 200 characters at most, and escapes what is not to be read", async () => {
    expect(await messageFor("é".repeat(201))).toBe(
      `The model \`${"é".repeat(200)}…\` is not served here.${END}`,
    );
    expect(await messageFor("é".repeat(200))).toBe(
      `The model \`${"é".repeat(200)}\` is not served here.${END}`,
    );
    expect(await messageFor("a\u001b[2J\nb\u202e\ud800")).toBe(
      `The model \`a\\u001b[2J\\u000ab\\u202e\ufffd\` is not served here.${END}`,
    );
  });

  test("finds the nearest among 10,000 long names that begin alike", async () => {
    const { provider, ...rest } = resolveModel(await fixture.catalog.snapshot(), "talk");
    const models = Array.from({ length: 10_000 }, (_, number) => ({
      ...rest,
      provider,
      model: { ...rest.model, alias: `vendor/${"m".repeat(150)}-${number}` },
    }));
    const snapshot = { ...(await fixture.catalog.snapshot()), models };
    const asked = `vendor/${"m".repeat(150)}-10000`;
    const refusal = await refusalOf(() => resolveModel(snapshot, asked));
    expect(refusal.message).toContain(`Did you mean \`vendor/${"m".repeat(150)}-1000\`?`);
  });
});

describe("what an endpoint needs", () => {
  const needs = async (alias: string, endpoint: (typeof ENDPOINTS)[number], stream: boolean) =>
    requireCapability(resolveModel(await fixture.catalog.snapshot(), alias), endpoint, stream);

  test.each([...ENDPOINTS])(
    "the capability of its own name, and a stream of %p no more than the table says",
    async (endpoint) => {
      await needs("all", endpoint, false);
      await needs("all", endpoint, true);
    },
  );

  test("a streamed chat needs chat_stream too, and the refusal names what is missing and what there is", async () => {
    await needs("talk", "chat", false);
    const refusal = await refusalOf(() => needs("talk", "chat", true));
    expect(refusal).toMatchObject({ code: "endpoint_not_supported", param: "model" });
    expect(refusal.message).toContain("Missing capabilities: chat_stream.");
    expect(refusal.message).toContain("Supported capabilities: chat, vision.");
  });

  test("neither chat_stream nor vision stands in for chat", async () => {
    await fixture.catalog.updateModel("talk", { capabilities: ["chat_stream", "vision"] }, null);
    expect((await refusalOf(() => needs("talk", "chat", true))).message).toContain(
      "Missing capabilities: chat.",
    );
    await fixture.catalog.updateModel("talk", { capabilities: [] }, null);
    const { message } = await refusalOf(() => needs("talk", "chat", true));
    expect(message).toContain("Missing capabilities: chat, chat_stream. Supported capabilities: none.");
  });

  test("streaming of completions and embeddings needs nothing extra", async () => {
    await fixture.catalog.updateModel("talk", { capabilities: ["completions", "embeddings"] }, null);
    await needs("talk", "completions", true);
    await needs("talk", "embeddings", true);
  });
});

describe("the URL that is called", () => {
  test("is the base URL and the dialect's path, or the override exactly as it stands", async () => {
    const snapshot = await fixture.catalog.snapshot();
    const { provider: one } = resolveModel(snapshot, "talk");
    expect(upstreamUrl(one, "chat")).toBe("http://one.example/v1/chat/completions");
    expect(upstreamUrl(one, "completions")).toBe("http://one.example/v1/completions");
    expect(upstreamUrl(one, "embeddings")).toBe("https://embed.example/e?v=1");
    expect(upstreamUrl(resolveModel(snapshot, "all").provider, "embeddings")).toBe(
      "http://two.example/v1/embeddings",
    );
  });

  test("of a further path of a capability goes on from the override of its first, before the query of that", () => {
    const baseUrl = "http://base.example/v1";
    const endpoints = {
      responses: "https://r.example/deployments/a/responses?api-version=1",
      messages: "https://m.example/anthropic/v1/messages",
      transcription: "https://t.example/a/transcriptions?v=2",
      images: "https://i.example/pictures",
      rerank: "https://k.example/v2/rerank",
    };
    const urls = (given: typeof endpoints | Record<string, never>) =>
      [
        upstreamUrl({ baseUrl, endpoints: given }, "responses"),
        upstreamUrl({ baseUrl, endpoints: given }, "responses/compact"),
        upstreamUrl({ baseUrl, endpoints: given }, "responses/cancel", "resp_%2F1"),
        upstreamUrl({ baseUrl, endpoints: given }, "responses/retrieve", "$&"),
        upstreamUrl({ baseUrl, endpoints: given }, "messages/count_tokens"),
        upstreamUrl({ baseUrl, endpoints: given }, "translation"),
        upstreamUrl({ baseUrl, endpoints: given }, "images/edits"),
        upstreamUrl({ baseUrl, endpoints: given }, "rerank"),
      ] as const;
    expect(urls(endpoints)).toEqual([
      "https://r.example/deployments/a/responses?api-version=1",
      "https://r.example/deployments/a/responses/compact?api-version=1",
      "https://r.example/deployments/a/responses/resp_%2F1/cancel?api-version=1",
      "https://r.example/deployments/a/responses/$&?api-version=1",
      "https://m.example/anthropic/v1/messages/count_tokens",
      "https://t.example/a/translations?v=2",
      "https://i.example/edits",
      "https://k.example/v2/rerank",
    ]);
    expect(urls({})).toEqual([
      `${baseUrl}/responses`,
      `${baseUrl}/responses/compact`,
      `${baseUrl}/responses/resp_%2F1/cancel`,
      `${baseUrl}/responses/$&`,
      `${baseUrl}/messages/count_tokens`,
      `${baseUrl}/audio/translations`,
      `${baseUrl}/images/edits`,
      `${baseUrl}/rerank`,
    ]);
    expect(withQuery("https://r.example/a?v=1", "?b=%20")).toBe("https://r.example/a?v=1&b=%20");
    expect(withQuery("https://r.example/a", "?")).toBe("https://r.example/a");
  });
});

describe("the public list", () => {
  const list = async (endpoint: Capability | null, includeHidden = false) =>
    listModels(await fixture.catalog.snapshot(), { endpoint, includeHidden }).map(({ model }) => model.alias);

  test("is by alias in code units, without hidden models unless they are asked for", async () => {
    expect(await list(null)).toEqual(["all", "embed", "talk"]);
    expect(await list(null, true)).toEqual(["A-name", "all", "embed", "talk"]);
  });

  test("filters by the resolved capabilities", async () => {
    expect(await list("embeddings", true)).toEqual(["A-name", "all", "embed"]);
    expect(await list("vision")).toEqual(["talk"]);
  });

  test("leaves out models of disabled providers, even when hidden ones are asked for", async () => {
    await fixture.catalog.updateProvider("two", { enabled: false }, null);
    expect(await list(null, true)).toEqual(["talk"]);
  });

  test("still shows a name whose target is hidden", async () => {
    await fixture.catalog.updateModel("A-name", { hidden: false }, null);
    await fixture.catalog.updateModel("all", { hidden: true }, null);
    expect(await list(null)).toEqual(["A-name", "embed", "talk"]);
  });
});

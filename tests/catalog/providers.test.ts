import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openCredential, type Provider, type ProviderDraft, type ProviderPatch } from "#catalog/provider.ts";
import { TIMEOUT_SECONDS_MAX } from "#catalog/provider-fields.ts";
import { ProxyError } from "#kernel/errors.ts";
import { ADMIN, expectRefused, openTestCatalog, type TestCatalog } from "./support.ts";

const ROOT_PEM = readFileSync(join(import.meta.dir, "root.pem"), "utf8");
const BASE_URL = "https://api.example.com/v1";

let fixture: TestCatalog;
beforeEach(async () => {
  fixture = await openTestCatalog();
});
afterEach(() => fixture.close());

let count = 0;
let name = "";
beforeEach(() => {
  name = `p${(count += 1)}`;
});

const create = (draft: Partial<ProviderDraft> = {}) =>
  fixture.catalog.createProvider({ name, base_url: BASE_URL, ...draft }, ADMIN);
const update = (patch: ProviderPatch) => fixture.catalog.updateProvider(name, patch, ADMIN);
const stored = async () => (await fixture.catalog.snapshot()).findProvider(name);

describe("making a provider", () => {
  test("fills in the defaults of section 2.3 and is seen by the next request", async () => {
    const provider = await create();
    expect(provider).toMatchObject({
      name,
      wireFormat: "openai",
      baseUrl: BASE_URL,
      endpoints: {},
      sealedCredential: null,
      authStyle: "bearer",
      verifyTls: true,
      caPem: null,
      timeoutConnectSeconds: 10,
      timeoutReadSeconds: 300,
      maxConcurrency: null,
      enabled: true,
    });
    expect(await stored()).toEqual(provider);
  });

  test("strips every trailing slash of the base URL, so that no doubled slash is ever called", async () => {
    expect((await create({ base_url: "http://localhost:8000///" })).baseUrl).toBe("http://localhost:8000");
  });

  test("under a used name is provider_exists and changes nothing of the one that has it", async () => {
    await create();
    await expectRefused(fixture, () => create({ base_url: "http://other.example/v1" }), {
      code: "provider_exists",
      param: "name",
    });
  });

  test.each([["", "Upper", "-dash", ".dot", "a b", "a/b", "a:b", "ü", "a\n", "x".repeat(121)]].flat())(
    "under the name %p is invalid_name",
    async (bad) => {
      await expectRefused(fixture, () => create({ name: bad }), { code: "invalid_name", param: "name" });
    },
  );

  test("takes a name of exactly 120 characters", async () => {
    name = "x".repeat(120);
    expect((await create()).name).toBe(name);
  });

  test("in another wire format is invalid_wire_format", async () => {
    await expectRefused(fixture, () => create({ wire_format: "messages" }), {
      code: "invalid_wire_format",
      param: "wire_format",
    });
  });

  const badFields: readonly (readonly [
    what: string,
    draft: Partial<ProviderDraft>,
    code: string,
    param: string,
  ])[] = [
    ["a query in base_url", { base_url: "https://a.example/v1?x=1" }, "invalid_base_url", "base_url"],
    ["user info in base_url", { base_url: "https://u:sesame@a.example/v1" }, "invalid_base_url", "base_url"],
    ["the metadata address", { base_url: "http://0xa9fea9fe/v1" }, "invalid_base_url", "base_url"],
    ["an unknown endpoint", { endpoints: { teleport: BASE_URL } }, "invalid_endpoint", "endpoints.teleport"],
    [
      "an endpoint of the prototype",
      { endpoints: JSON.parse('{"__proto__":"http://a.example"}') },
      "invalid_endpoint",
      "endpoints.__proto__",
    ],
    ["an endpoint that is no word", { endpoints: { "<b>\n": BASE_URL } }, "invalid_endpoint", "endpoints"],
    ["an override that is no URL", { endpoints: { chat: "/chat" } }, "invalid_override", "endpoints.chat"],
    ["an empty override", { endpoints: { embeddings: "" } }, "invalid_override", "endpoints.embeddings"],
    [
      "an override to the metadata address",
      { endpoints: { chat: "http://2852039166/" } },
      "invalid_override",
      "endpoints.chat",
    ],
    ["a line break in api_key", { api_key: "sk-sesame\r\nx-evil: 1" }, "invalid_request", "api_key"],
    ["a last line break in api_key", { api_key: "sk-sesame\n" }, "invalid_request", "api_key"],
    ["a NUL in api_key", { api_key: "sk-sesame\0" }, "invalid_request", "api_key"],
    ["a letter outside of ASCII in api_key", { api_key: "sk-sesame-ü" }, "invalid_request", "api_key"],
    ["a blank before api_key", { api_key: " sk-sesame" }, "invalid_request", "api_key"],
    ["a ca_pem that is no PEM", { ca_pem: "hello" }, "invalid_request", "ca_pem"],
    [
      "a ca_pem with a broken certificate",
      { ca_pem: ROOT_PEM.replace(/MII/, "MIJ") },
      "invalid_request",
      "ca_pem",
    ],
    [
      "a broken certificate after a good one",
      { ca_pem: `${ROOT_PEM}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` },
      "invalid_request",
      "ca_pem",
    ],
    [
      "a private key in ca_pem",
      { ca_pem: `${ROOT_PEM}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n` },
      "invalid_request",
      "ca_pem",
    ],
    ["a connect timeout of zero", { timeout_connect: 0 }, "invalid_request", "timeout_connect"],
    ["a negative read timeout", { timeout_read: -1 }, "invalid_request", "timeout_read"],
    ["an endless read timeout", { timeout_read: Infinity }, "invalid_request", "timeout_read"],
    ["a timeout that is no number", { timeout_read: Number.NaN }, "invalid_request", "timeout_read"],
    ["a timeout above a day", { timeout_read: TIMEOUT_SECONDS_MAX + 1 }, "invalid_request", "timeout_read"],
    ["half a connection", { max_concurrency: 1.5 }, "invalid_request", "max_concurrency"],
    ["an unsafe max_concurrency", { max_concurrency: 2 ** 53 }, "invalid_request", "max_concurrency"],
  ];

  test.each(badFields)(
    "with %s is refused by field, on create and on patch, and repeats no value",
    async (_what, fields, code, param) => {
      const onCreate = await expectRefused(fixture, () => create(fields), { code, param });
      await create({ api_key: "sk-before", ca_pem: ROOT_PEM, endpoints: { chat: BASE_URL } });
      const onPatch = await expectRefused(fixture, () => update(fields), { code, param });
      for (const { message } of [onCreate, onPatch]) {
        expect(message).not.toContain("sesame");
        expect(message).not.toContain("a.example");
      }
    },
  );

  test("keeps an override as it is, its query and last slash included", async () => {
    const endpoints = {
      chat: "https://x.example/d/chat?api-version=2024-06-01",
      embeddings: "https://x.example/e/",
    };
    expect((await create({ endpoints })).endpoints).toEqual(endpoints);
  });

  test.each([0, -1, null])("with max_concurrency %p is unlimited", async (maxConcurrency) => {
    expect((await create({ max_concurrency: maxConcurrency })).maxConcurrency).toBeNull();
    expect((await update({ max_concurrency: 3 })).maxConcurrency).toBe(3);
    expect((await update({ max_concurrency: maxConcurrency })).maxConcurrency).toBeNull();
  });
});

describe("a provider's credential", () => {
  test("is stored sealed, opens only for its own row, and is nowhere in the clear", async () => {
    const provider = await create({ api_key: "sk-sesame" });
    expect(openCredential(fixture.secrets, provider)).toBe("sk-sesame");
    expect(Buffer.from(provider.sealedCredential ?? []).includes("sk-sesame")).toBe(false);
    expect(() => openCredential(fixture.secrets, { ...provider, id: "another" })).toThrow();
    expect(JSON.stringify(await fixture.state())).not.toContain("sk-sesame");
  });

  test("opens only for the origins and TLS settings that it was sealed for, and says so without telling anything of it", async () => {
    const provider = await create({ api_key: "sk-sesame", endpoints: { chat: "https://b.example/chat" } });
    const altered: readonly Partial<Provider>[] = [
      { baseUrl: "https://evil.example/v1" },
      { baseUrl: provider.baseUrl.replace("https:", "http:") },
      { baseUrl: `${new URL(provider.baseUrl).origin}:8443/v1` },
      { baseUrl: "no URL" },
      { endpoints: { chat: "https://evil.example/chat" } },
      { endpoints: { ...provider.endpoints, embeddings: "https://evil.example/e" } },
      { verifyTls: false },
      { caPem: "another authority" },
    ];
    for (const change of altered) {
      let thrown: unknown = null;
      try {
        openCredential(fixture.secrets, { ...provider, ...change });
      } catch (cause) {
        thrown = cause;
      }
      expect(thrown).toBeInstanceOf(ProxyError);
      expect(String(thrown)).toContain(provider.name);
      expect(String(thrown)).not.toContain("sesame");
    }
    const samePlace = { baseUrl: `${new URL(provider.baseUrl).origin}/v2`, maxConcurrency: 3 };
    expect(openCredential(fixture.secrets, { ...provider, ...samePlace })).toBe("sk-sesame");
  });

  test("goes with its provider where an admin moves it, and one that was tampered with opens again only at its own address", async () => {
    const first = await create({ api_key: "sk-sesame" });
    for (const patch of [
      { base_url: "https://b.example/v1" },
      { endpoints: { chat: "https://c.example/chat" } },
      { verify_tls: false },
    ]) {
      expect(openCredential(fixture.secrets, await update(patch))).toBe("sk-sesame");
    }
    const { baseUrl, endpoints, verifyTls } = first;
    const back = await update({ base_url: baseUrl, endpoints: { ...endpoints }, verify_tls: verifyTls });
    await fixture.store.change(() => ({
      writes: [{ kind: "put_provider", provider: { ...back, baseUrl: "https://evil.example/v1" } }],
      audit: [],
      result: () => null,
    }));
    const stillEvil = await update({ enabled: true });
    expect(() => openCredential(fixture.secrets, stillEvil)).toThrow("API key again");
    const moved = await update({ base_url: "https://other.example/v1" });
    expect(() => openCredential(fixture.secrets, moved)).toThrow("API key again");
    expect(openCredential(fixture.secrets, await update({ base_url: baseUrl }))).toBe("sk-sesame");
  });

  test("is none when api_key is empty", async () => {
    expect((await create({ api_key: "" })).sealedCredential).toBeNull();
  });

  test("is replaced by a patch with api_key, and kept by one without", async () => {
    await create({ api_key: "sk-one" });
    expect(openCredential(fixture.secrets, await update({ enabled: false }))).toBe("sk-one");
    expect(openCredential(fixture.secrets, await update({ remove_credential: false }))).toBe("sk-one");
    expect(openCredential(fixture.secrets, await update({ api_key: "sk-two" }))).toBe("sk-two");
  });

  test.each([{ api_key: "" }, { remove_credential: true }, { api_key: "", remove_credential: true }])(
    "is removed by %p",
    async (patch) => {
      await create({ api_key: "sk-one" });
      expect((await update(patch)).sealedCredential).toBeNull();
      expect((await stored())?.sealedCredential).toBeNull();
    },
  );

  test("that is sent together with remove_credential is invalid_request, and the stored one stays", async () => {
    await create({ api_key: "sk-one" });
    await expectRefused(fixture, () => update({ api_key: "sk-two", remove_credential: true }), {
      code: "invalid_request",
      param: "remove_credential",
    });
  });
});

describe("changing a provider", () => {
  test("changes what is sent and leaves everything else", async () => {
    const before = await create({
      api_key: "sk-one",
      ca_pem: ROOT_PEM,
      max_concurrency: 4,
      endpoints: { chat: BASE_URL },
    });
    const after = await update({
      base_url: "http://b.example/v1/",
      timeout_read: 0.5,
      verify_tls: false,
    });
    expect(after).toEqual({
      ...before,
      baseUrl: "http://b.example/v1",
      timeoutReadSeconds: 0.5,
      verifyTls: false,
      // Sealed anew for where it goes now.
      sealedCredential: after.sealedCredential,
    });
    expect(openCredential(fixture.secrets, after)).toBe("sk-one");
    expect(await stored()).toEqual(after);
  });

  test("may change how the credential is sent, which stays as it was sealed", async () => {
    const before = await create({ api_key: "sk-one" });
    const after = await update({ auth_style: "x-api-key" });
    expect(after).toEqual({ ...before, authStyle: "x-api-key" });
    expect(openCredential(fixture.secrets, after)).toBe("sk-one");
    await expectRefused(fixture, () => update({ auth_style: "basic" }), {
      code: "invalid_request",
      param: "auth_style",
    });
  });

  test("replaces the whole set of endpoints, and an empty ca_pem removes the trust root", async () => {
    await create({
      ca_pem: `a comment\n${ROOT_PEM}${ROOT_PEM}`,
      endpoints: { chat: BASE_URL, embeddings: BASE_URL },
    });
    expect((await stored())?.caPem).toBe(ROOT_PEM + ROOT_PEM);
    const after = await update({ endpoints: { completions: BASE_URL }, ca_pem: "" });
    expect(after.endpoints).toEqual({ completions: BASE_URL });
    expect(after.caPem).toBeNull();
  });

  test("that does not exist is provider_not_found and audits nothing, to patch as to delete", async () => {
    await expectRefused(fixture, () => update({ enabled: false }), {
      code: "provider_not_found",
      param: null,
    });
    await expectRefused(fixture, () => fixture.catalog.deleteProvider(name, ADMIN), {
      code: "provider_not_found",
      param: null,
    });
  });
});

describe("deleting a provider", () => {
  test("removes its bindings and the names for them, keeps all others, and audits each removed model", async () => {
    await create();
    await fixture.catalog.createProvider({ name: `${name}-kept`, base_url: BASE_URL }, ADMIN);
    const pricing = { input_tokens: 1 };
    await fixture.catalog.createModel(
      { alias: `${name}/a`, provider: name, upstreamName: "u", pricing },
      ADMIN,
    );
    await fixture.catalog.createModel({ alias: `${name}/b`, target: `${name}/a`, pricing }, ADMIN);
    await fixture.catalog.createModel(
      { alias: `${name}/kept`, provider: `${name}-kept`, upstreamName: "u", pricing },
      ADMIN,
    );
    const auditedBefore = (await fixture.audited()).length;

    await fixture.catalog.deleteProvider(name, ADMIN);

    const after = await fixture.catalog.snapshot();
    expect(after.findProvider(name)).toBeNull();
    expect(
      after.models.map(({ model }) => model.alias).filter((alias) => alias.startsWith(`${name}/`)),
    ).toEqual([`${name}/kept`]);
    const pricedNames = new Set(
      after.prices.map((price) => price.name).filter((priced) => priced.startsWith(`${name}/`)),
    );
    expect([...pricedNames]).toEqual([`${name}/kept`]);
    expect((await fixture.audited()).slice(auditedBefore)).toEqual([
      `provider.delete ${name}`,
      `model.delete ${name}/a`,
      `model.delete ${name}/b`,
    ]);
  });

  test("frees its name for another provider, which has another id", async () => {
    const first = await create({ api_key: "sk-one" });
    await fixture.catalog.deleteProvider(name, ADMIN);
    const second = await create();
    expect(second.id).not.toBe(first.id);
    expect(second.sealedCredential).toBeNull();
  });
});

describe("the audit log", () => {
  test("has one entry for each mutation and none for a local command", async () => {
    const before = (await fixture.audited()).length;
    await fixture.catalog.createProvider({ name, base_url: BASE_URL }, null);
    await fixture.catalog.updateProvider(name, { enabled: false }, null);
    expect((await fixture.audited()).length).toBe(before);
    await update({ enabled: true, api_key: "sk-sesame" });
    expect((await fixture.audited()).slice(before)).toEqual([`provider.update ${name}`]);
  });
});

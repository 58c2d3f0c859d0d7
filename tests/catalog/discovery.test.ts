import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { FetchedModels } from "#catalog/discovery.ts";
import { createDiscovery, DISCOVERED_MODELS_MAX, DISCOVERY_MS_MAX } from "#catalog/discovery.ts";
import { ADMIN, openTestCatalog, refusalOf, type TestCatalog } from "./support.ts";

let fixture: TestCatalog;
beforeEach(async () => {
  fixture = await openTestCatalog();
  await fixture.catalog.createProvider({ name: "acme", base_url: "http://acme.example/v1" }, ADMIN);
  await fixture.catalog.createProvider({ name: "other", base_url: "http://other.example/v1" }, ADMIN);
});
afterEach(() => fixture.close());

const clock = { nowUs: () => 42, monotonicMs: () => 0 };
const answered = (body: string | Uint8Array): FetchedModels => ({
  kind: "answered",
  body: typeof body === "string" ? new TextEncoder().encode(body) : body,
});
const listed = (...ids: unknown[]) => answered(JSON.stringify({ data: ids.map((id) => ({ id })) }));

const discover = (answer: FetchedModels, name = "acme") =>
  createDiscovery({ ...fixture, fetchModels: async () => answer, clock }).discover(
    name,
    new AbortController().signal,
  );
const CHAT = { kind: "chat", capabilities: ["chat", "chat_stream"], from: "default" } as const;
const namesOf = async (answer: FetchedModels) =>
  (await discover(answer)).models.map(({ upstreamName }) => upstreamName);

describe("a list of several pages", () => {
  const FIRST = { data: [{ id: "b" }], has_more: true, last_id: "b" };
  /** Answers its pages one after another, and tells which were asked for. */
  const discoverPages = async (pages: readonly object[], monotonicMs: () => number = () => 0) => {
    const asked: (string | null)[] = [];
    const discovery = createDiscovery({
      ...fixture,
      clock: { ...clock, monotonicMs },
      fetchModels: async (_, { afterId }) => {
        asked.push(afterId);
        return answered(JSON.stringify(pages[Math.min(asked.length, pages.length) - 1]));
      },
    });
    const { models } = await discovery.discover("acme", new AbortController().signal);
    return { asked, names: models.map(({ upstreamName }) => upstreamName) };
  };

  test("is read to its end, each page after the last id of the one before", async () => {
    const next = { data: [{ id: "a" }, { id: "b" }], has_more: false, last_id: "b" };
    expect(await discoverPages([FIRST, next])).toEqual({ asked: [null, "b"], names: ["a", "b"] });
  });

  test("ends where a page brings nothing new: its server knows no pages", async () => {
    expect(await discoverPages([FIRST])).toEqual({ asked: [null, "b"], names: ["b"] });
  });

  test.each([
    { ...FIRST, has_more: "true" },
    { ...FIRST, last_id: null },
    { ...FIRST, last_id: "a\nb" },
    { ...FIRST, last_id: 7 },
  ])("ends where no next page is told: %j", async (page) => {
    expect(await discoverPages([page])).toEqual({ asked: [null], names: ["b"] });
  });

  test(`is given up after ${DISCOVERY_MS_MAX} ms, and what was read of it is not shown as all`, async () => {
    let nowMs = 0;
    const pages = Array.from({ length: 99 }, (_, page) => ({
      ...FIRST,
      data: [{ id: `m-${page}` }],
    }));
    const discovering = discoverPages(pages, () => (nowMs += 10_000));
    const { code, message } = await refusalOf(() => discovering);
    expect([code, message]).toEqual(["provider_unreachable", expect.stringContaining("timeout")]);
  });
});

describe("what a provider lists", () => {
  test("is sorted, each model once, with the time of asking, and makes nothing", async () => {
    const before = await fixture.state();
    expect(await discover(listed("b", "a", "B", "a"))).toEqual({
      provider: "acme",
      discoveredAtUs: 42,
      models: ["B", "a", "b"].map((upstreamName) => ({ upstreamName, boundAlias: null, guess: CHAT })),
    });
    expect(await fixture.state()).toEqual(before);
  });

  test("leaves out every entry whose id could not be bound", async () => {
    const long = "😀".repeat(200);
    const ids = [undefined, null, 1, {}, "", "  ", "a\nb", "a\u0000", "a\u0085", "\uD800", `${long}x`];
    expect(await namesOf(listed(...ids, long, "org/model:8b", "mit Leerzeichen ü"))).toEqual([
      "mit Leerzeichen ü",
      "org/model:8b",
      long,
    ]);
    expect(await namesOf(answered('{"data": [null, 1, "text", [], [{"id": "no"}], {"id": "a"}]}'))).toEqual([
      "a",
    ]);
  });

  test("of no model is an empty list", async () => {
    expect(await namesOf(listed())).toEqual([]);
  });

  test("shows which model routes to it: the first by name, of this provider only, a hidden one too, never a name for it", async () => {
    const bind = (alias: string, name: string, hidden = false) =>
      fixture.catalog.createModel({ alias, provider: name, upstreamName: "up", hidden }, ADMIN);
    await bind("a-foreign", "other");
    expect((await discover(listed("up"))).models[0]?.boundAlias).toBeNull();
    await bind("z", "acme");
    await bind("m", "acme", true);
    await fixture.catalog.createModel({ alias: "b", target: "z" }, ADMIN);
    expect((await discover(listed("up"))).models).toEqual([
      { upstreamName: "up", boundAlias: "m", guess: CHAT },
    ]);
  });

  test("without an object around it is a list where its entries say that they are models, as Together's do", async () => {
    const together = [{ id: "b", object: "model", type: "chat" }, { id: "a", object: "model" }, null];
    expect(await namesOf(answered(JSON.stringify(together)))).toEqual(["a", "b"]);
    for (const other of [[{ id: "a" }], [{ object: "model" }], ["a"], [[{ id: "a", object: "model" }]]]) {
      expect((await refusalOf(() => discover(answered(JSON.stringify(other))))).code).toBe(
        "discovery_failed",
      );
    }
  });

  test("is asked of a disabled provider as well", async () => {
    await fixture.catalog.updateProvider("acme", { enabled: false }, ADMIN);
    expect(await namesOf(listed("a"))).toEqual(["a"]);
  });

  test(`may be ${DISCOVERED_MODELS_MAX} models and not one more, which would be lost in silence`, async () => {
    const ids = Array.from({ length: DISCOVERED_MODELS_MAX }, (_, index) => `m${index}`);
    expect(await namesOf(listed(...ids))).toHaveLength(DISCOVERED_MODELS_MAX);
    expect((await refusalOf(() => discover(listed(...ids, "one more")))).code).toBe("discovery_failed");
  });
});

describe("a discovery", () => {
  test.each(["timeout", "connection_error", "response_too_large"] as const)(
    "that failed by %s is provider_unreachable and names that class",
    async (error) => {
      const refusal = await refusalOf(() => discover({ kind: "failed", error }));
      expect(refusal.code).toBe("provider_unreachable");
      expect(refusal.message).toContain(error);
    },
  );

  test.each([301, 401, 404, 500])("that was answered with status %d is discovery_failed", async (status) => {
    const refusal = await refusalOf(() => discover({ kind: "refused", status }));
    expect([refusal.code, refusal.message.includes(String(status))]).toEqual(["discovery_failed", true]);
  });

  test.each([
    "",
    "<html>secret-word</html>",
    '{"data": [',
    "null",
    "[]",
    "{}",
    '"data"',
    '{"data": null}',
    '{"data": {"id": "a"}}',
    '{"error": {"message": "secret-word"}}',
    "[".repeat(1_000_000),
  ])(
    "that was answered with what is no list of models is discovery_failed, and repeats none of it",
    async (text) => {
      const refusal = await refusalOf(() => discover(answered(text)));
      expect(refusal.code).toBe("discovery_failed");
      expect(refusal.message).not.toContain("secret-word");
    },
  );

  test("that was answered with bytes that are no UTF-8, or compressed, is discovery_failed", async () => {
    const list = JSON.stringify({ data: [{ id: "a" }] });
    for (const body of [Buffer.from([0x7b, 0xff, 0x7d]), Bun.gzipSync(list)]) {
      expect((await refusalOf(() => discover(answered(body)))).code).toBe("discovery_failed");
    }
  });

  test("of an unknown provider is provider_not_found", async () => {
    expect((await refusalOf(() => discover(listed("a"), "nobody"))).code).toBe("provider_not_found");
  });
});

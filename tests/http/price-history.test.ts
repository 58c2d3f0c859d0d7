import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { call, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
  await harness.deps.catalog.createProvider({ name: "acme", base_url: "http://127.0.0.1:9/v1" }, null);
});
afterEach(() => harness.stop());

const MODELS = "/admin/v1/models";
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;
const FLEX = { when: { tier: "flex" }, pricing: { input_tokens: 0.5 } };

const send = async (method: string, path: string, body?: unknown) => {
  const response = await call(harness, method, path, body === undefined ? {} : { body });
  const text = await response.text();
  expect(response.status < 300 ? "" : text).toBe("");
  return JSON.parse(text);
};
const create = (alias: string, fields: object = {}) =>
  send("POST", MODELS, { alias, provider: "acme", upstream_name: "up", ...fields });
const history = (query = "") => send("GET", `/admin/v1/pricing/history${query}`);
/** `price source version`, and whether it holds. */
const linesOf = async (model: string) =>
  (await history(`?model=${encodeURIComponent(model)}`)).changes.map((change: any) => [
    change.unit,
    change.when,
    change.price,
    change.source,
    change.version,
    change.until === null ? "holds" : "ended",
  ]);

describe("GET /admin/v1/pricing/history", () => {
  test("has every change of a price with the moment from which it held, the newest first, in pages", async () => {
    const model = await create("m", { pricing: { input_tokens: 1 } });
    await send("PATCH", `${MODELS}/m`, { pricing: { input_tokens: 2, output_tokens: 8 } });
    // What changes no price is no change of one.
    await send("PATCH", `${MODELS}/m`, { hidden: true, pricing: { input_tokens: 2, output_tokens: 8 } });
    const { changes, ...page } = await history();
    expect(page).toEqual({ limit: 100, offset: 0, total: 3 });
    expect(changes[0]).toEqual({
      model: "m",
      unit: "output_tokens",
      when: null,
      price: 8,
      from: expect.stringMatching(INSTANT),
      until: null,
      source: "model",
      version: null,
    });
    expect(changes[2]).toMatchObject({ unit: "input_tokens", price: 1, until: changes[1].from });
    expect(changes[1]).toMatchObject({ unit: "input_tokens", price: 2, from: changes[0].from, until: null });
    expect(changes[2].from >= model.created_at).toBe(true);
    expect((await history("?limit=1&offset=1")).changes).toEqual([changes[1]]);
    expect(await history("?model=other")).toMatchObject({ changes: [], total: 0 });
  });

  test("tells variants with their conditions, and where a price came from", async () => {
    await create("m", { price_variants: [FLEX] });
    await send("POST", "/admin/v1/pricing", {
      version: "2026-03",
      entries: [
        { model: "up", unit: "input_tokens", price_per_million: 3 },
        { model: "m", unit: "input_tokens", when: { tier: "flex" }, price_per_million: 0.25 },
      ],
    });
    await send("POST", "/admin/v1/pricing", {
      version: "list prices 2026-11-12",
      entries: [{ model: "up", unit: "output_tokens", price_per_million: 9 }],
    });
    expect(await linesOf("m")).toEqual([
      ["output_tokens", null, 9, "list", "list prices 2026-11-12", "holds"],
      ["input_tokens", { tier: "flex" }, 0.25, "feed", "2026-03", "holds"],
      ["input_tokens", null, 3, "feed", "2026-03", "holds"],
      ["input_tokens", { tier: "flex" }, 0.5, "model", null, "ended"],
    ]);
    // The relay is priced by exactly the name.
    expect(await linesOf("up")).toEqual([
      ["output_tokens", null, 9, "list", "list prices 2026-11-12", "holds"],
      ["input_tokens", null, 3, "feed", "2026-03", "holds"],
    ]);
    const file = await send("GET", "/admin/v1/catalog");
    file.models.m.prices = { input_tokens: 4 };
    await send("POST", "/admin/v1/catalog", file);
    expect((await linesOf("m"))[0]).toEqual(["input_tokens", null, 4, "import", null, "holds"]);
  });

  test("has the prices of whoever inherits them, and ends them with a rename, another target and a deletion", async () => {
    await create("base", { pricing: { input_tokens: 1 } });
    await create("other", { pricing: { input_tokens: 7 } });
    await send("POST", MODELS, { alias: "n", target: "base" });
    await send("PATCH", `${MODELS}/base`, { pricing: { input_tokens: 2 } });
    await send("PATCH", `${MODELS}/n`, { target: "other" });
    const line = (price: number, state: string) => ["input_tokens", null, price, "model", null, state];
    expect(await linesOf("n")).toEqual([line(7, "holds"), line(2, "ended"), line(1, "ended")]);
    await send("PATCH", `${MODELS}/n`, { alias: "renamed" });
    expect(await linesOf("n")).toEqual([line(7, "ended"), line(2, "ended"), line(1, "ended")]);
    expect(await linesOf("renamed")).toEqual([line(7, "holds")]);
    await send("DELETE", `${MODELS}/renamed`);
    expect(await linesOf("renamed")).toEqual([line(7, "ended")]);
  });

  test("keeps what prices of the past took the place of, and shows it only where it is asked for", async () => {
    await create("m", { pricing: { input_tokens: 1 } });
    await send("POST", MODELS, { alias: "n", target: "m" });
    await send("PATCH", `${MODELS}/m`, { pricing: { input_tokens: 2 } });
    const known = (await history("?model=n")).changes;
    const between = new Date(Date.parse(known[1].from) - 60_000).toISOString();
    await send("PATCH", `${MODELS}/m`, { pricing: { input_tokens: 3 }, effective_from: between });
    const { changes, total } = await history("?model=n");
    expect([changes, total]).toEqual([[expect.objectContaining({ price: 3, until: null })], 1]);
    const all = await history("?model=n&superseded=1");
    const superseded_at = expect.stringMatching(INSTANT);
    expect([all.changes, all.total]).toEqual([
      [{ ...known[0], until: superseded_at, superseded_at }, { ...known[1], superseded_at }, changes[0]],
      3,
    ]);
    // One that held before that date and after it: what it lost is kept, too.
    const later = new Date(Date.parse(between) + 30_000).toISOString();
    await send("PATCH", `${MODELS}/m`, { pricing: { input_tokens: 4 }, effective_from: later });
    const lines = async (query: string) =>
      (await history(`?model=n${query}`)).changes.map(({ price, superseded_at: at }: any) => [
        price,
        at !== undefined,
      ]);
    expect(await lines("")).toEqual([
      [4, false],
      [3, false],
    ]);
    const every = (await lines("&superseded=1")).map(
      ([price, gone]: [number, boolean]) => `${price} ${gone}`,
    );
    expect(new Set(every)).toEqual(new Set(["1 true", "2 true", "3 false", "3 true", "4 false"]));
    expect(every).toHaveLength(5);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { VARIANTS_MAX } from "#catalog/variant-list.ts";
import { call, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
  await harness.deps.catalog.createProvider({ name: "acme", base_url: "http://127.0.0.1:9/v1" }, null);
  await send("POST", MODELS, { alias: "m", provider: "acme", upstream_name: "up", pricing });
  await send("POST", MODELS, { alias: "n", target: "m" });
  await send("POST", MODELS, { alias: "other", provider: "acme", upstream_name: "up-2" });
});
afterEach(() => harness.stop());

const MODELS = "/admin/v1/models";
const SCHEDULE = "/admin/v1/pricing/schedule";
const pricing = { input_tokens: 1, output_tokens: 2 };
const FLEX = { when: { tier: "flex" }, pricing: { input_tokens: 0.5 } };
const [SOON, LATER] = ["2999-01-01T00:00:00.000000Z", "2999-02-01T00:00:00.000000Z"];

const send = async (method: string, path: string, body?: unknown) => {
  const response = await call(harness, method, path, body === undefined ? {} : { body });
  const text = await response.text();
  expect(response.status < 300 ? "" : text).toBe("");
  return JSON.parse(text);
};
const codeOf = async (method: string, path: string, body?: unknown) => {
  const response = await call(harness, method, path, body === undefined ? {} : { body });
  return `${response.status} ${(await response.json()).error?.code}`;
};
const scheduled = async (query = "") => (await send("GET", SCHEDULE + query)).schedule;
const toNames = (rows: any[]) => rows.map(({ model, effective_from }) => [model, effective_from]);

describe("GET /admin/v1/pricing/schedule", () => {
  test("has the prices to come by their moments, as they were written, in pages", async () => {
    await send("PATCH", `${MODELS}/m`, { pricing: { input_tokens: 9 }, effective_from: LATER });
    await send("PATCH", `${MODELS}/m`, { price_variants: [FLEX], effective_from: SOON });
    const { schedule, ...page } = await send("GET", SCHEDULE);
    expect(page).toEqual({ limit: 100, offset: 0, total: 2 });
    const row = { id: expect.any(Number), model: "m", source: "model", version: null };
    expect(schedule).toEqual([
      { ...row, effective_from: SOON, pricing: null, price_variants: [FLEX] },
      { ...row, effective_from: LATER, pricing: { input_tokens: 9 }, price_variants: null },
    ]);
    expect(await scheduled("?limit=1&offset=1")).toEqual([schedule[1]]);
  });

  test("tells how many prices of a feed will be left out, where the list of their name has become full meanwhile", async () => {
    const entry = { model: "m", unit: "input_tokens", price_per_million: 3, effective_from: SOON };
    const entries = [{ ...entry, when: { tier: "flex" } }, { ...entry, when: { tier: "priority" } }, entry];
    await send("POST", "/admin/v1/pricing", { version: "v", entries });
    expect((await scheduled())[0]).not.toHaveProperty("left_out");
    const toVariants = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        when: { input_over: index + 1 },
        pricing: { input_tokens: 1 },
      }));
    await send("PATCH", `${MODELS}/m`, { price_variants: toVariants(VARIANTS_MAX) });
    expect((await scheduled())[0]).toMatchObject({ model: "m", left_out: 2 });
    await send("PATCH", `${MODELS}/m`, { price_variants: toVariants(VARIANTS_MAX - 1) });
    expect((await scheduled())[0]).toMatchObject({ model: "m", left_out: 1 });
    await send("PATCH", `${MODELS}/m`, { price_variants: [] });
    expect((await scheduled())[0]).not.toHaveProperty("left_out");
  });

  test("of a model also has what comes for a name that it has prices from, and nothing of others", async () => {
    await send("PATCH", `${MODELS}/m`, { pricing, effective_from: LATER });
    const entry = { unit: "input_tokens", price_per_million: 3, effective_from: SOON };
    const entries = [
      { ...entry, model: "up" },
      { ...entry, model: "up", when: FLEX.when },
      { ...entry, model: "up-2", price_per_million: 4 },
      { ...entry, model: "up", unit: "output_tokens", effective_from: undefined },
    ];
    await send("POST", "/admin/v1/pricing", { version: "v", entries });
    expect(toNames(await scheduled("?model=n"))).toEqual([
      ["up", SOON],
      ["m", LATER],
    ]);
    expect(await scheduled("?model=other")).toEqual([
      {
        id: expect.any(Number),
        effective_from: SOON,
        model: "up-2",
        source: "feed",
        version: "v",
        pricing: { input_tokens: 4 },
        price_variants: null,
      },
    ]);
    expect(await scheduled("?model=nothing")).toEqual([]);
    expect((await scheduled("?model=up"))[0]).toMatchObject({
      pricing: { input_tokens: 3 },
      price_variants: [{ when: FLEX.when, pricing: { input_tokens: 3 } }],
    });
  });

  test("has nothing of a model that is gone, and a renamed one under its new name", async () => {
    await send("PATCH", `${MODELS}/m`, { pricing, effective_from: SOON });
    await send("PATCH", `${MODELS}/other`, { pricing, effective_from: SOON });
    await send("PATCH", `${MODELS}/m`, { alias: "renamed" });
    await send("DELETE", `${MODELS}/other`);
    expect(toNames(await scheduled())).toEqual([["renamed", SOON]]);
  });
});

describe("DELETE /admin/v1/pricing/schedule/:id", () => {
  test("takes these prices back alone: all others come, and what holds stays", async () => {
    await send("PATCH", `${MODELS}/m`, { pricing: { input_tokens: 9 }, effective_from: SOON });
    await send("PATCH", `${MODELS}/m`, { pricing: { input_tokens: 10 }, effective_from: LATER });
    const entry = { unit: "input_tokens", price_per_million: 3, effective_from: SOON };
    const entries = [
      { ...entry, model: "up" },
      { ...entry, model: "up-2" },
    ];
    await send("POST", "/admin/v1/pricing", { version: "v", entries });
    const before = await scheduled();
    expect(before).toHaveLength(4);
    const gone = [before[0], before.find(({ model }: any) => model === "up")];
    for (const { id } of gone)
      expect(await send("DELETE", `${SCHEDULE}/${id}`)).toEqual({ deleted: String(id) });
    expect(await scheduled()).toEqual(before.filter((row: any) => !gone.includes(row)));
    const { changes } = await send("GET", "/admin/v1/pricing/history?model=m");
    expect(changes.map(({ price, from }: any) => [price, from >= SOON])).toEqual([
      [10, true],
      [2, false],
      [1, false],
    ]);
    const { events } = await send("GET", "/admin/v1/events");
    expect(
      events.slice(0, 2).map(({ action, target_kind, target_ref }: any) => [action, target_kind, target_ref]),
    ).toEqual([
      ["pricing.unschedule", "pricing_feed", "v"],
      ["pricing.unschedule", "model", "m"],
    ]);
  });

  test.each(["0", "999", "x", "1e1", "-1"])("refuses the id %p of none, and changes nothing", async (id) => {
    await send("PATCH", `${MODELS}/m`, { pricing, effective_from: SOON });
    const before = await scheduled();
    expect(await codeOf("DELETE", `${SCHEDULE}/${id}`)).toBe("404 schedule_not_found");
    expect(await scheduled()).toEqual(before);
  });
});

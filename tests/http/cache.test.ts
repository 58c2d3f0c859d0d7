import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { bearer, startTeam, type Team } from "./team.ts";

/** Prices per token in pico: reads cost a tenth of input, writes a quarter more. */
const PRICES = {
  input_tokens: 1_000_000,
  output_tokens: 2_000_000,
  cached_input_tokens: 100_000,
  cache_write_tokens: 1_250_000,
};
const READ = {
  usage: { shape: "exclusive", quantities: { input_tokens: 100, cached_input_tokens: 900 } },
  prices: PRICES,
  costPico: 190_000_000n,
} as const;
const WRITE = {
  usage: { shape: "exclusive", quantities: { input_tokens: 200, cache_write_tokens: 800 } },
  prices: PRICES,
  costPico: 1_200_000_000n,
} as const;
const UNPRICED = {
  usage: { shape: "exclusive", quantities: { input_tokens: 100, cached_input_tokens: 900 } },
  prices: { input_tokens: 1_000_000 },
  costPico: 100_000_000n,
  unpriced: true,
} as const;
/** The price that reads had in February. */
const DEARER = { ...READ, prices: { ...PRICES, cached_input_tokens: 500_000 }, costPico: 550_000_000n };

let team: Team;
beforeAll(async () => {
  team = await startTeam();
  const { alice, bob } = team;
  await team.record(
    { at: "2026-02-01T10:59:59.999999Z", by: alice, ...DEARER },
    { at: "2026-03-01T10:00:00Z", by: alice, ...WRITE },
    { at: "2026-03-01T10:59:59.999999Z", by: alice, ...READ },
    { at: "2026-03-01T11:00:00Z", by: bob, model: "slow", ...READ },
    { at: "2026-03-02T10:00:00Z", by: bob, model: "free", ...UNPRICED },
    { at: "2026-03-02T11:00:00Z", by: bob, model: "plain", usage: null, prices: {}, costPico: null },
  );
});
afterAll(() => team.stop());

const SINCE = "since=2026-03-01";
const read = (query: string, headers?: Record<string, string>) =>
  team.read(`/stats/breakdown?cache=1&${query}`, headers);
const toRows = ({ rows }: any) =>
  new Map(rows.map(({ value, cache }: any) => [value, [cache.read_share, cache.write_cost, cache.saving]]));

describe("the cache in a breakdown", () => {
  test("by model has the share of reads, what writes cost, and what both saved against uncached prices, to the last digit", async () => {
    const rows = toRows(await read(`by=model&${SINCE}`, bearer(team.alice)));
    expect(rows.get("slow")).toEqual([0.9, 0, 0.00081]);
    // 900 reads save 810 millionths, and 800 writes cost 200 more than input.
    expect(rows.get("fast")).toEqual([0.45, 0.001, 0.00061]);
    expect(rows.get("plain")).toEqual([null, 0, 0]);
  });

  test("has no saving where a price is missing, in the row and in the total, and never takes it as zero", async () => {
    const { rows, total } = await read(`by=model&${SINCE}`);
    expect(toRows({ rows }).get("free")).toEqual([0.9, 0, null]);
    expect(total.cache).toEqual({ read_share: 0.675, write_cost: 0.001, saving: null });
  });

  test("by key and by hour adds up to the same; an hour begins with its first microsecond", async () => {
    const hours = await read(`by=hour&${SINCE}&until=2026-03-02&sort=requests`);
    expect(hours.rows.map(({ value, requests, cache }: any) => [value, requests, cache.saving])).toEqual([
      ["2026-03-01T10:00:00.000000Z", 2, 0.00061],
      ["2026-03-01T11:00:00.000000Z", 1, 0.00081],
    ]);
    const keys = await read(`by=key&${SINCE}&until=2026-03-02`);
    expect(keys.rows.map(({ value, cache }: any) => [value, cache.saving])).toEqual([
      [team.alice.keyId, 0.00061],
      [team.bob.keyId, 0.00081],
    ]);
    for (const { total } of [hours, keys]) expect(total.cache.saving).toBe(0.00142);
  });

  test("takes the prices that each request was billed at, not those of another day", async () => {
    const { total } = await read("by=model&principal=alice");
    // In February 900 reads saved 450 millionths.
    expect(total.cache.saving).toBe(0.00106);
  });

  test("is told of one's own usage too, and of none where it is not asked for", async () => {
    const own = JSON.parse(
      await (
        await team.get("/my/usage/breakdown?by=hour&cache=1&since=2026-03-01", bearer(team.alice))
      ).text(),
    );
    expect(own.total.cache).toEqual({ read_share: 0.45, write_cost: 0.001, saving: 0.00061 });
    for (const query of ["", "?cache=0", "?cache=true"]) {
      const { rows, total } = await team.read(`/stats/breakdown${query}`);
      for (const figures of [total, ...rows]) expect(figures).not.toHaveProperty("cache");
    }
  });
});

test("a request that read or wrote a cache says what it saved, and any other says nothing of caches", async () => {
  const { requests } = await team.read("/stats/requests");
  expect(requests.map(({ model, cache }: any) => [model, cache])).toEqual([
    ["plain", undefined],
    ["free", { read_share: 0.9, write_cost: 0, saving: null }],
    ["slow", { read_share: 0.9, write_cost: 0, saving: 0.00081 }],
    ["fast", { read_share: 0.9, write_cost: 0, saving: 0.00081 }],
    ["fast", { read_share: 0, write_cost: 0.001, saving: -0.0002 }],
    ["fast", { read_share: 0.9, write_cost: 0, saving: 0.00045 }],
  ]);
});

import { describe, expect, test } from "bun:test";
import { readFacets } from "#storage/reports/facets.ts";
import { CONTEXT, openUsages } from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

describe("the facets", () => {
  test("are 500 of each at most: the most used, sorted by code unit, and which were cut is said", () => {
    const used = (model: string, index: number): RandomUsage => ({
      subject: { ...SUBJECT, model, arrivedAtUs: NEW_YEAR_US + index },
      ending: ENDING,
    });
    const models = Array.from({ length: 502 }, (_, index) => `m${String(index).padStart(3, "0")}`);
    // Used once: m000 to m498. Used twice: the last three, which a plain cut would lose.
    const usages = [...models, ...models.slice(499)].map(used);
    using ledger = openUsages(usages);
    const facets = ledger.read(readFacets({ ...EVERYTHING, context: CONTEXT }));
    expect(facets.models).toEqual([...models.slice(0, 497), ...models.slice(499)]);
    expect(facets.counts.models).toEqual([...Array.from({ length: 497 }, () => 1), 2, 2, 2]);
    expect(facets.cut).toEqual({
      principals: false,
      keys: false,
      providers: false,
      models: true,
      clients: false,
      tags: false,
    });
    expect(facets.truncated).toBe(true);
    expect(facets.keyIds).toEqual([{ id: "key-1", principal: "alice" }]);
  });

  test("name a key's principal as it was used most, by code unit when equal", () => {
    const used = (keyId: string, names: readonly string[]) =>
      names.map((principalName, index): RandomUsage => ({
        subject: { ...SUBJECT, keyId, principalName, arrivedAtUs: NEW_YEAR_US + index },
        ending: ENDING,
      }));
    const usages = [
      ...used("key-1", ["bob", "alice", "alice"]),
      ...used("key-2", ["bob", "alice"]),
      ...used("key-3", ["bob", "alice", "bob"]),
    ];
    using ledger = openUsages(usages);
    expect(ledger.read(readFacets({ ...EVERYTHING, context: CONTEXT })).keyIds).toEqual([
      { id: "key-1", principal: "alice" },
      { id: "key-2", principal: "alice" },
      { id: "key-3", principal: "bob" },
    ]);
  });
});

import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFacets } from "#storage/sqlite/usage/facets.ts";
import { arbitraryCase, CONTEXT, nameProvider, select, writeCase } from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-facets-"));
afterAll(() => rmSync(folder, { recursive: true }));

function distinct(
  usages: readonly RandomUsage[],
  toValues: (usage: RandomUsage) => readonly (string | null)[],
) {
  return [...new Set(usages.flatMap(toValues))].filter((value) => value !== null).sort();
}

describe("the facets", () => {
  test("are the values of the events in the window that match, failures too, for every filter, also where rows were removed", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, queries, ...options }) => {
        const { reader, writer } = writeCase(folder, { usages, ...options });
        for (const query of queries) {
          const { snapped, truncated, keyIds, ...facets } = readFacets(reader, {
            ...query,
            context: CONTEXT,
          });
          const counted = select(usages, query, snapped);
          expect({ query, ...facets, keys: keyIds.map(({ id }) => id) }).toEqual({
            query,
            principals: distinct(counted, ({ subject }) => [subject.principalName]),
            keys: distinct(counted, ({ subject }) => [subject.keyId]),
            providers: distinct(counted, (usage) => [nameProvider(usage)]),
            models: distinct(counted, ({ subject }) => [subject.model]),
            clients: distinct(counted, ({ subject }) => [subject.client]),
            tags: distinct(counted, ({ subject }) => subject.tags),
            cut: {
              principals: false,
              keys: false,
              providers: false,
              models: false,
              clients: false,
              tags: false,
            },
          });
          expect(truncated).toBe(false);
        }
        reader.close();
        writer.close();
      }),
      { numRuns: 50 },
    );
  }, 30_000);

  test("are 500 of each at most: the most used, sorted by code unit, and which were cut is said", () => {
    const used = (model: string, index: number): RandomUsage => ({
      subject: { ...SUBJECT, model, arrivedAtUs: NEW_YEAR_US + index },
      ending: ENDING,
    });
    const models = Array.from({ length: 502 }, (_, index) => `m${String(index).padStart(3, "0")}`);
    // Used once: m000 to m498. Used twice: the last three, which a plain cut would lose.
    const usages = [...models, ...models.slice(499)].map(used);
    const { reader, writer } = writeCase(folder, { usages, sealBeforeUs: 0, pruneBeforeUs: 0 });
    const facets = readFacets(reader, { ...EVERYTHING, context: CONTEXT });
    expect(facets.models).toEqual([...models.slice(0, 497), ...models.slice(499)]);
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
    reader.close();
    writer.close();
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
    const { reader, writer } = writeCase(folder, { usages, sealBeforeUs: 0, pruneBeforeUs: 0 });
    expect(readFacets(reader, { ...EVERYTHING, context: CONTEXT }).keyIds).toEqual([
      { id: "key-1", principal: "alice" },
      { id: "key-2", principal: "alice" },
      { id: "key-3", principal: "bob" },
    ]);
    reader.close();
    writer.close();
  });
});

import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FACET_NAMES, type FacetName } from "#stats/store.ts";
import { readFacets } from "#storage/reports/facets.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, CONTEXT, nameProvider, select, writeCase } from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-facets-"));
afterAll(() => rmSync(folder, { recursive: true }));

type ToValues = (usage: RandomUsage) => readonly (string | null)[];

const VALUES_OF: { readonly [facet in FacetName]: ToValues } = {
  principals: ({ subject }) => [subject.principalName],
  keys: ({ subject }) => [subject.keyId],
  providers: (usage) => [nameProvider(usage)],
  models: ({ subject }) => [subject.model],
  clients: ({ subject }) => [subject.client],
  tags: ({ subject }) => subject.tags,
};

/** What each facet has to say of these, by brute force. */
function ofEach<Told>(usages: readonly RandomUsage[], tell: (found: readonly string[]) => Told) {
  return Object.fromEntries(
    FACET_NAMES.map((facet) => [
      facet,
      tell(usages.flatMap(VALUES_OF[facet]).filter((value) => value !== null)),
    ]),
  );
}

const distinct = (found: readonly string[]) => [...new Set(found)].sort();

describe("the facets", () => {
  test("are the values of the events in the window that match, failures too, and how many have each, for every filter, also where rows were removed", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, queries, ...options }) => {
        const { reader, writer } = writeCase(folder, { usages, ...options });
        for (const query of queries) {
          const { snapped, truncated, keyIds, ...facets } = readFrom(
            reader,
            readFacets({
              ...query,
              context: CONTEXT,
            }),
          );
          const counted = select(usages, query, snapped);
          expect<object>({ query, ...facets, keys: keyIds.map(({ id }) => id) }).toEqual({
            query,
            ...ofEach(counted, distinct),
            counts: ofEach(counted, (found) =>
              distinct(found).map((value) => found.filter((each) => each === value).length),
            ),
            cut: ofEach(counted, () => false),
          });
          expect(truncated).toBe(false);
        }
        reader.close();
        writer.close();
      }),
      { numRuns: 8 * scale },
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
    const facets = readFrom(reader, readFacets({ ...EVERYTHING, context: CONTEXT }));
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
    expect(readFrom(reader, readFacets({ ...EVERYTHING, context: CONTEXT })).keyIds).toEqual([
      { id: "key-1", principal: "alice" },
      { id: "key-2", principal: "alice" },
      { id: "key-3", principal: "bob" },
    ]);
    reader.close();
    writer.close();
  });
});

import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { FacetUses } from "#stats/facets.ts";
import { FACET_VALUES_MAX, toFacets } from "#stats/facets.ts";

const CONTEXT = { nowUs: 0, providerNames: new Map([["id-1", "openai"]]) };
const none = new Map<never, never>();
const NOTHING: FacetUses = {
  principals: none,
  keys: none,
  principalOf: none,
  providers: none,
  models: none,
  clients: none,
  tags: none,
};

describe("facets", () => {
  test("list each value once with its requests, sorted by code unit, providers by the name they have now", () => {
    const uses: FacetUses = {
      principals: new Map([["alice", 3]]),
      keys: new Map([["key-1", 2]]),
      principalOf: new Map([["key-1", "alice"]]),
      providers: new Map([
        ["id-1", 1],
        ["gone", 1],
        ["gone-too", 1],
        ["transparent:messages", 1],
      ]),
      models: new Map([["fast", 2]]),
      clients: new Map([["curl/8", 2]]),
      tags: new Map([
        ["env:prod", 2],
        ["app:shop", 1],
      ]),
    };
    expect(toFacets(uses, CONTEXT)).toMatchObject({
      principals: ["alice"],
      keyIds: [{ id: "key-1", principal: "alice" }],
      providers: ["(deleted)", "openai", "transparent:messages"],
      models: ["fast"],
      clients: ["curl/8"],
      tags: ["app:shop", "env:prod"],
      counts: {
        principals: [3],
        keys: [2],
        // Two providers that are gone have one name.
        providers: [2, 1, 1],
        models: [2],
        clients: [2],
        tags: [1, 2],
      },
    });
  });

  test("when cut keep the most used, of equals the first by code unit, whatever their order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 495, maxLength: 520 }),
        fc.boolean(),
        (uses, isReversed) => {
          const all = uses.map((requests, index) => ({ value: `c${index}`, requests }));
          const used = isReversed ? all.toReversed() : all;
          const counted = new Map(used.map(({ value, requests }) => [value, requests]));
          const { clients, counts, cut } = toFacets({ ...NOTHING, clients: counted }, CONTEXT);
          const byUse = all.toSorted(
            (left, right) => right.requests - left.requests || (left.value < right.value ? -1 : 1),
          );
          const shown = byUse
            .slice(0, FACET_VALUES_MAX)
            .sort((left, right) => (left.value < right.value ? -1 : 1));
          expect(clients).toEqual(shown.map(({ value }) => value));
          expect(counts.clients).toEqual(shown.map(({ requests }) => requests));
          expect([cut.clients, cut.models]).toEqual([uses.length > FACET_VALUES_MAX, false]);
        },
      ),
      { numRuns: 20 },
    );
  });
});

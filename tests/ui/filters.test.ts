import { describe, expect, test } from "bun:test";
import type { Facets } from "../../ui/api/reports.ts";
import { OPTIONS_SHOWN_MAX, toFilterGroups, type Search } from "../../ui/filters/filter-options.ts";
import { OUTCOME_FILTERS } from "../../ui/search/filters.ts";

const ID = "019cdd2a-7c00-7000-8000-000000000001";
const FACETS: Facets = {
  principals: ["alice", "bob", "carol"],
  keys: [{ id: ID, label: "laptop", key_suffix: "MPLE", principal: "alice" }],
  providers: ["openai"],
  models: ["fast", "fast-mini"],
  clients: ["curl/8"],
  tags: ["app:shop"],
  truncated: { principals: false, keys: false, providers: false, models: false, clients: false, tags: false },
  counts: { principals: [2, 1200, 2], keys: [7], providers: [9], models: [1, 8], clients: [0], tags: [5] },
};

const search = (typed: string, isGuessed = true): Search => ({
  typed,
  isGuessed,
  contains: (label, text) => label.includes(text),
});
const namesIn = (label: string, typed: string, facets: Facets = FACETS) =>
  toFilterGroups(facets, {}, search(typed))
    .find((group) => group.label === label)
    ?.items.map((option) => option.label);

describe("the options of the filter box", () => {
  test("have the requests of their value, an outcome and what is typed have none", () => {
    const groups = toFilterGroups(FACETS, {}, search("a"));
    expect(groups.map(({ label, items }) => [label, items.map(({ requests }) => requests)])).toEqual([
      ["Outcome", [null, null, null, null]],
      ["Person", [2, 2]],
      ["Model", [1, 8]],
      ["Provider", [9]],
      ["Tag", [5]],
      ["Key", [7]],
      ["As typed", [null, null, null]],
    ]);
  });

  test("stand with the most used first while nothing is typed, equals and outcomes in the order that they had", () => {
    expect(namesIn("Person", " ")).toEqual(["bob", "alice", "carol"]);
    expect(namesIn("Model", "")).toEqual(["fast-mini", "fast"]);
    expect(namesIn("Outcome", "")).toHaveLength(OUTCOME_FILTERS.length);
  });

  test("stand by name once something is typed, so that a name which is typed to its end comes before those that begin with it", () => {
    expect(namesIn("Person", "a")).toEqual(["alice", "carol"]);
    expect(namesIn("Model", "fast")).toEqual(["fast", "fast-mini"]);
  });

  test("are of every facet while nothing is typed, however many values one of them has, and a list that is cut says so", () => {
    const names = Array.from({ length: 500 }, (_, index) => `p${index}`);
    const { counts } = FACETS;
    if (counts === undefined) throw new Error("counts are asked for");
    const crowd: Facets = {
      ...FACETS,
      principals: names,
      clients: names,
      counts: { ...counts, principals: names.map((_, index) => index), clients: names.map(() => 1) },
    };
    const groups = toFilterGroups(crowd, {}, search(""));
    const few = OUTCOME_FILTERS.length + 2 + 1 + 1 + 1;
    const share = Math.floor((OPTIONS_SHOWN_MAX - few) / 2);
    expect(groups.map(({ label, items }) => [label, items.length])).toEqual([
      ["Outcome", OUTCOME_FILTERS.length],
      [`Person · ${share} most used`, share],
      ["Model", 2],
      ["Provider", 1],
      ["Tag", 1],
      [`Client · ${share} most used`, share],
      ["Key", 1],
    ]);
    expect(groups[1]?.items[0]?.label).toBe("p499");
    // What is typed is looked for in all of them.
    expect(namesIn("Person", "p321", crowd)).toEqual(["p321"]);
  });

  test("are of every facet once something is typed, too, and what is typed itself always stands at their end", () => {
    const toCrowd = (begin: string) => Array.from({ length: 300 }, (_, index) => `${begin}${index}`);
    const crowd: Facets = { ...FACETS, principals: toCrowd("px"), clients: toCrowd("x/") };
    const groups = toFilterGroups(crowd, {}, search("x"));
    const share = OPTIONS_SHOWN_MAX / 2;
    expect(groups.map(({ label, items }) => [label, items.length])).toEqual([
      [`Person · ${share} of 300`, share],
      [`Client · ${share} of 300`, share],
      ["As typed", 3],
    ]);
    // Before it is known what there is, Enter would take what is only guessed.
    expect(toFilterGroups(undefined, {}, search("x", false))).toEqual([]);
  });
});

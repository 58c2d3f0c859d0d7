import { describe, expect, test } from "bun:test";
import type { Facets } from "../../ui/api/reports.ts";
import {
  OPTIONS_SHOWN_MAX,
  parseIdBeginning,
  parseTyped,
  toFilterGroups,
  type Search,
} from "../../ui/filters/filter-options.ts";
import { countFilters, OUTCOME_FILTERS, readFilters, toggleValue } from "../../ui/search/filters.ts";

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

const ALL_TRUNCATED: Facets = {
  ...FACETS,
  truncated: { principals: true, keys: true, providers: true, models: true, clients: true, tags: true },
};

describe("the options of the filter box", () => {
  test("have the requests of their value, and those that every window has have none", () => {
    const groups = toFilterGroups(FACETS, {}, search("a"));
    expect(groups.map(({ label, items }) => [label, items.map(({ requests }) => requests)])).toEqual([
      ["Outcome", [null, null, null, null]],
      ["Person", [2, 2]],
      ["Model", [1, 8]],
      ["Provider", [9]],
      ["Status", [null, null, null]],
      ["Error kind", [null, null]],
      ["Service tier", [null]],
      ["Cost and duration", [null, null, null, null]],
      ["Tag", [5]],
      ["Key", [7]],
    ]);
  });

  test("are none for a text that nothing in the window has: as a filter it would show nothing", () => {
    expect(toFilterGroups(FACETS, {}, search("nobody-has-this"))).toEqual([]);
    // A list that was cut may have left it out, and a client is known by its beginning.
    const typed = toFilterGroups(ALL_TRUNCATED, {}, search("zz:top")).map(({ items }) =>
      items.map(({ label }) => label),
    );
    expect(typed).toEqual([
      ["client begins with “zz:top”", "model is “zz:top”", "person is “zz:top”", "tag is “zz:top”"],
    ]);
    expect(namesIn("As typed", "cu")).toEqual(["client begins with “cu”"]);
  });

  test("add a value beside those that are on, and take away the one that is ticked", () => {
    const filters = readFilters({ model: ["fast", "slow"], unpriced: "true" });
    const options = toFilterGroups(FACETS, filters, search("")).flatMap(({ items }) => items);
    const find = (id: string) => options.find((option) => option.id === id);
    expect(find("model=fast")).toMatchObject({ isOn: true, patch: { model: ["slow"] } });
    expect(find("model=fast-mini")).toMatchObject({
      isOn: false,
      patch: { model: ["fast", "slow", "fast-mini"] },
    });
    expect(find("unpriced")).toMatchObject({ isOn: true, patch: { unpriced: undefined } });
    expect(countFilters(filters)).toBe(3);
    const many = readFilters({ model: Array.from({ length: 30 }, (_, place) => `m${place}`) });
    expect(many.model).toHaveLength(20);
    expect(toggleValue(many, "model", "one too many")).toEqual({});
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
    const few = OUTCOME_FILTERS.length + 3 + 6 + 3 + 5 + 2 + 1 + 1 + 1;
    const share = Math.floor((OPTIONS_SHOWN_MAX - few) / 2);
    expect(groups.map(({ label, items }) => [label, items.length])).toEqual([
      ["Outcome", OUTCOME_FILTERS.length],
      [`Person · ${share} most used`, share],
      ["Model", 2],
      ["Provider", 1],
      ["Status", 3],
      ["Error kind", 6],
      ["Service tier", 3],
      ["Cost and duration", 5],
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
    const crowd: Facets = { ...FACETS, principals: toCrowd("pq"), clients: toCrowd("q/") };
    const groups = toFilterGroups(crowd, {}, search("q"));
    const share = OPTIONS_SHOWN_MAX / 2;
    expect(groups.map(({ label, items }) => [label, items.length])).toEqual([
      [`Person · ${share} of 300`, share],
      [`Client · ${share} of 300`, share],
      ["As typed", 1],
    ]);
    // Before it is known what there is, Enter would take what is only guessed.
    expect(toFilterGroups(undefined, {}, search("q", false))).toEqual([]);
  });
});

describe("what is typed into the filter box", () => {
  test.each([
    ["429", { name: "status", value: "429" }],
    ["5XX", { name: "status", value: "5xx" }],
    ["> $0.10", { name: "min_cost", value: "0.10" }],
    ["<$2", { name: "max_cost", value: "2" }],
    [">2s", { name: "min_duration_ms", value: "2000" }],
    ["< 1.5 min", { name: "max_duration_ms", value: "90000" }],
    [">0.25ms", { name: "min_duration_ms", value: "0.25" }],
    [">", null],
    ["600", null],
    [">2", null],
    ["3xx", null],
  ] as const)("may spell a filter: %s", (text, said) => {
    expect(parseTyped(text)).toEqual(said);
  });

  test("may be the beginning of a request's id, which tells when the request arrived", () => {
    const id = "019cdd2a-7c00-7000-8000-000000000001";
    const atMs = Number.parseInt("019cdd2a7c00", 16);
    const toIso = (ms: number) => new Date(ms).toISOString();
    expect(parseIdBeginning(` ${id.toUpperCase()} `)).toEqual({
      beginning: id,
      since: toIso(atMs),
      until: toIso(atMs + 1),
    });
    expect(parseIdBeginning("019cdd2a-7c")).toMatchObject({ since: toIso(atMs), until: toIso(atMs + 256) });
    for (const text of ["019cdd2", "fast-mini", "ffffffff-ffff", `${id}0`, ""]) {
      expect(parseIdBeginning(text)).toBeNull();
    }
  });
});

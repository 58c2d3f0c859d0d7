import { describe, expect, test } from "bun:test";
import type { Limit } from "../../ui/api/limits.ts";
import { toHeldLimits } from "../../ui/limits/held-limits.tsx";
import {
  type LimitShape,
  toAmountWords,
  toDeleteWords,
  toHeldWords,
  toLeftWords,
  toLevel,
  toLevelWords,
  toUsedWords,
  toWhomWords,
} from "../../ui/limits/limit-words.ts";
import { toSecretNames } from "../../ui/limits/secret-names.ts";
import {
  findLimitFaults,
  NEW_LIMIT,
  RECIPES,
  toLimitDraft,
  toLimitForm,
  toLimitPatch,
  toMeaning,
  toName,
  toRecipeForm,
} from "../../ui/pages/limits/limit-form.ts";

const NAMES = toSecretNames(
  [
    { id: "k-1", owner: "alice", label: "laptop", suffix: "aB3d" },
    { id: "k-2", owner: "bob", label: "", suffix: "zzzz" },
    { id: "k-3", owner: "bob", label: "ci", suffix: "same" },
    { id: "k-4", owner: "bob", label: "ci", suffix: "same" },
  ],
  [{ id: "t-1", owner: "alice", label: "claude", suffix: "tttt" }],
);
const LIMIT: Limit = {
  id: "l-1",
  name: "alice: month",
  subject: { principal: "alice" },
  measure: "cost",
  amount: 50,
  window: "month",
  action: "refuse",
  unpriced: "allow",
  enabled: true,
  sentence: "At most $50.00 a month for alice: requests beyond it are refused.",
  used: 37.2,
  left: 12.8,
  unpriced_requests: 0,
  unknown_requests: 0,
  window_start: "2026-11-01T00:00:00.000000Z",
  resets_at: "2026-12-01T00:00:00.000000Z",
  refused: 0,
  last_refused_at: null,
};

describe("a limit in words", () => {
  test.each<[Pick<LimitShape, "subject" | "each" | "fixed">, string]>([
    [{ subject: {} }, "Everyone"],
    [{ subject: { principal: "alice" } }, "alice"],
    [{ subject: { key: "k-1" } }, "Key laptop of alice"],
    [{ subject: { key: "k-2" } }, "Key ***zzzz of bob"],
    [{ subject: { key: "019cdd2a-7c00-7000-8000-0000deadbeef" } }, "Key …adbeef"],
    [{ subject: { relay_token: "t-1" } }, "Relay token claude of alice"],
    [{ subject: {}, each: "principal" }, "Each person"],
    [{ subject: {}, each: "key" }, "Each key"],
    [{ subject: { principal: "alice" }, each: "key" }, "Each key of alice"],
    [{ subject: {}, each: "tag:team" }, "Each team"],
    [{ subject: { tag: "team:search" } }, "team:search"],
    [{ subject: { tag: "team:search" }, fixed: true }, "team:search (fixed)"],
    [{ subject: {}, each: "tag:team", fixed: true }, "Each team (fixed)"],
    [{ subject: { tag: "team:search", model: "gpt-4o" } }, "team:search · gpt-4o"],
    [{ subject: { model: "gpt-4o" } }, "Everyone · gpt-4o"],
    [
      { subject: { tag: "team:search", model: "gpt-4o" }, each: "principal" },
      "Each person of team:search · gpt-4o",
    ],
  ])("%j holds for %p", (limit, words) => {
    expect(toWhomWords(limit, NAMES.name)).toBe(words);
  });

  test.each<[Pick<LimitShape, "measure" | "amount" | "window">, string]>([
    [{ measure: "cost", amount: 50, window: "month" }, "$50.00 a month"],
    [{ measure: "cost", amount: 0.000000000001, window: "total" }, "$0.000000000001 in total"],
    [{ measure: "requests", amount: 60, window: "minute" }, "60 requests a minute"],
    [{ measure: "requests", amount: 1, window: "hour" }, "1 request an hour"],
    [{ measure: "tokens", amount: 1_000_000, window: "week" }, "1,000,000 tokens a week"],
    [{ measure: "uncached_tokens", amount: 1, window: "day" }, "1 uncached token a day"],
    [{ measure: "concurrent", amount: 2 }, "2 concurrent"],
  ])("%j is %p", (limit, words) => {
    expect(toAmountWords(limit)).toBe(words);
  });

  test.each<[Pick<LimitShape, "measure" | "amount">, number, string, string]>([
    [{ measure: "cost", amount: 50 }, 37.2, "$37.20 of $50.00", "$12.80 left"],
    [{ measure: "requests", amount: 20 }, 20, "20 of 20 requests", "none left"],
    [{ measure: "tokens", amount: 5000 }, 1200, "1,200 of 5,000 tokens", "3,800 left"],
    [{ measure: "uncached_tokens", amount: 5000 }, 5000, "5,000 of 5,000 uncached tokens", "none left"],
    [{ measure: "concurrent", amount: 2 }, 1, "1 of 2 concurrent", "1 left"],
  ])("%j with %p used is %p, %p", (limit, used, words, left) => {
    expect(toUsedWords(limit, used)).toBe(words);
    expect(toLeftWords(limit, limit.amount - used)).toBe(left);
  });

  test.each([
    [{ enabled: true, used: 0, amount: 10 }, "fine", null, null],
    [{ enabled: true, used: 7.99, amount: 10 }, "fine", null, null],
    [{ enabled: true, used: 8, amount: 10 }, "near", "nearly used up", "nearly used up"],
    [{ enabled: true, used: 10, amount: 10 }, "reached", "used up", "warning"],
    [{ enabled: true, used: 12, amount: 10 }, "reached", "used up", "warning"],
    [{ enabled: false, used: 12, amount: 10 }, "off", "off", "off"],
  ] as const)("%j is %p: one that refuses says %p, one that warns %p", (limit, level, refuses, warns) => {
    expect(toLevel(limit)).toBe(level);
    expect(toLevelWords(level, "refuse")).toBe(refuses);
    expect(toLevelWords(level, "warn")).toBe(warns);
  });

  test("that was just made says what its window holds, and one of what is under way has no window", () => {
    expect(toHeldWords(LIMIT)).toBe("The window already holds $37.20 of $50.00.");
    expect(toHeldWords({ ...LIMIT, each: "principal" })).toBe(
      "The highest use in the window is $37.20 of $50.00.",
    );
    const { window: _, ...rest } = LIMIT;
    expect(toHeldWords({ ...rest, measure: "concurrent", amount: 2, used: 1 })).toBe(
      "In progress now: 1 of 2 concurrent.",
    );
  });

  test.each([
    [{}, "It refuses nothing now ($37.20 of $50.00). From the next request on nothing will."],
    [{ used: 50 }, "It refuses requests now ($50.00 of $50.00). They pass from the next request on."],
    [
      { used: 60, action: "warn" as const },
      "It warns and refuses nothing ($60.00 of $50.00): the warning ends.",
    ],
    [{ used: 60, enabled: false }, "It is off, so nothing changes for requests."],
  ])("that is to be deleted with %j: %p", (change, effect) => {
    expect(toDeleteWords({ ...LIMIT, ...change })[0]).toBe(effect);
  });

  test("that holds for each person says how many of them it refuses when it is to be deleted", () => {
    const use = (used: number) => ({
      principal: `p${used}`,
      used,
      left: 0,
      unpriced_requests: 0,
      unknown_requests: 0,
    });
    const each = { ...LIMIT, each: "principal", used: 70 };
    expect(toDeleteWords({ ...each, top: [use(70), use(50), use(3)] })[0]).toContain("(2 at the amount)");
    expect(toDeleteWords({ ...each, top: [use(70), use(50)] })[0]).toContain("(at least 2 at the amount)");
  });
});

describe("the form of a limit", () => {
  test.each([
    [0, "Each person: monthly budget"],
    [2, "Each person: requests a day"],
    [5, "Everyone: monthly budget, warning"],
  ])("begins with recipe %p as %p, and could be sent", (index, name) => {
    const form = toRecipeForm(RECIPES[index] ?? { label: "", form: {} }, NEW_LIMIT);
    expect(toName(form, NAMES)).toBe(name);
    expect(Object.values(findLimitFaults(form)).filter(Boolean)).toEqual([]);
  });

  test.each([1, 3, 4])("waits with recipe %p for whom it holds: it would hold for everyone", (index) => {
    const form = toRecipeForm(RECIPES[index] ?? { label: "", form: {} }, NEW_LIMIT);
    expect(Object.values(findLimitFaults(form)).filter(Boolean)).toHaveLength(1);
    expect(toMeaning(form, NAMES)).toBeNull();
    expect(toName(form, NAMES)).toBe("");
  });

  test("keeps what was typed when another recipe is chosen, and sends only what is shown", () => {
    const typed = { ...NEW_LIMIT, name: "mine", who: "principal" as const, principal: "alice" };
    const form = toRecipeForm(RECIPES[5] ?? { label: "", form: {} }, typed);
    expect(form).toMatchObject({ name: "mine", who: "everybody", principal: "alice" });
    expect(toLimitDraft(form, NAMES)).toEqual({
      name: "mine",
      subject: {},
      measure: "cost",
      amount: 100,
      window: "month",
      action: "warn",
      unpriced: "allow",
    });
  });

  test("sends that only fixed tags count where it is by tag, and nowhere else", () => {
    const form = { ...NEW_LIMIT, amount: 1, fixed: true };
    const byTag = toLimitDraft({ ...form, who: "tag", tag: "team:a" }, NAMES);
    expect(byTag).toMatchObject({ subject: { tag: "team:a" }, fixed: true });
    expect(toLimitDraft({ ...form, each: "tag", tagKey: "team" }, NAMES)).toMatchObject({ fixed: true });
    expect(toLimitDraft({ ...form, who: "tag", tag: "team:a", fixed: false }, NAMES)).not.toHaveProperty(
      "fixed",
    );
    expect(toLimitDraft(form, NAMES)).not.toHaveProperty("fixed");
  });

  test("sends a key by its id, a tag's key with each, no window for what is under way and no rule for what has no cost", () => {
    const form = {
      ...NEW_LIMIT,
      who: "key" as const,
      key: "alice: laptop ***aB3d",
      each: "tag" as const,
      tagKey: " team ",
      hasModel: true,
      model: "gpt-4o",
      measure: "concurrent" as const,
      amount: 2,
    };
    expect(toLimitDraft(form, NAMES)).toEqual({
      name: "Each team of Key laptop of alice · gpt-4o: concurrent requests",
      subject: { key: "k-1", model: "gpt-4o" },
      each: "tag:team",
      measure: "concurrent",
      amount: 2,
      action: "refuse",
    });
  });

  test("offers two keys that read alike by their ids: neither is taken for the other", () => {
    expect([...NAMES.keys.keys()]).toEqual(["alice: laptop ***aB3d", "bob: ***zzzz", "k-3", "k-4"]);
  });

  test("suggests no name that is longer than a name may be", () => {
    const form = { ...NEW_LIMIT, who: "principal" as const, principal: "a".repeat(120), amount: 1 };
    expect(toName(form, NAMES)).toHaveLength(120);
  });

  test("of a limit that is there sends what was changed and nothing else", () => {
    const form = toLimitForm(LIMIT);
    expect(toLimitPatch(form, LIMIT)).toEqual({});
    expect(toLimitPatch({ ...form, amount: 80, enabled: false }, LIMIT)).toEqual({
      amount: 80,
      enabled: false,
    });
    const { window: _, unpriced: __, ...concurrent } = { ...LIMIT, measure: "concurrent" as const };
    expect(toLimitPatch({ ...toLimitForm(concurrent), name: "b" }, concurrent)).toEqual({ name: "b" });
  });
});

test("the limits of a principal are those that /my/limits lists: of tags the fixed ones, and none of others", () => {
  const of = (subject: Limit["subject"], more: Partial<Limit> = {}): Limit => ({
    ...LIMIT,
    subject,
    ...more,
  });
  const held = [
    of({}),
    of({}, { each: "principal" }),
    of({ principal: "alice" }),
    of({ key: "k-1", model: "gpt-4o" }),
    of({ relay_token: "t-1" }),
    of({ tag: "team:red" }, { fixed: true }),
    of({ tag: "team:red" }, { each: "principal" }),
    of({}, { each: "tag:team" }),
  ];
  const others = [
    of({ principal: "bob" }),
    of({ key: "k-2" }),
    of({ tag: "team:search" }),
    of({ tag: "team:search" }, { each: "tag:team" }),
    of({}, { each: "tag:app" }),
    of({}, { enabled: false }),
  ];
  const holder = { name: "alice", keyIds: ["k-1"], relayTokenIds: ["t-1"], fixedTags: ["team:red"] };
  expect(toHeldLimits([...held, ...others], holder)).toEqual(held);
  expect(toHeldLimits(held.slice(-3), { ...holder, fixedTags: [] })).toEqual([]);
});

import { describe, expect, test } from "bun:test";
import type { Limit } from "../../ui/api/limits.ts";
import type { BreakdownRow } from "../../ui/api/reports.ts";
import { findUsedUp, type Paced, toPace, toPaceWords, toSpendQuery } from "../../ui/limits/pace.ts";
import { isIdle, toBudgetRows } from "../../ui/pages/limits/budgets.ts";
import { toForWhomWords, toOverWords } from "../../ui/pages/limits/limit-consequence.tsx";
import { findSameLimit, NEW_LIMIT } from "../../ui/pages/limits/limit-form.ts";
import { toSecretNames } from "../../ui/limits/secret-names.ts";

const NOVEMBER = { window_start: "2026-11-01T00:00:00.000000Z", resets_at: "2026-12-01T00:00:00.000000Z" };
const LIMIT: Limit = {
  id: "l-1",
  name: "ada: monthly budget",
  subject: { principal: "ada" },
  measure: "cost",
  amount: 50,
  window: "month",
  action: "refuse",
  unpriced: "allow",
  enabled: true,
  sentence: "",
  used: 30.5,
  left: 19.5,
  unpriced_requests: 0,
  unknown_requests: 0,
  ...NOVEMBER,
  refused: 0,
  last_refused_at: null,
};
const NAMES = toSecretNames([], []);

describe("the projection of a window", () => {
  const at = (iso: string) => Date.parse(iso);

  test("is what was used over the part that has passed, and says on which day the amount is used up", () => {
    const pace = toPace(LIMIT, at("2026-11-16T00:00:00Z"));
    expect(pace).toMatchObject({ total: 61, passed: 0.5 });
    expect(pace && toPaceWords(pace, "cost")).toBe("$61.00 by 30 Nov");
    // 15 days × 50 ÷ 30.5 after the first.
    expect(pace?.usedUpAt?.toISOString().slice(0, 13)).toBe("2026-11-25T14");
  });

  test("is exact in decimals, where binary fractions are not", () => {
    const tenth: Paced = { measure: "cost", amount: null, used: 0.1, ...NOVEMBER };
    expect(toPace(tenth, at("2026-11-11T00:00:00Z"))?.total).toBe(0.3);
    expect(toPace({ ...tenth, used: 0.000000000001 }, at("2026-11-02T00:00:00Z"))?.total).toBe(3e-11);
  });

  test.each<[string, Partial<Paced>, string]>([
    [
      "a window that rolls",
      { window_start: "2026-11-15T23:00:00Z", resets_at: null },
      "2026-11-16T00:00:00Z",
    ],
    ["a window that has not begun by this clock", {}, "2026-11-01T00:00:00Z"],
  ])("is not made of %s", (_, part, now) => {
    expect(toPace({ ...LIMIT, ...part }, at(now))).toBeNull();
  });

  test("names no day where the amount lasts, or is used up already, and goes not beyond the window", () => {
    expect(toPace({ ...LIMIT, amount: 61 }, at("2026-11-16T00:00:00Z"))?.usedUpAt).toBeNull();
    expect(toPace({ ...LIMIT, used: 50 }, at("2026-11-16T00:00:00Z"))?.usedUpAt).toBeNull();
    expect(toPace({ ...LIMIT, used: 0 }, at("2026-11-16T00:00:00Z"))?.usedUpAt).toBeNull();
    expect(toPace(LIMIT, at("2026-12-09T00:00:00Z"))?.total).toBe(30.5);
  });

  test("of requests is a whole number", () => {
    const requests: Paced = { measure: "requests", amount: 9, used: 1, ...NOVEMBER };
    const pace = toPace(requests, at("2026-11-12T00:00:00Z"));
    expect(pace && toPaceWords(pace, "requests")).toBe("3 by 30 Nov");
  });
});

describe("the day on which an amount was used up", () => {
  const day = (date: number, cost: number | null) => ({ start: `2026-11-0${date}T00:00:00Z`, cost });

  test("is the one that brought the sum to it, added exactly", () => {
    const series = [day(1, 0.1), day(2, null), day(3, 0.2), day(4, 7)];
    expect(findUsedUp(series, 0.3)).toEqual(new Date("2026-11-03T00:00:00Z"));
    expect(findUsedUp(series, 7.4)).toBeNull();
  });

  test("is asked for with what the limit counts, and of no limit that no report can tell", () => {
    expect(toSpendQuery({ ...LIMIT, subject: { tag: "team:a", model: "fast" } })).toMatchObject({
      since: NOVEMBER.window_start,
      bucket: "day",
      group_by: "principal",
      tag: ["team:a"],
      model: ["fast"],
    });
    expect(toSpendQuery({ ...LIMIT, subject: {}, each: "principal" }, "ada")).toMatchObject({
      principal: ["ada"],
    });
    expect(toSpendQuery({ ...LIMIT, subject: {}, each: "principal" })).toBeNull();
    expect(toSpendQuery({ ...LIMIT, subject: { relay_token: "t" } })).toBeNull();
    expect(toSpendQuery({ ...LIMIT, measure: "requests" })).toBeNull();
    expect(toSpendQuery({ ...LIMIT, window: "hour" })).toBeNull();
  });
});

const person = (name: string, more: { readonly tags?: string[] } = {}) => ({
  id: name,
  name,
  kind: "user" as const,
  role: "member" as const,
  created_at: NOVEMBER.window_start,
  ...more,
});
const PEOPLE = [person("ada", { tags: ["team:a"] }), person("ben", { tags: ["team:a"] }), person("cy")];
const spend = (value: string, cost: number): BreakdownRow => ({
  value,
  cost,
  unpriced: 0,
  requests: 1,
  ok: 1,
  failed: 0,
  cancelled: 0,
  unmetered: 0,
  cost_per_request: cost,
  units: {},
  duration_ms: { p50: null, p95: null },
  time_to_first_byte_ms: { p50: null, p95: null },
  last_ok_at: null,
});

describe("the budgets of a month", () => {
  const each = { ...LIMIT, id: "l-2", name: "each", subject: {}, each: "principal", amount: 20 };
  const hourly = { ...LIMIT, id: "l-3", window: "hour" as const };
  const sources = { people: PEOPLE, before: [spend("ben", 4)], allBefore: null, nameSecret: NAMES.name };

  test("are a row for each limit of cost a month, and one for everyone without a budget of their own", () => {
    const rows = toBudgetRows({
      ...sources,
      limits: [LIMIT, each, hourly],
      now: [spend("ada", 99), spend("ben", 7)],
    });
    expect(rows.map(({ id }) => id)).toEqual(["l-1", "l-2", "person:ben", "person:cy"]);
    expect(rows[0]).toMatchObject({ person: "ada", spent: { cost: 30.5 }, budget: { amount: 50 } });
    // Its own use of the budget that each person has.
    expect(rows[2]).toMatchObject({
      limit: null,
      budget: { amount: 20, used: 7, left: 13 },
      before: { cost: 4 },
    });
    expect(rows.filter(isIdle).map(({ whom }) => whom)).toEqual(["cy"]);
  });

  test("that each person has count what the limit itself says, before what the report does", () => {
    const use = { principal: "ben", used: 9, left: 11, unpriced_requests: 0, unknown_requests: 0 };
    const rows = toBudgetRows({ ...sources, limits: [{ ...each, top: [use] }], now: [spend("ben", 7)] });
    expect(rows.find(({ whom }) => whom === "ben")).toMatchObject({ budget: { used: 9 } });
    const off = toBudgetRows({ ...sources, limits: [{ ...each, enabled: false }], now: [] });
    expect(off.find(({ whom }) => whom === "ben")).toMatchObject({ budget: null });
  });
});

describe("what a budget would change", () => {
  const spends = new Map([
    ["ada", { cost: 60, unpriced: 0 }],
    ["ben", { cost: 10, unpriced: 0 }],
  ]);
  const affected = { people: PEOPLE, limits: [], spends, tagSpend: 70 };
  const form = { ...NEW_LIMIT, amount: 50 };

  test.each([
    [
      { each: "principal" as const },
      "for each of 3 people and services, and those added later: ada, ben, cy.",
    ],
    [{}, "for 3 people and services together."],
    [{ who: "principal" as const, principal: " ada " }, "for ada."],
    [{ who: "tag" as const, tag: "team:a" }, "for requests with team:a. As a fixed tag 2 have it: ada, ben."],
    [{ who: "tag" as const, tag: "team:b" }, "for requests with team:b. As a fixed tag no one has it."],
  ])("with %j is %p", (part, words) => {
    expect(toForWhomWords({ ...form, ...part }, affected)).toBe(words);
  });

  test.each([
    [{ each: "principal" as const }, "Used up already, and refused from the next request on: ada ($60.00)."],
    [
      { who: "principal" as const, principal: "ada", action: "warn" as const },
      "Used up already ($60.00 this month): ada is warned from the next request on.",
    ],
    [{ who: "principal" as const, principal: "ben" }, null],
    [{}, "Used up already ($70.00 this month): Everyone is refused from the next request on."],
    [
      { who: "tag" as const, tag: "team:a" },
      "Used up already ($70.00 this month): team:a is refused from the next request on.",
    ],
    // The page does not know the use of these.
    [{ window: "day" as const }, null],
    [{ hasModel: true, model: "fast" }, null],
  ])("with %j says who is refused at once: %p", (part, words) => {
    expect(toOverWords({ ...form, ...part }, affected)).toBe(words);
  });

  test("is the limit that is the same but for its amount, and no other", () => {
    const ofAda = { ...form, who: "principal" as const, principal: "ada" };
    expect(findSameLimit(ofAda, NAMES, [LIMIT])).toBe(LIMIT);
    for (const part of [
      { principal: "ben" },
      { window: "day" as const },
      { action: "warn" as const },
      { measure: "requests" as const },
      { hasModel: true, model: "fast" },
    ]) {
      expect(findSameLimit({ ...ofAda, ...part }, NAMES, [LIMIT])).toBeUndefined();
    }
  });
});

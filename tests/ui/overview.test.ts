import { describe, expect, test } from "bun:test";
import { toFailedShare } from "#stats/breakdown.ts";
import type { UsageBucket, UsageGroup, UsageSeries } from "../../ui/api/reports.ts";
import { OTHER_ID } from "../../ui/charts/series.ts";
import { NONE_ID, toGroupBy, toGroups, toTagKeys } from "../../ui/reports/groups.ts";
import { toChange, toMeasured, toTotals } from "../../ui/reports/figures.ts";
import { toStack, toTrend } from "../../ui/reports/stack.ts";
import { isSetUp, SETUP_STEPS, toNextStep, toSetupDone } from "../../ui/setup/setup.ts";
import { toCsvName } from "../../ui/text/download.ts";

const NOTHING = { requests: 0, ok: 0, cancelled: 0, failed: 0, unpriced_requests: 0, cost: null, units: {} };

function bucket(day: number, fields: Partial<UsageBucket>): UsageBucket {
  const start = `2026-03-${String(day).padStart(2, "0")}T00:00:00Z`;
  return { start, ...NOTHING, ...fields };
}

function group(value: string | null, fields: Partial<UsageGroup>): UsageGroup {
  return { value, ...NOTHING, series: [], ...fields };
}

/** A report by group, as the server answers it: of each bucket, the groups and the other add up to the totals. */
function report(series: UsageBucket[], groups: UsageGroup[] = [], other: UsageSeries["other"] = null) {
  const count = groups.length + (other === null ? 0 : 3);
  return { bucket: "day", series, groups, other, group_count: count } as const satisfies UsageSeries;
}

describe("groups", () => {
  test("stand in the order of the report, and what it does not tell apart comes last, without a filter", () => {
    const rest = { ...NOTHING, requests: 4, series: [] };
    const answer = report([], [group("b", { requests: 9 }), group("a", { requests: 5 })], rest);
    const groups = toGroups(answer, { by: "model", tagKey: null }, {});
    expect(groups.map(({ id, label, requests, patch }) => ({ id, label, requests, patch }))).toEqual([
      { id: "b", label: "b", requests: 9, patch: { model: "b" } },
      { id: "a", label: "a", requests: 5, patch: { model: "a" } },
      { id: OTHER_ID, label: "3 others", requests: 4, patch: null },
    ]);
  });

  test("requests without the tag are in a group that no filter asks for, and have no series of their own", () => {
    const answer = report([], [group(null, { cost: 5 }), group("web", { cost: 1 })]);
    const cut = { by: "app", tagKey: null } as const;
    const groups = toGroups(answer, cut, {});
    expect(groups.map(({ id, label, patch }) => ({ id, label, patch }))).toEqual([
      { id: NONE_ID, label: "untagged", patch: null },
      { id: "web", label: "web", patch: { tag: ["app:web"] } },
    ]);
    const { series } = toStack({ report: answer, cut, measure: "cost", filters: {} });
    expect(series.map(({ id }) => id)).toEqual(["web"]);
  });

  test("each has an id of its own, an empty User-Agent too", () => {
    const answer = report([], [group(null, {}), group("", {}), group("curl", {})], {
      ...NOTHING,
      series: [],
    });
    const ids = toGroups(answer, { by: "client", tagKey: null }, {}).map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
  });

  test("a tag beside four others is not asked for: a question has four at most", () => {
    const filters = { tag: ["a:1", "b:1", "c:1", "app:web"] };
    const answer = report([], [group("web", {}), group("cli", {})]);
    const patches = toGroups(answer, { by: "app", tagKey: null }, filters).map(({ patch }) => patch);
    expect(patches).toEqual([{ tag: filters.tag }, null]);
  });

  test.each([
    ["app", null, "tag:app"],
    ["tag", "team", "tag:team"],
    // Nothing is tagged, so that any key tells the same.
    ["tag", null, "tag:app"],
    ["client", "team", "client"],
  ] as const)("by %s, tag %s, are asked for as %s", (by, tagKey, asked) => {
    expect(toGroupBy({ by, tagKey })).toBe(asked);
  });

  test("the tag that is used most is told apart first, and app, which has a cut of its own, last", () => {
    const counts = { principals: [], keys: [], providers: [], models: [], clients: [] };
    const tags = ["app:web", "env:prod", "env:test", "team:care"];
    expect(toTagKeys({ tags, counts: { ...counts, tags: [99, 40, 50, 95] } })).toEqual([
      "team",
      "env",
      "app",
    ]);
  });
});

describe("the stack", () => {
  function stack(series: UsageBucket[], ...groups: UsageGroup[]) {
    const cut = { by: "model", tagKey: null } as const;
    return toStack({ report: report(series, groups), cut, measure: "cost", filters: {} });
  }

  test("adds up to the total: what its groups leave is other", () => {
    const { series, buckets } = stack(
      [bucket(1, { requests: 3, cost: 0.5 }), bucket(2, { requests: 1, cost: 0.25 })],
      group("fast", { cost: 0.3, series: [bucket(1, { requests: 2, cost: 0.3 }), bucket(2, {})] }),
    );
    expect(series.map(({ id }) => id)).toEqual(["fast", OTHER_ID]);
    expect(buckets.map(({ values }) => values)).toEqual([
      [0.3, 0.2],
      [null, 0.25],
    ]);
  });

  test("never draws what binary fractions leave of a total as a rest", () => {
    const { series } = stack(
      [bucket(1, { requests: 1, cost: 0.1 + 0.2 })],
      group("fast", { cost: 0.3, series: [bucket(1, { requests: 1, cost: 0.3 })] }),
    );
    expect(series.map(({ id }) => id)).toEqual(["fast"]);
  });

  test("has as many series as there are colours, and none for what has nothing to draw", () => {
    const one = bucket(1, { requests: 1, cost: 1 });
    const groups = Array.from({ length: 10 }, (_, index) => group(`m${index}`, { cost: 1, series: [one] }));
    const free = group("free", { cost: 0, series: [bucket(1, { cost: 0 })] });
    const { series } = stack([bucket(1, { requests: 10, cost: 10 })], free, ...groups);
    expect(series.map(({ id }) => id)).toEqual([
      ...Array.from({ length: 8 }, (_, index) => `m${index}`),
      OTHER_ID,
    ]);
  });

  test("a trend is 0 on a quiet day, and has a gap where what was used has no price", () => {
    const series = [bucket(1, {}), bucket(2, { requests: 1 }), bucket(3, { requests: 1, cost: 0.5 })];
    expect(toTrend({ series }, "cost")).toEqual([0, null, 0.5]);
  });
});

describe("totals", () => {
  const totalsOf = (...series: readonly UsageBucket[]) => toTotals({ series });

  test("a cost that nobody knows stays unknown, and a unit that nobody reported is not 0", () => {
    const { cost, units, unpriced_requests } = totalsOf(
      bucket(1, { requests: 2, unpriced_requests: 2, units: { input_tokens: 4 } }),
      bucket(2, { requests: 1, unpriced_requests: 1, units: { input_tokens: 0 } }),
    );
    expect({ cost, unpriced_requests }).toEqual({ cost: null, unpriced_requests: 3 });
    expect(units).toEqual({ input_tokens: 4 });
  });

  test("the failed share is one of the requests that were not cancelled, and is unknown without any", () => {
    expect(toFailedShare(totalsOf(bucket(1, { requests: 4, ok: 2, cancelled: 1, failed: 1 })))).toBe(1 / 3);
    expect(toFailedShare(totalsOf(bucket(1, { requests: 2, cancelled: 2 })))).toBeNull();
    expect(toFailedShare(totalsOf(bucket(1, {})))).toBeNull();
  });

  test.each([
    [3, 2, 0.5],
    [0, 0, 0],
    [1, 2, -0.5],
    [1, null, null],
    [5, 0, null],
  ])("%p after %p is a change of %p", (now, before, change) => {
    expect(toChange(now, before)).toBe(change);
  });

  test("tokens are input, output and cache reads together; seconds of audio are none", () => {
    const units = { input_tokens: 1, output_tokens: 2, cached_input_tokens: 4, audio_seconds: 8 };
    expect(toMeasured(bucket(1, { units }), "tokens")).toBe(7);
    expect(toMeasured(bucket(1, { units: { audio_seconds: 8 } }), "tokens")).toBeNull();
  });
});

describe("the setup", () => {
  test("goes from provider to model, key and first request, and is over when all four are there", () => {
    const counts = { providers: 0, models: 0, keys: 0, requests: 0 };
    expect(toNextStep(toSetupDone(counts))).toBe("provider");
    expect(toNextStep(toSetupDone({ ...counts, providers: 1 }))).toBe("model");
    expect(toNextStep(toSetupDone({ ...counts, providers: 1, models: 1 }))).toBe("key");
    expect(toNextStep(toSetupDone({ ...counts, providers: 1, models: 1, keys: 1 }))).toBe("request");
    const done = toSetupDone({ providers: 1, models: 1, keys: 1, requests: 1 });
    expect(toNextStep(done)).toBeNull();
    expect(isSetUp(done)).toBe(true);
  });

  test("an admin whose provider is gone sees it missing again, whatever was requested before", () => {
    const done = toSetupDone({ providers: 0, models: 0, keys: 1, requests: 9 });
    expect(SETUP_STEPS.filter((step) => !done[step])).toEqual(["provider", "model"]);
  });

  test("a member of an installation that others use has nothing to set up", () => {
    expect(isSetUp(toSetupDone({ providers: null, models: 0, keys: 0, requests: 9 }))).toBe(true);
    expect(toNextStep(toSetupDone({ providers: null, models: 0, keys: 0, requests: 0 }))).toBe("provider");
    expect(toNextStep(toSetupDone({ providers: null, models: 1, keys: 0, requests: 0 }))).toBe("key");
  });
});

describe("the name of a file", () => {
  test.each([
    [
      { since: "2026-01-01T00:00:00.000Z", until: "2026-02-01" },
      "lockport-usage_2026-01-01_2026-02-01_UTC.csv",
    ],
    [{ since: "2026-01-01T08:30" }, "lockport-usage_2026-01-01T0830_2026-03-04T0506_UTC.csv"],
    [{ since: "../../etc" }, "lockport-usage_..-..-etc_2026-03-04T0506_UTC.csv"],
    [{}, "lockport-usage_beginning_2026-03-04T0506_UTC.csv"],
  ])("tells the window in UTC: %p", (window, name) => {
    expect(toCsvName("usage", window, Date.parse("2026-03-04T05:06:07Z"))).toBe(name);
  });
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { TeamUsageRow, UsageBucket, UsageSeries } from "../../ui/api/reports.ts";
import { OTHER_ID } from "../../ui/charts/series.ts";
import { toClientRoots } from "../../ui/reports/client-roots.ts";
import { NONE_ID, rankGroups, toGroups, toTagKeys, toTopGroups } from "../../ui/pages/overview/groups.ts";
import { toMeasured } from "../../ui/reports/measure.ts";
import { toStack } from "../../ui/pages/overview/stack.ts";
import { toChange, toFailedShare, toTotals } from "../../ui/reports/totals.ts";
import { BREAKDOWNS } from "../../ui/search/breakdown.ts";
import { isSetUp, SETUP_STEPS, toNextStep, toSetupDone } from "../../ui/setup/setup.ts";
import { toCsvName } from "../../ui/text/download.ts";

function row(fields: Partial<TeamUsageRow>): TeamUsageRow {
  return {
    principal: "ada",
    provider: "lab",
    model: "fast",
    endpoint: "chat",
    client: null,
    tags: [],
    app: "untagged",
    requests: 1,
    cancelled: 0,
    cost: null,
    units: {},
    ...fields,
  };
}

function bucket(day: number, fields: Partial<UsageBucket>): UsageBucket {
  const start = `2026-03-${String(day).padStart(2, "0")}T00:00:00Z`;
  const none = { requests: 0, ok: 0, cancelled: 0, failed: 0, unpriced_requests: 0, cost: null, units: {} };
  return { start, ...none, ...fields };
}

function days(...series: UsageBucket[]): UsageSeries {
  return { bucket: "day", series };
}

const rows = fc.array(
  fc.record({
    principal: fc.constantFrom("ada", "linus"),
    provider: fc.constantFrom("lab", "(deleted)"),
    model: fc.constantFrom("fast", "smart", "embed"),
    endpoint: fc.constantFrom("chat", "embeddings"),
    client: fc.constantFrom(null, "", "curl", "curl/8", "curl/8.1", "node"),
    tags: fc.constantFrom<string[][]>([], ["app:web"], ["app:web", "env:prod"], ["env:test", "team:care"]),
    app: fc.constant("untagged"),
    requests: fc.integer({ min: 1, max: 1000 }),
    cancelled: fc.constant(0),
    cost: fc.option(fc.integer({ min: 0, max: 1000 })),
    units: fc.constantFrom<TeamUsageRow["units"][]>(
      {},
      { input_tokens: 3 },
      { input_tokens: 5, output_tokens: 7 },
    ),
  }),
);

describe("groups", () => {
  test("whatever the usage is cut by, each row counts in one group and only one", () => {
    fc.assert(
      fc.property(rows, fc.constantFrom(...BREAKDOWNS), (usage, by) => {
        const groups = toGroups(usage, { by, tagKey: "env" }, {});
        const sum = (of: (figures: Pick<TeamUsageRow, "requests" | "cost">) => number) => ({
          rows: usage.reduce((total, one) => total + of(one), 0),
          groups: groups.reduce((total, one) => total + of(one), 0),
        });
        const requests = sum((one) => one.requests);
        const cost = sum((one) => one.cost ?? 0);
        expect(requests.groups).toBe(requests.rows);
        expect(cost.groups).toBe(cost.rows);
        expect(new Set(groups.map(({ id }) => id)).size).toBe(groups.length);
      }),
    );
  });

  test("a group costs nothing only where something cost nothing: without any price it is unpriced, never $0", () => {
    const used = { units: { input_tokens: 10 } };
    const [unpriced, free, partial, unused] = toGroups(
      [
        row({ model: "unpriced", ...used }),
        row({ model: "free", cost: 0, ...used }),
        row({ model: "partial", cost: 2, ...used }),
        row({ model: "partial", client: "curl", ...used }),
        row({ model: "unused", cancelled: 1 }),
      ],
      { by: "model", tagKey: null },
      {},
    );
    expect(unpriced).toMatchObject({ cost: null, hasUnpriced: true });
    expect(free).toMatchObject({ cost: 0, hasUnpriced: false });
    expect(partial).toMatchObject({ cost: 2, hasUnpriced: true, requests: 2 });
    expect(unused).toMatchObject({ cost: null, hasUnpriced: false });
  });

  test("a row without the tag is in a group that no filter asks for, and never among those with a series", () => {
    const usage = [row({ tags: ["app:web"], cost: 1 }), row({ cost: 5 })];
    const groups = rankGroups(toGroups(usage, { by: "app", tagKey: null }, {}), "cost");
    expect(groups.map(({ id, label, patch }) => ({ id, label, patch }))).toEqual([
      { id: NONE_ID, label: "untagged", patch: null },
      { id: "web", label: "web", patch: { tag: ["app:web"] } },
    ]);
    expect(toTopGroups(groups, "cost", 8).map(({ id }) => id)).toEqual(["web"]);
  });

  test("a tag beside four others is not asked for: a question has four at most", () => {
    const filters = { tag: ["a:1", "b:1", "c:1", "app:web"] };
    const usage = [row({ tags: ["app:web"] }), row({ tags: ["app:cli"] })];
    const patches = toGroups(usage, { by: "app", tagKey: null }, filters).map(({ patch }) => patch);
    expect(patches).toEqual([{ tag: filters.tag }, null]);
  });

  test("the largest come first by what is counted, those without a number last, and equals by name", () => {
    const usage = [
      row({ model: "b", cost: 1, requests: 9 }),
      row({ model: "none", requests: 50 }),
      row({ model: "a", cost: 1, requests: 9 }),
      row({ model: "c", cost: 7 }),
    ];
    const groups = toGroups(usage, { by: "model", tagKey: null }, {});
    expect(rankGroups(groups, "cost").map(({ id }) => id)).toEqual(["c", "a", "b", "none"]);
    expect(rankGroups(groups, "requests").map(({ id }) => id)).toEqual(["none", "a", "b", "c"]);
    expect(toTopGroups(rankGroups(groups, "cost"), "cost", 2).map(({ id }) => id)).toEqual(["c", "a"]);
  });

  test("the tag that is used most is told apart first, and app, which has a cut of its own, last", () => {
    const usage = [
      row({ tags: ["app:web", "env:prod"], requests: 90 }),
      row({ tags: ["team:care"], requests: 95 }),
    ];
    expect(toTagKeys(usage)).toEqual(["team", "env", "app"]);
  });
});

describe("clients", () => {
  test("one that begins with another belongs to it, as the filter finds both", () => {
    const roots = toClientRoots(["curl/8.1", "curl/8.10", "curl/8.1 (x)", "curl/7", null, ""]);
    expect(Object.fromEntries(roots)).toEqual({
      "curl/7": "curl/7",
      "curl/8.1": "curl/8.1",
      "curl/8.10": "curl/8.1",
      "curl/8.1 (x)": "curl/8.1",
    });
  });

  test("no root begins with another, so that no request is asked for twice", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom("a", "b", "/", "😀") })), (clients) => {
        const found = toClientRoots(clients);
        const roots = [...new Set(found.values())];
        for (const root of roots) {
          expect(roots.filter((other) => other.startsWith(root))).toEqual([root]);
        }
        for (const client of clients) expect(client.startsWith(found.get(client) ?? "")).toBe(true);
      }),
    );
  });
});

describe("the stack", () => {
  const groups = toGroups(
    [row({ model: "fast", cost: 0.3, requests: 2 }), row({ model: "smart", cost: 0.2 })],
    { by: "model", tagKey: null },
    {},
  );
  const [fast] = groups;

  function stack(total: UsageSeries, part: UsageSeries) {
    if (fast === undefined) return expect.unreachable("no group");
    return toStack({
      total,
      parts: [{ group: fast, series: part }],
      groups,
      measure: "cost",
      cut: { by: "model", tagKey: null },
    });
  }

  test("adds up to the total: what the parts leave is other", () => {
    const { series, buckets } = stack(
      days(bucket(1, { requests: 3, cost: 0.5 }), bucket(2, { requests: 1, cost: 0.25 })),
      days(bucket(1, { requests: 2, cost: 0.3 }), bucket(2, {})),
    );
    expect(series.map(({ id }) => id)).toEqual(["fast", OTHER_ID]);
    expect(buckets.map(({ values }) => values)).toEqual([
      [0.3, 0.2],
      [null, 0.25],
    ]);
  });

  test("never draws less than nothing, also when a part was counted later than the total", () => {
    const { series, buckets } = stack(
      days(bucket(1, { requests: 1, cost: 0.1 + 0.2 })),
      days(bucket(1, { requests: 2, cost: 0.4 })),
    );
    expect(series.map(({ id }) => id)).toEqual(["fast"]);
    expect(buckets[0]?.values).toEqual([0.4]);
    const equal = stack(
      days(bucket(1, { requests: 1, cost: 0.1 + 0.2 })),
      days(bucket(1, { requests: 1, cost: 0.3 })),
    );
    expect(equal.series.map(({ id }) => id)).toEqual(["fast"]);
  });

  test("a trend is 0 on a quiet day, and has a gap where what was used has no price", () => {
    const { trends } = stack(
      days(bucket(1, {}), bucket(2, { requests: 1 }), bucket(3, { requests: 1, cost: 0.5 })),
      days(bucket(2, { requests: 1 }), bucket(3, { requests: 1, cost: 0.5 })),
    );
    expect(trends.get("fast")).toEqual([0, null, 0.5]);
  });
});

describe("totals", () => {
  test("a cost that nobody knows stays unknown, and a unit that nobody reported is not 0", () => {
    const { cost, units, unpricedRequests } = toTotals([
      bucket(1, { requests: 2, unpriced_requests: 2, units: { input_tokens: 4 } }),
      bucket(2, { requests: 1, unpriced_requests: 1, units: { input_tokens: 0 } }),
    ]);
    expect({ cost, unpricedRequests }).toEqual({ cost: null, unpricedRequests: 3 });
    expect(units).toEqual({
      input_tokens: 4,
      output_tokens: null,
      cached_input_tokens: null,
      audio_seconds: null,
    });
  });

  test("the failed share counts all requests below, cancelled ones too, and is unknown without any", () => {
    expect(toFailedShare(toTotals([bucket(1, { requests: 4, ok: 2, cancelled: 1, failed: 1 })]))).toBe(0.25);
    expect(toFailedShare(toTotals([bucket(1, {})]))).toBeNull();
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
    expect(toMeasured(row({ units }), "tokens")).toBe(7);
    expect(toMeasured(row({ units: { audio_seconds: 8 } }), "tokens")).toBeNull();
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

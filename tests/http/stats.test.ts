import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { expectError } from "./support.ts";
import { bearer, CANCELLED, LIMITED, startTeam, UNREACHABLE, type Team, type Used } from "./team.ts";

const REPORTS = [
  "/stats/series",
  "/stats/summary",
  "/stats/requests",
  "/stats/requests/facets",
  "/stats/errors",
  "/stats/breakdown",
] as const;

let team: Team;
let used: readonly Used[];

beforeAll(async () => {
  team = await startTeam();
  const { alice, bob } = team;
  used = [
    { at: "2026-03-02T00:00:00Z", by: alice, tags: ["app:shop", "env:prod"] },
    { at: "2026-03-08T23:59:59.999999Z", by: alice, client: "100%_x/1", tags: ["app:shop"] },
    { at: "2026-03-09T00:00:00Z", by: bob, client: "1000_x/1", model: "slow" },
    { at: "2026-03-09T10:00:00Z", by: bob, provider: "deleted-id", endpoint: "embeddings" },
    { at: "2026-03-09T11:00:00Z", by: bob, provider: "deleted-too", client: null },
    { at: "2026-03-09T12:00:00Z", by: alice, provider: RELAY_PROVIDER, endpoint: "/v1/messages" },
    {
      at: "2026-03-09T13:00:00Z",
      by: alice,
      provider: RELAY_PROVIDER,
      endpoint: "/v1/models",
      model: null,
      upstreamName: null,
      usage: null,
      prices: {},
      costPico: null,
    },
    { at: "2026-03-10T10:00:00Z", by: bob, ...LIMITED, durationUs: 999_999 },
    { at: "2026-03-10T11:00:00Z", by: bob, ...UNREACHABLE, provider: "other", durationUs: 120_000_000 },
    { at: "2026-03-10T12:00:00Z", by: bob, ...CANCELLED, prices: {}, costPico: null, unpriced: true },
    { at: "2026-03-11T11:59:59Z", by: alice, tags: ["app:shop", "env:prod", "team:a", "zone:b"] },
  ];
  await team.record(...used);
});
afterAll(() => team.stop());

describe("team statistics", () => {
  test("are shown to a member whole, not its own part of them", async () => {
    const page = await team.read("/stats/requests", bearer(team.alice));
    expect([page.total, page.requests.length]).toEqual([used.length, used.length]);
  });

  test.each(REPORTS)("%s is not for a cache", async (path) => {
    expect((await team.get(path)).headers.get("cache-control")).toBe("no-store");
  });
});

describe("a filter", () => {
  const filters: [string, (event: Used) => boolean][] = [
    ["principal=alice", ({ by }) => by === team.alice],
    ["principal=Alice", () => false],
    ["principal=ali", () => false],
    ["key=KEY-OF-BOB", ({ by, provider }) => by === team.bob && provider !== RELAY_PROVIDER],
    ["key=token", () => false],
    ["provider=up", ({ provider }) => provider === undefined],
    ["provider=(deleted)", ({ provider }) => provider?.startsWith("deleted") === true],
    ["provider=deleted-id", () => false],
    ["provider=transparent:messages", ({ provider }) => provider === RELAY_PROVIDER],
    ["provider=transparent%3Amessages&key=KEY-OF-ALICE", () => false],
    ["model=slow", ({ model }) => model === "slow"],
    ["model=fas", () => false],
    ["client=100%25_", ({ client }) => client === "100%_x/1"],
    ["client=100%25", ({ client }) => client === "100%_x/1"],
    ["client=1000_x", ({ client }) => client === "1000_x/1"],
    ["client=sdk", ({ client }) => client === undefined],
    ["client=SDK", () => false],
    ["client=_dk", () => false],
    ["tag=app:shop", ({ tags = [] }) => tags.includes("app:shop")],
    ["tag=%20App:SHOP%20", ({ tags = [] }) => tags.includes("app:shop")],
    ["tag=app:shop&tag=env:prod", ({ tags = [] }) => tags.includes("env:prod")],
    ["tag=app:shop&tag=env:prod&tag=team:a&tag=zone:b", ({ tags = [] }) => tags.length === 4],
    ["tag=app:shop&tag=app:other", () => false],
    ["tag=app", () => false],
    ["tag=app:%25", () => false],
    ["tag=&tag=&tag=&tag=&tag=&tag=app:shop", ({ tags = [] }) => tags.includes("app:shop")],
    ["outcome=ok", ({ outcome = "ok" }) => outcome === "ok"],
    ["outcome=cancelled", ({ outcome }) => outcome === "cancelled"],
    ["outcome=upstream_error", ({ outcome }) => outcome === "upstream_error"],
    ["outcome=unreachable", ({ outcome }) => outcome === "unreachable"],
    ["outcome=failed", ({ outcome = "ok" }) => outcome !== "ok"],
    ["principal=&key=&provider=&model=&client=&tag=&outcome=&since=&until=&bucket=", () => true],
    ["since=2026-03-09", ({ at }) => at >= "2026-03-09"],
    ["until=2026-03-09", ({ at }) => at < "2026-03-09"],
    ["since=2026-03-08T23:59:59.999999Z&until=2026-03-09", ({ at }) => at.startsWith("2026-03-08")],
    ["since=2026-03-09T01:00:00+01:00&until=2026-03-09T10:00", ({ model }) => model === "slow"],
    ["since=2026-03-09T01:00:00%2B01:00&until=2026-03-09T10:00", ({ model }) => model === "slow"],
    ["since=2026-03-10&until=2026-03-10", () => false],
    ["since=2026-03-10&until=2026-03-09", () => false],
    ["principal=bob&outcome=failed&model=fast&since=2026-03-10T11:00:00Z", ({ at }) => at >= "2026-03-10T11"],
  ];

  test.each(filters)(
    "?%s matches the same events in the log, the series and the errors",
    async (text, keeps) => {
      const query = text.replace("KEY-OF-ALICE", team.alice.keyId).replace("KEY-OF-BOB", team.bob.keyId);
      const isLate = query.includes("principal=bob&outcome=failed");
      const kept = used.filter((event) => keeps(event) && !(isLate && event.by !== team.bob));
      const log = await team.read(`/stats/requests?${query}`);
      const series = await team.read(`/stats/series?${query}`);
      const errors = await team.read(`/stats/errors?${query}`);
      const summary = await team.read(`/stats/summary?${query}`);
      const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
      const instants = kept.map(({ at }) => new Date(at).toISOString().slice(0, 19)).reverse();
      expect({
        log: log.requests.map(({ ts }: { ts: string }) => ts.slice(0, 19)),
        total: log.total,
        series: sum(series.series.map(({ requests }: { requests: number }) => requests)),
        errors: sum(errors.breakdown.map(({ requests }: { requests: number }) => requests)),
        summary: sum(summary.usage.map(({ requests }: { requests: number }) => requests)),
      }).toEqual({
        log: instants,
        total: kept.length,
        series: kept.length,
        errors: kept.length,
        summary: kept.filter(
          ({ outcome = "ok", model }) => model !== null && (outcome === "ok" || outcome === "cancelled"),
        ).length,
      });
    },
  );

  const refusals: [string, string, string][] = [
    ["outcome=nope", "invalid_outcome", "outcome"],
    ["outcome=OK", "invalid_outcome", "outcome"],
    ["since=yesterday", "invalid_date", "since"],
    ["since=2026-02-30", "invalid_date", "since"],
    ["until=2026-03-09T25:00", "invalid_date", "until"],
    ["tag=a:1&tag=b:1&tag=c:1&tag=d:1&tag=e:1", "invalid_request", "tag"],
  ];
  const ofAdmins = ["/admin/v1/requests", "/admin/v1/usage/summary", "/admin/v1/usage/series"];
  describe.each([...REPORTS, ...ofAdmins])("of %s", (path) => {
    test.each(refusals)("is refused for ?%s with 400 %s, param %s", async (query, code, param) => {
      await expectError(await team.get(`${path}?${query}`), `400 ${code}`, param);
    });
  });

  const series = ["/stats/series", "/stats/errors", "/my/usage/series", "/admin/v1/usage/series"];
  test.each(series)("%s refuses a window and a bucket that are none", async (path) => {
    for (const [query, code, param] of [
      ["bucket=minute", "invalid_bucket", "bucket"],
      ["since=nope", "invalid_date", "since"],
      ["until=nope", "invalid_date", "until"],
    ] as const)
      await expectError(await team.get(`${path}?${query}`), `400 ${code}`, param);
  });

  test.each(series)("%s refuses more than 1000 buckets", async (path) => {
    const refused = ["400 range_too_large", "since"] as const;
    await expectError(await team.get(`${path}?since=1970-01-01&bucket=day`), ...refused);
    const thousandHours = "since=2026-01-01T00:00Z&until=2026-02-11T16:00Z&bucket=hour";
    expect((await team.read(`${path}?${thousandHours}`)).series.length).toBe(1000);
    const oneMore = "since=2026-01-01T00:00Z&until=2026-02-11T16:00:00.000001Z&bucket=hour";
    await expectError(await team.get(`${path}?${oneMore}`), ...refused);
  });

  test("a bucket means nothing where there is no series", async () => {
    expect((await team.get("/stats/summary?bucket=minute")).status).toBe(200);
    expect((await team.get("/stats/requests?bucket=minute")).status).toBe(200);
  });
});

test("GET /stats/requests as CSV reads the ledger to its end, every event once and newest first", async () => {
  const crowd = await startTeam();
  const events = Array.from({ length: 1001 }, (_, index) => ({
    at: `2026-03-10T00:00:00.${String(index).padStart(6, "0")}Z`,
    by: index % 2 === 0 ? crowd.alice : crowd.bob,
  }));
  await crowd.record(...events);
  const read = async (query: string) => {
    const response = await crowd.get(`/stats/requests?${query}`, { ...crowd.asAdmin, accept: "text/csv" });
    const lines = (await response.text()).split("\r\n").slice(1, -1);
    return lines.map((line) => line.split(",")[1]);
  };
  const newestFirst = events.map(({ at }) => at).toReversed();
  expect(await read("")).toEqual(newestFirst);
  expect(await read("principal=bob")).toEqual(newestFirst.filter((_, index) => index % 2 === 1));
  expect(await read("since=2026-03-10T00:00:00.000001Z&until=2026-03-10T00:00:00.000502Z")).toEqual(
    newestFirst.slice(499, 1000),
  );
  await crowd.stop();
});

describe("GET /stats/series", () => {
  test("has a bucket for every day from the first event to today, also the quiet ones", async () => {
    const { bucket, series } = await team.read("/stats/series");
    expect(bucket).toBe("day");
    expect(series.map(({ start, requests }: any) => [start.slice(0, 10), requests])).toEqual([
      ["2026-03-02", 1],
      ["2026-03-03", 0],
      ["2026-03-04", 0],
      ["2026-03-05", 0],
      ["2026-03-06", 0],
      ["2026-03-07", 0],
      ["2026-03-08", 1],
      ["2026-03-09", 5],
      ["2026-03-10", 3],
      ["2026-03-11", 1],
    ]);
  });

  test("spells a bucket with exactly its keys; an empty one costs null and has no units, never zero", async () => {
    const { series } = await team.read("/stats/series?since=2026-03-07&until=2026-03-11");
    const empty = {
      start: "2026-03-07T00:00:00.000000Z",
      requests: 0,
      ok: 0,
      cancelled: 0,
      failed: 0,
      unpriced_requests: 0,
      cost: null,
      units: {},
    };
    expect(series[0]).toEqual(empty);
    expect(series[2]).toMatchObject({ requests: 5, ok: 5, cost: 0.000048 });
    expect(series[3]).toEqual({
      ...empty,
      start: "2026-03-10T00:00:00.000000Z",
      requests: 3,
      cancelled: 1,
      failed: 2,
      unpriced_requests: 1,
      units: { input_tokens: 6, output_tokens: 2, cached_input_tokens: 4 },
    });
  });

  test("with nothing that matches is empty without since, and empty buckets with one", async () => {
    expect(await team.read("/stats/series?principal=nobody")).toEqual({ bucket: "day", series: [] });
    const { series } = await team.read("/stats/series?principal=nobody&since=2026-03-10&bucket=day");
    expect(series.map(({ requests, cost }: any) => [requests, cost])).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(await team.read("/stats/series?since=2026-03-10&until=2026-03-10")).toEqual({
      bucket: "day",
      series: [],
    });
  });
});

describe("GET /stats/series by group", () => {
  test("tells the groups beside the totals, with exactly their keys, and what is beyond top as other", async () => {
    const window = "since=2026-03-09&until=2026-03-11";
    const plain = await team.read(`/stats/series?${window}`);
    const { groups, other, ...rest } = await team.read(`/stats/series?${window}&group_by=tag:app&top=1`);
    expect(rest).toEqual({ ...plain, group_by: "tag:app", order: "cost", group_count: 1 });
    expect(other).toBeNull();
    expect(groups).toHaveLength(1);
    const { series, ...figures } = groups[0];
    expect(figures).toEqual({
      value: null,
      requests: 8,
      ok: 5,
      cancelled: 1,
      failed: 2,
      unpriced_requests: 1,
      cost: 0.000048,
      units: { input_tokens: 30, output_tokens: 10, cached_input_tokens: 20 },
    });
    expect(series).toEqual(plain.series);

    const byProvider = await team.read("/stats/series?group_by=provider&order=requests&top=2");
    expect(byProvider.groups.map(({ value, requests }: any) => [value, requests])).toEqual([
      ["up", 6],
      // Two that are gone share a name.
      ["(deleted)", 2],
    ]);
    expect([byProvider.group_count, byProvider.other.requests]).toEqual([4, 3]);
    expect(Object.keys(byProvider.other)).toEqual(Object.keys(byProvider.groups[0]).slice(1));
  });

  test("without group_by is the same bytes as ever, whatever top and order say", async () => {
    const text = async (query: string) =>
      (await team.get(`/stats/series?${query}`, bearer(team.alice))).text();
    const plain = await text("bucket=week");
    for (const query of ["bucket=week&top=3&order=x", "bucket=week&group_by="]) {
      expect(await text(query)).toBe(plain);
    }
    expect(Object.keys(JSON.parse(plain))).toEqual(["bucket", "series"]);
  });

  test.each([
    ["group_by=endpoint", "group_by"],
    ["group_by=tag", "group_by"],
    ["group_by=tag:", "group_by"],
    ["group_by=tag:a:b", "group_by"],
    ["group_by=model&order=size", "order"],
  ])("?%s is 400 invalid_request, param %s", async (query, param) => {
    await expectError(
      await team.get(`/stats/series?${query}`, bearer(team.alice)),
      "400 invalid_request",
      param,
    );
  });
});

describe("filters of several values and of single requests", () => {
  const totalOf = async (query: string) => (await team.read(`/stats/requests?limit=1&${query}`)).total;

  test("match any value of one filter and all filters together, in every report alike", async () => {
    const both = await totalOf("client=100&client=sdk");
    expect(both).toBe((await totalOf("client=100")) + (await totalOf("client=sdk")));
    const filter = "principal=alice&principal=bob&model=slow&model=fast&provider=up&provider=(deleted)";
    const requests = used.length - 3;
    expect(await totalOf(filter)).toBe(requests);
    expect(await totalOf(`${filter}&client=nobody`)).toBe(0);
    const sum = (rows: any[]) => rows.reduce((total, row) => total + row.requests, 0);
    expect(sum((await team.read(`/stats/series?${filter}`)).series)).toBe(requests);
    expect(sum((await team.read(`/stats/errors?${filter}`)).breakdown)).toBe(requests);
    expect((await team.read("/stats/requests/facets?model=slow&model=fast")).models).toEqual([
      "fast",
      "slow",
    ]);
  });

  test("find what failed in one way, what cost or lasted so much and what was unpriced, also as CSV", async () => {
    const { requests } = await team.read("/stats/requests?outcome=failed");
    for (const { error_kind: kind, status_code: status } of requests) {
      const same = requests.filter((one: any) => one.error_kind === kind && one.status_code === status);
      const query = `outcome=failed&status=${status}${kind === null ? "" : `&error_kind=${kind}`}`;
      expect(await totalOf(query)).toBe(same.length);
    }
    expect(await totalOf("unpriced=true")).toBe(1);
    expect(await totalOf("min_duration_ms=120000&max_duration_ms=120000")).toBe(1);
    const costly = await totalOf("min_cost=0.000012");
    expect(costly).toBeGreaterThan(0);
    expect(await totalOf("min_cost=0.000012000001")).toBe(0);
    const csv = await team.get("/stats/requests?min_cost=0.000012", {
      ...bearer(team.alice),
      accept: "text/csv",
    });
    expect((await csv.text()).trimEnd().split("\r\n")).toHaveLength(costly + 1);
    const [{ requests: unpriced }] = (await team.read("/stats/series?unpriced=true&bucket=month")).series;
    expect(unpriced).toBe(1);
  });

  test("order the log, and refuse an order where it cannot be given", async () => {
    const at = async (query: string) =>
      (await team.read(`/stats/requests?${query}`)).requests.map(({ ts }: any) => ts);
    const newest = await at("");
    expect(await at("order=oldest")).toEqual(newest.toReversed());
    expect((await at("order=duration"))[0]).toBe("2026-03-10T11:00:00.000000Z");
    const csv = { ...bearer(team.alice), accept: "text/csv" };
    for (const [query, headers] of [
      ["order=size", bearer(team.alice)],
      ["order=cost&after=", bearer(team.alice)],
      ["order=cost", csv],
    ] as const) {
      const refused = await team.get(`/stats/requests?${query}`, headers);
      await expectError(refused, "400 invalid_request", "order");
    }
    expect((await team.get("/stats/requests?order=cost&limit=2", csv)).status).toBe(200);
  });
});

describe("GET /stats/summary", () => {
  test("has a row per principal, provider, model, endpoint, client and tags, in that order", async () => {
    const { usage } = await team.read("/stats/summary");
    expect(
      usage.map((row: any) => [row.principal, row.provider, row.model, row.endpoint, row.client, row.tags]),
    ).toEqual([
      ["alice", "transparent:messages", "fast", "/v1/messages", "sdk/1.0", []],
      ["alice", "up", "fast", "chat", "100%_x/1", ["app:shop"]],
      ["alice", "up", "fast", "chat", "sdk/1.0", ["app:shop", "env:prod"]],
      ["alice", "up", "fast", "chat", "sdk/1.0", ["app:shop", "env:prod", "team:a", "zone:b"]],
      ["bob", "(deleted)", "fast", "chat", null, []],
      ["bob", "(deleted)", "fast", "embeddings", "sdk/1.0", []],
      ["bob", "up", "fast", "chat", "sdk/1.0", []],
      ["bob", "up", "slow", "chat", "1000_x/1", []],
    ]);
  });

  test("spells a row with exactly its keys, its app, and the usage that was reported, normalised", async () => {
    const { usage } = await team.read("/stats/summary?client=100");
    const row = {
      model: "fast",
      endpoint: "chat",
      requests: 1,
      cancelled: 0,
      cost: 0.000012,
      units: { input_tokens: 6, output_tokens: 2, cached_input_tokens: 4 },
      principal: "alice",
      provider: "up",
      client: "100%_x/1",
      tags: ["app:shop"],
      app: "shop",
    };
    expect(usage).toEqual([
      row,
      { ...row, model: "slow", principal: "bob", client: "1000_x/1", tags: [], app: "untagged" },
    ]);
  });

  test("keeps what was cancelled, unpriced is null, and leaves failures and calls without a model out", async () => {
    const { usage } = await team.read("/stats/summary?since=2026-03-10&until=2026-03-11");
    expect(usage).toMatchObject([{ requests: 1, cancelled: 1, cost: null }]);
    expect(await team.read("/stats/summary?outcome=upstream_error")).toEqual({ usage: [] });
  });
});

describe("GET /stats/requests/facets", () => {
  test("lists what there is in the window, failures included, sorted by code unit", async () => {
    const { alice, bob } = team;
    const { id: deletedId } = await deletedKey();
    const suffixOf = (key: string) => key.slice(-4);
    const facets = await team.read("/stats/requests/facets?until=2026-03-12");
    expect(facets).toEqual({
      principals: ["alice", "bob"],
      keys: [
        { id: alice.keyId, label: "", key_suffix: suffixOf(alice.key), principal: "alice" },
        { id: bob.keyId, label: "", key_suffix: suffixOf(bob.key), principal: "bob" },
      ].sort((left, right) => (left.id < right.id ? -1 : 1)),
      providers: ["(deleted)", "other", "transparent:messages", "up"],
      models: ["fast", "slow"],
      clients: ["100%_x/1", "1000_x/1", "sdk/1.0"],
      tags: ["app:shop", "env:prod", "team:a", "zone:b"],
      truncated: {
        principals: false,
        keys: false,
        providers: false,
        models: false,
        clients: false,
        tags: false,
      },
    });
    expect(JSON.stringify(facets)).not.toContain(deletedId);
  });

  test("with counts=1 says beside all else how many requests have each value, in the order of the values", async () => {
    const path = "/stats/requests/facets?until=2026-03-12";
    const { counts, ...rest } = await team.read(`${path}&counts=1`);
    const plain = await team.read(path);
    expect(JSON.stringify(rest)).toBe(JSON.stringify(plain));
    const keyCounts = plain.keys.map(({ principal }: { principal: string }) =>
      principal === "alice" ? 3 : 6,
    );
    // Of eleven two came by the relay, without a key; one has no model, one no client.
    expect(counts).toEqual({
      principals: [5, 6],
      keys: keyCounts,
      providers: [2, 1, 2, 6],
      models: [9, 1],
      clients: [1, 1, 8],
      tags: [3, 2, 1, 1],
    });
    const shop = await team.read(`${path}&counts=1&tag=app:shop&since=2026-03-03`);
    expect([shop.principals, shop.counts.principals]).toEqual([["alice"], [2]]);
    expect([shop.tags, shop.counts.tags]).toEqual([plain.tags, [2, 1, 1, 1]]);
  });

  test.each(["0", "true", "", "2"])("with counts=%s says nothing of counts", async (text) => {
    const facets = await team.read(`/stats/requests/facets?counts=${text}`);
    expect(Object.keys(facets)).toEqual(Object.keys(await team.read("/stats/requests/facets")));
    expect(facets).not.toHaveProperty("counts");
  });

  test("shows a deleted key by its id, with neither label nor suffix", async () => {
    const { id } = await deletedKey();
    const { keys } = await team.read(`/stats/requests/facets?key=${id}`);
    expect(keys).toEqual([{ id, label: null, key_suffix: null, principal: "bob" }]);
  });

  test("obeys the window and every filter", async () => {
    const monday = await team.read("/stats/requests/facets?since=2026-03-09&until=2026-03-09T10:00");
    expect([monday.principals, monday.models, monday.clients, monday.tags]).toEqual([
      ["bob"],
      ["slow"],
      ["1000_x/1"],
      [],
    ]);
    const shop = await team.read("/stats/requests/facets?tag=APP:shop&principal=alice");
    expect([shop.providers, shop.keys.length]).toEqual([["up"], 1]);
    const none = await team.read("/stats/requests/facets?since=2026-03-10&until=2026-03-10");
    expect([none.principals, none.keys, none.tags]).toEqual([[], [], []]);
  });

  /** Used after the window of the other tests, by a key that is gone. */
  async function deletedKey() {
    const { keys } = team.deps;
    const { secret: key } = await keys.create({ principalId: team.bob.principal.id, label: "brief" }, null);
    await team.record({ at: "2026-04-01T00:00:00Z", by: team.bob, keyId: key.id });
    await keys.delete({ id: key.id }, null);
    return key;
  }
});

describe("GET /stats/errors", () => {
  test("counts each outcome per bucket, and breaks the same requests down with the time they took", async () => {
    const query = "since=2026-03-10&until=2026-03-12&principal=bob";
    const none = { "<1s": 0, "1-5s": 0, "5-15s": 0, "15-30s": 0, "30-60s": 0, "60-120s": 0, ">=120s": 0 };
    const cell = {
      provider: "up",
      model: "fast",
      endpoint: "chat",
      client: "sdk/1.0",
      tags: [],
      requests: 1,
    };
    expect(await team.read(`/stats/errors?${query}`)).toEqual({
      bucket: "day",
      series: [
        { start: "2026-03-10T00:00:00.000000Z", ok: 0, upstream_error: 1, unreachable: 1, cancelled: 1 },
        { start: "2026-03-11T00:00:00.000000Z", ok: 0, upstream_error: 0, unreachable: 0, cancelled: 0 },
      ],
      breakdown: [
        {
          ...cell,
          provider: "other",
          outcome: "unreachable",
          error_kind: "timeout",
          status_code: 502,
          avg_duration_ms: 120_000,
          last_seen: "2026-03-10T11:00:00.000000Z",
          bands: { ...none, ">=120s": 1 },
        },
        {
          ...cell,
          outcome: "cancelled",
          error_kind: null,
          status_code: 200,
          avg_duration_ms: 1500,
          last_seen: "2026-03-10T12:00:00.000000Z",
          bands: { ...none, "1-5s": 1 },
        },
        {
          ...cell,
          outcome: "upstream_error",
          error_kind: "rate_limit_error",
          status_code: 429,
          avg_duration_ms: 999.999,
          last_seen: "2026-03-10T10:00:00.000000Z",
          bands: { ...none, "<1s": 1 },
        },
      ],
    });
  });

  test("has the requests that went well beside the failures, model-less ones included", async () => {
    const { breakdown } = await team.read("/stats/errors?until=2026-03-12");
    const ok = breakdown.filter(({ outcome }: any) => outcome === "ok");
    expect(ok.reduce((sum: number, { requests }: any) => sum + requests, 0)).toBe(8);
    expect(ok.filter(({ model }: any) => model === null)).toMatchObject([{ endpoint: "/v1/models" }]);
  });
});

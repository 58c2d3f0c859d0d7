import { describe, expect, test } from "bun:test";
import { ProxyError } from "#kernel/errors.ts";
import { filterBy, parseUsageFilter, toProviderIds } from "#stats/filter.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";

const parse = (query: string) => parseUsageFilter(new URLSearchParams(query));

function refusalOf(query: string): [string, string | null] {
  try {
    parse(query);
  } catch (cause) {
    if (cause instanceof ProxyError) return [cause.code, cause.param];
    throw cause;
  }
  return ["accepted", null];
}

const NOTHING = { ...filterBy({}), providers: null };

describe("the filters of a report", () => {
  test("are ignored when absent or empty", () => {
    expect(parse("")).toEqual(NOTHING);
    expect(parse("principal=&key=&provider=&model=&client=&tag=&tag=%20&outcome=")).toEqual(NOTHING);
    expect(
      parse(
        "error_kind=&status=&unpriced=&min_cost=&max_cost=&min_duration_ms=&max_duration_ms=&model=&model=",
      ),
    ).toEqual(NOTHING);
  });

  test("take a name as it is, without folding, trimming or patterns", () => {
    expect(
      parse(
        "principal=Ann&key=k%201&provider=transparent%3Amessages&model=a%2Fb&client=%25_%20x&client_version=c%2F1.2",
      ),
    ).toEqual({
      ...NOTHING,
      principals: ["Ann"],
      keyIds: ["k 1"],
      providers: ["transparent:messages"],
      models: ["a/b"],
      clientPrefixes: ["%_ x"],
      clientVersions: ["c/1.2"],
    });
  });

  test("take a repeated parameter as any of its values, each once; the 21st answers 400 invalid_request with its name", () => {
    expect(parse("model=a&model=&model=b&model=a&error_kind=timeout&error_kind=interrupted")).toEqual({
      ...NOTHING,
      models: ["a", "b"],
      errorKinds: ["timeout", "interrupted"],
    });
    for (const param of [
      "principal",
      "key",
      "provider",
      "model",
      "client",
      "client_version",
      "outcome",
      "error_kind",
      "status",
    ]) {
      const many = Array.from({ length: 21 }, (_, index) => `${param}=${index + 400}`).join("&");
      expect(refusalOf(many)).toEqual(["invalid_request", param]);
    }
    const twenty = Array.from({ length: 20 }, (_, index) => `model=${index}`).join("&");
    expect(parse(`${twenty}&model=0&model=`).models).toHaveLength(20);
  });

  test("take a status code or a class of them, and answer 400 invalid_request for anything else", () => {
    expect(parse("tier=Flex&tier=priority%2Bfast&tier=default&tier=").tiers).toEqual([
      "flex",
      "priority+fast",
      "standard",
    ]);
    expect(parse("tier=").tiers).toBeNull();
    expect(parse("status=429&status=5xx").statuses).toEqual([
      { from: 429, to: 430 },
      { from: 500, to: 600 },
    ]);
    for (const status of ["42", "4290", "099", "4XX", "xxx", "4x", "-429", "429.0", "ok"]) {
      expect(refusalOf(`status=${status}`)).toEqual(["invalid_request", "status"]);
    }
  });

  test("take exact amounts, milliseconds and unpriced=true, and answer 400 invalid_request for what is none of these, or said twice", () => {
    expect(
      parse("min_cost=0.000000000001&max_cost=12&min_duration_ms=0.25&max_duration_ms=1500").rows,
    ).toEqual({
      isUnpriced: false,
      minCostPico: 1n,
      maxCostPico: 12_000_000_000_000n,
      minDurationUs: 250,
      maxDurationUs: 1_500_000,
    });
    expect(parse("unpriced=true").rows).toMatchObject({ isUnpriced: true, minCostPico: null });
    const refused = {
      min_cost: ["-1", "1e-6", "0.0000000000001", ".5", "1,5", "$1", "NaN"],
      max_cost: ["x", "1.", "1234567"],
      min_duration_ms: ["-1", "1s", "0.0001", "Infinity"],
      max_duration_ms: ["x"],
      unpriced: ["false", "1", "yes"],
    };
    for (const [param, values] of Object.entries(refused)) {
      for (const value of values) {
        const query = `${param}=${encodeURIComponent(value)}`;
        expect([query, ...refusalOf(query)]).toEqual([query, "invalid_request", param]);
      }
    }
    expect(refusalOf("min_cost=1&min_cost=2")).toEqual(["invalid_request", "min_cost"]);
  });

  test.each([
    ["ok", ["ok"]],
    ["upstream_error", ["upstream_error"]],
    ["unreachable", ["unreachable"]],
    ["cancelled", ["cancelled"]],
    ["failed", ["upstream_error", "unreachable", "cancelled"]],
    ["cancelled&outcome=ok", ["ok", "cancelled"]],
    ["failed&outcome=cancelled", ["upstream_error", "unreachable", "cancelled"]],
  ])("outcome=%s matches %j", (outcome, expected) => {
    expect<readonly string[] | null>(parse(`outcome=${outcome}`).outcomes).toEqual(expected);
  });

  test.each(["OK", "failure", "ok,cancelled", "__proto__", "constructor"])(
    "outcome=%s answers 400 invalid_outcome",
    (outcome) => {
      expect(refusalOf(`outcome=${outcome}`)).toEqual(["invalid_outcome", "outcome"]);
    },
  );

  test("normalise tags like the header's, and a pair that is none matches nothing instead of everything", () => {
    expect(parse("tag=%20App:Checkout%20&tag=env:prod&tag=app:checkout").tags).toEqual([
      "app:checkout",
      "env:prod",
    ]);
    expect(parse("tag=nonsense").tags).toEqual(["nonsense"]);
    expect(parse("tag=a:b:c").tags).toEqual(["a:b:c"]);
  });

  test("take four tags; a fifth answers 400 invalid_request with param tag", () => {
    const four = "tag=a:1&tag=b:2&tag=c:3&tag=d:4";
    expect(parse(four).tags).toEqual(["a:1", "b:2", "c:3", "d:4"]);
    expect(parse(`${four}&tag=`).tags.length).toBe(4);
    expect(refusalOf(`${four}&tag=a:1`)).toEqual(["invalid_request", "tag"]);
  });
});

describe("a provider filter", () => {
  const providers = [
    { id: "id-1", name: "openai" },
    { id: "id-2", name: "local" },
  ];

  test.each([
    [null, { include: null, exclude: [] }],
    [["openai"], { include: ["id-1"], exclude: [] }],
    [["openai", RELAY_PROVIDER], { include: ["id-1", RELAY_PROVIDER], exclude: [] }],
    [["OPENAI"], { include: [], exclude: [] }],
    [["id-1"], { include: [], exclude: [] }],
    [[RELAY_PROVIDER], { include: [RELAY_PROVIDER], exclude: [] }],
    [["(deleted)"], { include: null, exclude: ["id-1", "id-2", RELAY_PROVIDER] }],
    [["(deleted)", "openai"], { include: null, exclude: ["id-2", RELAY_PROVIDER] }],
  ])("%j means %j", (names, expected) => {
    expect(toProviderIds(names, providers)).toEqual(expected);
  });
});

import { describe, expect, test } from "bun:test";
import { ProxyError } from "#kernel/errors.ts";
import { parseUsageFilter, toProviderIds } from "#stats/filter.ts";
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

const NOTHING = {
  principal: null,
  keyId: null,
  provider: null,
  model: null,
  clientPrefix: null,
  tags: [],
  outcomes: null,
};

describe("the filters of a report", () => {
  test("are ignored when absent or empty", () => {
    expect(parse("")).toEqual(NOTHING);
    expect(parse("principal=&key=&provider=&model=&client=&tag=&tag=%20&outcome=")).toEqual(NOTHING);
  });

  test("take a name as it is, without folding, trimming or patterns", () => {
    expect(
      parse("principal=Ann&key=k%201&provider=transparent%3Amessages&model=a%2Fb&client=%25_%20x"),
    ).toEqual({
      ...NOTHING,
      principal: "Ann",
      keyId: "k 1",
      provider: "transparent:messages",
      model: "a/b",
      clientPrefix: "%_ x",
    });
  });

  test.each([
    ["ok", ["ok"]],
    ["upstream_error", ["upstream_error"]],
    ["unreachable", ["unreachable"]],
    ["cancelled", ["cancelled"]],
    ["failed", ["upstream_error", "unreachable", "cancelled"]],
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
    ["openai", { include: ["id-1"], exclude: [] }],
    ["OPENAI", { include: [], exclude: [] }],
    ["id-1", { include: [], exclude: [] }],
    [RELAY_PROVIDER, { include: [RELAY_PROVIDER], exclude: [] }],
    ["(deleted)", { include: null, exclude: ["id-1", "id-2", RELAY_PROVIDER] }],
  ])("%j means %j", (name, expected) => {
    expect(toProviderIds(name, providers)).toEqual(expected);
  });
});

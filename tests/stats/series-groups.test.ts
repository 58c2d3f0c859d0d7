import { describe, expect, test } from "bun:test";
import {
  GROUP_BUCKETS_MAX,
  GROUP_FIELDS,
  GROUPS_DEFAULT,
  GROUPS_MAX,
  parseSeriesGrouping,
} from "#stats/series-grouping.ts";
import { chooseGroups } from "#stats/series-groups.ts";
import type { SeriesFigures } from "#stats/store.ts";

const parse = (query: string) => parseSeriesGrouping(new URLSearchParams(query), GROUP_FIELDS);

describe("what a series is grouped by", () => {
  test("is a field or a tag's key, spelled like the header's; an empty one is none", () => {
    expect(parse("")).toBeNull();
    expect(parse("group_by=&top=3")).toBeNull();
    expect(parse("group_by=model")).toEqual({ by: { field: "model" }, order: "cost", top: GROUPS_DEFAULT });
    expect(parse("group_by=tag: Team")?.by).toEqual({ field: "tag", tagKey: "team" });
  });

  test.each([
    ["1", 1],
    [String(GROUPS_MAX), GROUPS_MAX],
    ["0", GROUPS_DEFAULT],
    [String(GROUPS_MAX + 1), GROUPS_DEFAULT],
    ["-1", GROUPS_DEFAULT],
    ["many", GROUPS_DEFAULT],
  ])("has at most top=%s groups, which out of range is the default", (text, top) => {
    expect(parse(`group_by=key&top=${text}`)?.top).toBe(top);
  });
});

function group(value: string | null, figures: Partial<SeriesFigures>) {
  const none = {
    ok: 0,
    cancelled: 0,
    upstreamError: 0,
    unreachable: 0,
    unpricedRequests: 0,
    pendingRequests: 0,
    costReportedPico: null,
  };
  return { value, figures: { ...none, requests: 1, costPico: null, units: {}, ...figures } };
}

describe("the groups that are told apart", () => {
  const named = (groups: readonly { readonly value: string | null }[]) => groups.map(({ value }) => value);

  test("are the largest, an unpriced one after one that cost nothing; equals by requests, then by value", () => {
    const groups = [
      group("unpriced", { requests: 9 }),
      group("b", { costPico: 5n }),
      group("a", { costPico: 5n }),
      group(null, { costPico: 5n }),
      group("busy", { costPico: 5n, requests: 2 }),
      group("free", { costPico: 0n }),
      // A difference that JSON numbers do not have.
      group("most", { costPico: 90_071_992_547_409_930_001n }),
      group("next", { costPico: 90_071_992_547_409_930_000n }),
    ];
    const { chosen, rest } = chooseGroups(groups, { by: { field: "model" }, order: "cost", top: 7 }, 1);
    expect(named(chosen)).toEqual(["most", "next", "busy", null, "a", "b", "free"]);
    expect(named(rest)).toEqual(["unpriced"]);
  });

  test("by tokens count all tokens, and audio not at all", () => {
    const groups = [
      group("spoken", { requests: 5, units: { audio_seconds: 1e6 } }),
      group("read", { units: { input_tokens: 2, cached_input_tokens: 3 } }),
      group("written", { units: { output_tokens: 4 } }),
    ];
    const { chosen } = chooseGroups(groups, { by: { field: "model" }, order: "tokens", top: 9 }, 1);
    expect(named(chosen)).toEqual(["read", "written", "spoken"]);
  });

  test("are fewer where their buckets would be too many, and never none", () => {
    const groups = Array.from({ length: 60 }, (_, index) => group(`m${index}`, { requests: index }));
    const count = (bucketCount: number) => {
      const { chosen, rest } = chooseGroups(
        groups,
        { by: { field: "model" }, order: "requests", top: GROUPS_MAX },
        bucketCount,
      );
      expect(chosen.length + rest.length).toBe(60);
      return chosen.length;
    };
    expect([count(0), count(30), count(1000), count(GROUP_BUCKETS_MAX * 2)]).toEqual([60, 60, 10, 1]);
  });
});

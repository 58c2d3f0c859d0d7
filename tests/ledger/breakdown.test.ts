import { describe, expect, test } from "bun:test";
import { parseBreakdown } from "#stats/breakdown-query.ts";
import type { Breakdown } from "#stats/store.ts";
import { readBreakdown } from "#storage/reports/breakdown.ts";
import { CONTEXT, openUsages } from "./reports.ts";
import { ENDING, EVERYTHING, NEW_YEAR_US, type RandomUsage, SUBJECT } from "./usage.ts";

const toUsages = (clients: readonly string[]): readonly RandomUsage[] =>
  clients.map((client, index) => ({
    subject: { ...SUBJECT, client, arrivedAtUs: NEW_YEAR_US + index },
    ending: { ...ENDING, outcome: "ok", durationUs: (index + 1) * 1000 },
  }));

function ask(
  usages: readonly RandomUsage[],
  query: string,
  limits?: Parameters<typeof readBreakdown>[1],
): Breakdown {
  using ledger = openUsages(usages);
  const breakdown = parseBreakdown(new URLSearchParams(query), ["client", "endpoint"]);
  return ledger.read(readBreakdown({ ...EVERYTHING, ...breakdown, context: CONTEXT }, limits));
}

const toValues = ({ rows }: Breakdown) => rows.map(({ value, figures }) => [value, figures.requests]);

describe("a breakdown", () => {
  const usages = toUsages(["a", "b", "b", "c", "c", "c"]);

  test("of more values than may be in memory tells the largest apart, and all of them make the total", () => {
    const whole = ask(usages, "by=client&sort=requests");
    const folded = ask(usages, "by=client&sort=requests", { sumsMax: 2 });
    expect(folded).toEqual(whole);
    const many = toUsages(Array.from({ length: 10_003 }, (_, index) => `client-${index % 10_002}`));
    const cut = ask(many, "by=client&sort=requests&limit=1", { sumsMax: 10 });
    expect(toValues(cut)).toEqual([["client-0", 2]]);
    expect(cut).toMatchObject({ rowCount: 10_002, truncated: true });
    expect(cut.total.requests).toBe(10_003);
    expect(cut.total.durationUs).toEqual({ p50: 5_002_000, p95: 9_503_000 });
  }, 20_000);

  test("of more requests than durations are read of has no percentiles, and says why", () => {
    const none = { p50: null, p95: null };
    const { rows, total, percentiles } = ask(usages, "by=endpoint", { durationsMax: 5 });
    expect(percentiles).toBe("too_many_requests");
    for (const figures of [total, ...rows.map((row) => row.figures)]) {
      expect(figures).toMatchObject({ requests: 6, durationUs: none, firstByteUs: none });
      expect(figures.cacheCost).toBeUndefined();
    }
    // Nor is it told what caches cost, which is never an estimate.
    expect(ask(usages, "by=endpoint&cache=1", { durationsMax: 5 }).total.cacheCost).toBeNull();
    expect(ask(usages, "by=endpoint&cache=1", { durationsMax: 6 }).total.cacheCost).not.toBeNull();
  });

  test("takes a limit like that of a page, and refuses what it cannot be by or sorted by, by name", () => {
    const parse = (query: string) => parseBreakdown(new URLSearchParams(query), ["model", "endpoint"]);
    for (const query of ["", "by=", "by=model&sort=&limit=0"]) {
      expect(parse(query)).toEqual({ by: { field: "model" }, sort: "cost", limit: 100 });
    }
    expect(parse("by=tag:App&sort=p95&limit=501")).toEqual({
      by: { field: "tag", tagKey: "app" },
      sort: "p95",
      limit: 100,
    });
    for (const query of ["by=principal", "by=tag:", "by=Model"]) {
      expect(() => parse(query)).toThrow(expect.objectContaining({ code: "invalid_request", param: "by" }));
    }
    expect(() => parse("by=model&sort=size")).toThrow(
      expect.objectContaining({ code: "invalid_request", param: "sort" }),
    );
  });
});

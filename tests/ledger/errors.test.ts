import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { readErrors } from "#storage/reports/errors.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, byFields, CONTEXT, decode, openUsages } from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

/** By what is never put together. */
function toTotals(breakdown: readonly any[]) {
  const endings = Map.groupBy(breakdown, ({ outcome, status_code }) => `${outcome} ${status_code}`);
  return [...endings.values()]
    .map((rows) => ({
      outcome: rows[0].outcome,
      status_code: rows[0].status_code,
      requests: rows.reduce((sum: number, row: any) => sum + row.requests, 0),
      slow: rows.reduce((sum: number, row: any) => sum + row.bands[">=120s"], 0),
      last_seen: rows.reduce((last: string, row: any) => (row.last_seen > last ? row.last_seen : last), ""),
    }))
    .sort(byFields(["outcome", "status_code"]));
}

describe("the report on errors", () => {
  test("of too many sums for memory has lost nothing of how requests ended, for every filter and window, and its series tells the same", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, queries, ...options }) => {
        using ledger = openUsages(usages, options);
        for (const query of queries) {
          const read = (sumsMax?: number) =>
            JSON.parse(
              decode(ledger.read(readErrors({ ...query, bucket: "day", context: CONTEXT }, sumsMax))),
            );
          const { series, breakdown } = read();
          const totals = toTotals(breakdown);
          expect({ query, totals: toTotals(read(2).breakdown) }).toEqual({ query, totals });
          // The series ends with the present bucket.
          if (query.window.untilUs === null) continue;
          for (const outcome of ["ok", "upstream_error", "unreachable", "cancelled"]) {
            const inSeries = series.reduce((sum: number, bucket: any) => sum + bucket[outcome], 0);
            const ended = totals.filter((row) => row.outcome === outcome);
            expect(inSeries).toBe(ended.reduce((sum, { requests }) => sum + requests, 0));
          }
        }
      }),
      { numRuns: 8 * scale },
    );
  }, 30_000);

  test("is spelled as decided, requests that went well included, relay calls without a model too", () => {
    const usages: RandomUsage[] = [
      { subject: { ...SUBJECT, model: null, upstreamName: null, client: null, tags: [] }, ending: ENDING },
      {
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + DAY_US + 1 },
        ending: {
          ...ENDING,
          outcome: "unreachable",
          errorKind: "timeout",
          statusCode: 502,
          durationUs: 120_000_001,
          usage: null,
        },
      },
    ];
    using ledger = openUsages(usages);
    const window = { sinceUs: null, untilUs: NEW_YEAR_US + 2 * DAY_US };
    const report = ledger.read(readErrors({ ...EVERYTHING, window, bucket: "day", context: CONTEXT }));
    expect(decode(report)).toBe(
      '{"bucket":"day","series":[' +
        '{"start":"2026-01-01T00:00:00.000000Z","ok":1,"upstream_error":0,"unreachable":0,"cancelled":0},' +
        '{"start":"2026-01-02T00:00:00.000000Z","ok":0,"upstream_error":0,"unreachable":1,"cancelled":0}],' +
        '"breakdown":[' +
        '{"provider":"renamed","model":null,"endpoint":"chat","client":null,"tags":[],"outcome":"ok","error_kind":null,' +
        '"status_code":200,"requests":1,"avg_duration_ms":1500,"last_seen":"2026-01-01T00:00:00.000000Z",' +
        '"bands":{"<1s":0,"1-5s":1,"5-15s":0,"15-30s":0,"30-60s":0,"60-120s":0,">=120s":0}},' +
        '{"provider":"renamed","model":"fast","endpoint":"chat","client":"curl/8.5","tags":["app:checkout"],' +
        '"outcome":"unreachable","error_kind":"timeout","status_code":502,"requests":1,"avg_duration_ms":120000.001,' +
        '"last_seen":"2026-01-02T00:00:00.000001Z",' +
        '"bands":{"<1s":0,"1-5s":0,"5-15s":0,"15-30s":0,"30-60s":0,"60-120s":0,">=120s":1}}]}',
    );
  });

  test("of more sums than may be in memory tells the most used, and the others together as (other), their kinds of error too", () => {
    const usages = ["a", "b", "c", "c"].map((client, index): RandomUsage => ({
      subject: { ...SUBJECT, client, arrivedAtUs: NEW_YEAR_US + index },
      ending: { ...ENDING, outcome: "upstream_error", errorKind: `kind_${client}`, statusCode: 500 },
    }));
    using ledger = openUsages(usages);
    const query = { ...EVERYTHING, bucket: "day", context: CONTEXT } as const;
    const folded = ledger.read(readErrors(query, 1));
    expect(folded.truncated).toBe(true);
    const other = {
      client: "(other)",
      tags: ["(other)"],
      error_kind: "(other)",
      status_code: 500,
      requests: 2,
    };
    expect(JSON.parse(decode(folded)).breakdown).toMatchObject([
      { ...other, model: SUBJECT.model },
      { client: "c", error_kind: "kind_c", requests: 2 },
    ]);
    expect(JSON.parse(decode(ledger.read(readErrors(query, 3)))).breakdown).toHaveLength(3);
    const filter = { ...EVERYTHING.filter, clientPrefixes: ["a"] };
    expect(JSON.parse(decode(ledger.read(readErrors({ ...query, filter }, 2)))).breakdown).toHaveLength(1);
    expect(ledger.reader.inTransaction).toBe(false);
  });
});

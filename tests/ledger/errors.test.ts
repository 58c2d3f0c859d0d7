import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { readErrors } from "#storage/reports/errors.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { scale } from "../support/scale.ts";
import {
  arbitraryCase,
  byFields,
  CONTEXT,
  decode,
  groupBy,
  nameProvider,
  select,
  writeCase,
} from "./reports.ts";
import type { RandomUsage } from "./usage.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-errors-"));
afterAll(() => rmSync(folder, { recursive: true }));

const KEY = [
  "provider",
  "model",
  "endpoint",
  "client",
  "tags",
  "outcome",
  "error_kind",
  "status_code",
  "failure",
];

function toKey(usage: RandomUsage) {
  const { model, endpoint, client, tags } = usage.subject;
  const { outcome, errorKind, statusCode, failure } = usage.ending;
  const subject = { provider: nameProvider(usage), model, endpoint, client, tags };
  const ending = { outcome, error_kind: errorKind, status_code: statusCode };
  return { ...subject, ...ending, ...(failure !== undefined && { failure }) };
}

function toBands(usages: readonly RandomUsage[]) {
  const count = (from: number, to: number) =>
    usages.filter(({ ending }) => ending.durationUs >= from * 1e6 && ending.durationUs < to * 1e6).length;
  return {
    "<1s": count(0, 1),
    "1-5s": count(1, 5),
    "5-15s": count(5, 15),
    "15-30s": count(15, 30),
    "30-60s": count(30, 60),
    "60-120s": count(60, 120),
    ">=120s": count(120, Number.POSITIVE_INFINITY),
  };
}

const REFUSED = "range_too_large";

function orRefused<Value>(step: () => Value): Value | typeof REFUSED {
  try {
    return step();
  } catch (cause) {
    if (cause instanceof ProxyError && cause.code === REFUSED) return REFUSED;
    throw cause;
  }
}

function bruteForce(usages: readonly RandomUsage[]) {
  return groupBy(usages, toKey)
    .map((group) =>
      Object.assign(toKey(group[0]!), {
        requests: group.length,
        avg_duration_ms: group.reduce((sum, { ending }) => sum + ending.durationUs, 0) / group.length / 1000,
        last_seen: formatInstant(Math.max(...group.map(({ subject }) => subject.arrivedAtUs))),
        bands: toBands(group),
      }),
    )
    .sort(byFields(KEY));
}

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
  test("breaks down what plain counting of the events says, for every filter and window, also where rows were removed", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, queries, ...options }) => {
        const { reader, writer } = writeCase(folder, { usages, ...options });
        for (const [index, query] of queries.entries()) {
          const wanted = index % 2 === 0 ? "day" : "hour";
          const report = orRefused(() =>
            readFrom(reader, readErrors({ ...query, bucket: wanted, context: CONTEXT })),
          );
          if (report === REFUSED) {
            // Of the buckets there are, only hours can be too many here.
            expect(wanted).toBe("hour");
            continue;
          }
          const { bucket, series, breakdown } = JSON.parse(decode(report));
          const counted = select(usages, query, report.snapped);
          expect({ query, bucket, breakdown }).toEqual({
            query,
            bucket: wanted,
            breakdown: bruteForce(counted),
          });
          const few = readFrom(reader, readErrors({ ...query, bucket: wanted, context: CONTEXT }, 2));
          expect(toTotals(JSON.parse(decode(few)).breakdown)).toEqual(toTotals(breakdown));
          // The series ends with the present bucket.
          if (query.window.untilUs === null) continue;
          for (const outcome of ["ok", "upstream_error", "unreachable", "cancelled"]) {
            const inSeries = series.reduce((sum: number, bucketOf: any) => sum + bucketOf[outcome], 0);
            expect(inSeries).toBe(counted.filter(({ ending }) => ending.outcome === outcome).length);
          }
        }
        reader.close();
        writer.close();
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
    const { reader, writer } = writeCase(folder, { usages, sealBeforeUs: 0, pruneBeforeUs: 0 });
    const window = { sinceUs: null, untilUs: NEW_YEAR_US + 2 * DAY_US };
    const report = readFrom(reader, readErrors({ ...EVERYTHING, window, bucket: "day", context: CONTEXT }));
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
    reader.close();
    writer.close();
  });

  test("says when it was last seen, to the microsecond", () => {
    const usages = [5, 9, 7].map((micros) => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + micros },
      ending: ENDING,
    }));
    const { reader, writer } = writeCase(folder, { usages, sealBeforeUs: 0, pruneBeforeUs: 0 });
    for (const untilUs of [null, NEW_YEAR_US + 10, NEW_YEAR_US + 9]) {
      const query = { ...EVERYTHING, window: { sinceUs: null, untilUs } };
      const { breakdown } = JSON.parse(
        decode(readFrom(reader, readErrors({ ...query, bucket: "day", context: CONTEXT }))),
      );
      const seen = untilUs === NEW_YEAR_US + 9 ? "7" : "9";
      expect(breakdown).toMatchObject([{ last_seen: `2026-01-01T00:00:00.00000${seen}Z` }]);
    }
    reader.close();
    writer.close();
  });

  test("of more sums than may be in memory tells the most used, and the others together as (other), their kinds of error too", () => {
    const usages = ["a", "b", "c", "c"].map((client, index): RandomUsage => ({
      subject: { ...SUBJECT, client, arrivedAtUs: NEW_YEAR_US + index },
      ending: { ...ENDING, outcome: "upstream_error", errorKind: `kind_${client}`, statusCode: 500 },
    }));
    const { reader, writer } = writeCase(folder, { usages, sealBeforeUs: 0, pruneBeforeUs: 0 });
    const query = { ...EVERYTHING, bucket: "day", context: CONTEXT } as const;
    const folded = readFrom(reader, readErrors(query, 1));
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
    expect(JSON.parse(decode(readFrom(reader, readErrors(query, 3)))).breakdown).toHaveLength(3);
    const filter = { ...EVERYTHING.filter, clientPrefixes: ["a"] };
    expect(JSON.parse(decode(readFrom(reader, readErrors({ ...query, filter }, 2)))).breakdown).toHaveLength(
      1,
    );
    expect(reader.inTransaction).toBe(false);
    reader.close();
    writer.close();
  });

  test("refuses more buckets than a series may have, and is empty for an empty ledger", () => {
    const { reader, writer } = writeCase(folder, { usages: [], sealBeforeUs: 0, pruneBeforeUs: 0 });
    const query = { ...EVERYTHING, bucket: "hour", context: CONTEXT } as const;
    expect(decode(readFrom(reader, readErrors(query)))).toBe('{"bucket":"hour","series":[],"breakdown":[]}');
    const window = { sinceUs: NEW_YEAR_US, untilUs: null };
    expect(() => readFrom(reader, readErrors({ ...query, window }))).toThrow(ProxyError);
    reader.close();
    writer.close();
  });
});

import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { groupRows, keepMostUsed, REPORT_ROWS_MAX } from "#stats/grouping.ts";
import type { SummaryPart } from "#stats/summary.ts";
import { encodeSummary } from "#stats/summary.ts";

const PART: SummaryPart = {
  subject: {
    principal: "alice",
    keyId: "key-1",
    providerId: "id-1",
    model: "fast",
    endpoint: "chat",
    client: null,
    tags: "app:shop,env:prod",
  },
  requests: 1,
  cancelled: 0,
  pending: 0,
  costPico: null,
  costReportedPico: null,
  totals: [null, null, null, null],
};
const CONTEXT = { nowUs: 0, providerNames: new Map([["id-1", "openai"]]) };

function encode(parts: readonly SummaryPart[], grouping: "own" | "admin" | "team", format: "json" | "csv") {
  const { chunks, truncated } = encodeSummary(parts, { grouping, format, context: CONTEXT });
  return { text: Buffer.concat(chunks).toString(), chunks, truncated };
}

const withSubject = (subject: Partial<SummaryPart["subject"]>): SummaryPart => ({
  ...PART,
  subject: { ...PART.subject, ...subject },
});

describe("a summary", () => {
  test("has exactly the fields of its grouping, and only units that were reported", () => {
    const part = { ...PART, costPico: 250_000n, totals: [0, null, null, 1_500_000] };
    const usage =
      '"requests":1,"cancelled":0,"cost":2.5e-7,"units":{"input_tokens":0,"audio_seconds":1.5}}]}';
    expect(encode([part], "own", "json").text).toBe(`{"usage":[{"model":"fast","endpoint":"chat",${usage}`);
    expect(encode([part], "admin", "json").text).toBe(
      `{"usage":[{"principal":"alice","model":"fast","endpoint":"chat",${usage}`,
    );
    expect(encode([part], "team", "json").text).toBe(
      '{"usage":[{"principal":"alice","provider":"openai","model":"fast","endpoint":"chat","client":null,' +
        `"tags":["app:shop","env:prod"],"app":"shop",${usage}`,
    );
  });

  test("merges what differs by key or by a deleted provider only, and keeps unpriced apart from free", () => {
    const parts = [
      { ...withSubject({ providerId: "gone-1" }), cancelled: 1 },
      { ...withSubject({ providerId: "gone-2", keyId: null }), costPico: 0n, totals: [null, 7, null, null] },
      withSubject({ providerId: "transparent:messages" }),
    ];
    expect(JSON.parse(encode(parts, "team", "json").text).usage).toMatchObject([
      { provider: "(deleted)", requests: 2, cancelled: 1, cost: 0, units: { output_tokens: 7 } },
      { provider: "transparent:messages", requests: 1, cost: null, units: {} },
    ]);
  });

  test("as CSV never lets a client name start a formula, and writes money as a plain decimal", () => {
    const part = { ...withSubject({ client: "=cmd|' /C calc'!A0", tags: "" }), costPico: 250_000n };
    expect(encode([part], "team", "csv").text.split("\r\n")[1]).toBe(
      "alice,openai,fast,chat,'=cmd|' /C calc'!A0,,untagged,1,0,0.00000025,,,,",
    );
  });

  test("of more rows than the limit keeps the most used, sorted as always, and says so", () => {
    const parts = Array.from({ length: REPORT_ROWS_MAX + 1 }, (_, index) => ({
      ...withSubject({ model: `m${String(index).padStart(6, "0")}` }),
      requests: index === 7 ? 1 : 2,
    }));
    const { text, chunks, truncated } = encode(parts, "own", "json");
    const models = JSON.parse(text).usage.map(({ model }: any) => model);
    expect(truncated).toBe(true);
    expect(models).toEqual(parts.filter((_, index) => index !== 7).map(({ subject }) => subject.model));
    const sizes = chunks.map((chunk) => chunk.byteLength);
    expect(Math.max(...sizes)).toBeLessThan(80_000);
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThanOrEqual(65_536);
  });
});

describe("grouping", () => {
  test("puts equal keys together, in the order of their parts, null first and texts by code unit", () => {
    const part = fc.oneof(fc.constant(null), fc.string({ unit: "binary", maxLength: 2 }));
    const arbitraryRow = fc.tuple(
      part,
      fc.constantFrom(null, "", "a", "Z", "\uffff", "🙂"),
      fc.integer({ min: 0, max: 12 }),
    );
    fc.assert(
      fc.property(fc.array(arbitraryRow, { maxLength: 40 }), (rows) => {
        const { groupOf, count } = groupRows(rows, [
          ([first]) => first,
          ([, second]) => second,
          ([, , third]) => third,
        ]);
        for (const [i, left] of rows.entries()) {
          for (const [j, right] of rows.entries()) {
            expect(Math.sign(groupOf[i]! - groupOf[j]!)).toBe(compareRows(left, right));
          }
        }
        expect(new Set(groupOf).size).toBe(count);
        expect(rows.length === 0 ? 0 : Math.max(...groupOf) + 1).toBe(count);
      }),
    );
  });

  test("stays exact when its parts have more values than a number could tell apart", () => {
    const rows = Array.from({ length: 6000 }, (_, index) => index);
    const pairPart = (row: number) => Math.floor(row / 2);
    // 3000 values five times over are more than 2^53; only the last part tells the two of a pair apart.
    const { groupOf, count } = groupRows(rows, [
      ...Array.from({ length: 5 }, () => pairPart),
      (row) => row % 2,
    ]);
    expect([count, [...groupOf]]).toEqual([6000, rows]);
  });

  test("keeps the first of equally used rows", () => {
    const rows = [1, 3, 1, 2, 3].map((requests, place) => ({ requests, place }));
    const kept = keepMostUsed(rows, 4);
    expect([kept.truncated, kept.rows.map(({ place }) => place)]).toEqual([true, [0, 1, 3, 4]]);
    expect(keepMostUsed(rows, 5)).toEqual({ rows, truncated: false });
  });
});

function compareRows(left: readonly (string | number | null)[], right: readonly (string | number | null)[]) {
  for (const [index, a] of left.entries()) {
    const b = right[index]!;
    if (a === b) continue;
    return a === null ? -1 : b === null ? 1 : a < b ? -1 : 1;
  }
  return 0;
}

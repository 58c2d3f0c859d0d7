import { describe, expect, test } from "bun:test";
import type { ErrorsPart } from "#stats/errors.ts";
import { encodeErrors } from "#stats/errors.ts";
import { REPORT_ROWS_MAX } from "#stats/grouping.ts";

const SERIES = { bucket: "day", buckets: [], snapped: null, truncated: false } as const;
const CONTEXT = { nowUs: 0, providerNames: new Map([["id-1", "openai"]]) };
const PART: ErrorsPart = {
  subject: {
    principal: "alice",
    keyId: "key-1",
    providerId: "id-1",
    model: "fast",
    endpoint: "chat",
    client: null,
    tags: "",
  },
  outcome: "upstream_error",
  errorKind: "http_500",
  failure: null,
  statusCode: 500,
  requests: 1,
  durationUs: 1_000_001,
  lastSeenUs: 5,
  bands: [0, 1, 0, 0, 0, 0, 0],
};

function encode(parts: readonly ErrorsPart[]) {
  const { chunks, truncated } = encodeErrors(SERIES, parts, CONTEXT);
  return { truncated, breakdown: JSON.parse(Buffer.concat(chunks).toString()).breakdown };
}

describe("the breakdown of errors", () => {
  test("adds what differs by principal, key or a deleted provider only: requests, durations, bands and the last seen", () => {
    const gone = { ...PART.subject, providerId: "gone-1" };
    const parts = [
      { ...PART, subject: gone },
      {
        ...PART,
        subject: { ...gone, principal: "bob", keyId: null, providerId: "gone-2" },
        requests: 2,
        durationUs: 1,
        lastSeenUs: 3,
        bands: [2, 0, 0, 0, 0, 0, 0],
      },
    ];
    expect(encode(parts).breakdown).toMatchObject([
      {
        provider: "(deleted)",
        requests: 3,
        avg_duration_ms: 1_000_002 / 3 / 1000,
        last_seen: "1970-01-01T00:00:00.000005Z",
        bands: { "<1s": 2, "1-5s": 1 },
      },
    ]);
    // What it was made from stays as it was.
    expect(PART.bands).toEqual([0, 1, 0, 0, 0, 0, 0]);
  });

  test("is sorted by its key, null first and status codes by size", () => {
    const parts = [
      { ...PART, statusCode: 1000 },
      PART,
      { ...PART, errorKind: null },
      { ...PART, subject: { ...PART.subject, model: null } },
    ];
    expect(encode(parts).breakdown.map((row: any) => [row.model, row.error_kind, row.status_code])).toEqual([
      [null, "http_500", 500],
      ["fast", null, 500],
      ["fast", "http_500", 500],
      ["fast", "http_500", 1000],
    ]);
  });

  test("of more rows than the limit keeps the most used and says so", () => {
    const parts = Array.from({ length: REPORT_ROWS_MAX + 1 }, (_, index) => ({
      ...PART,
      statusCode: index,
      requests: index === 3 ? 1 : 2,
    }));
    const { breakdown, truncated } = encode(parts);
    expect([truncated, breakdown.length, breakdown[3].status_code]).toEqual([true, REPORT_ROWS_MAX, 4]);
  });
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DURATION_BANDS } from "#stats/errors.ts";
import { TRANSPORT_ERRORS } from "#usage/event.ts";
import type { ErrorsRow } from "../../ui/api/reports.ts";
import {
  BANDS,
  toBandRows,
  toClientRoots,
  toClientRows,
  toErrorRows,
  toKindRows,
  toRowFilters,
} from "../../ui/pages/errors/error-rows.ts";
import { toOutcomeMeaning } from "../../ui/text/outcomes.ts";
import { toKindHelp } from "../../ui/pages/errors/kind-help.ts";
import { toQueryString } from "../../ui/search/query-string.ts";
import {
  FAILURES,
  NO_REQUESTS,
  toDrawnOutcomes,
  toShare,
  toShownOutcomes,
  toOutcomeCounts,
} from "../../ui/pages/errors/outcomes.ts";

const NO_BANDS: ErrorsRow["bands"] = {
  "<1s": 0,
  "1-5s": 0,
  "5-15s": 0,
  "15-30s": 0,
  "30-60s": 0,
  "60-120s": 0,
  ">=120s": 0,
};

/** Ten that went well within a second, unless it says otherwise. */
function row(given: Partial<ErrorsRow> = {}): ErrorsRow {
  const requests = given.requests ?? 10;
  return {
    provider: "lab",
    model: "small",
    endpoint: "chat",
    client: "curl/8",
    tags: [],
    outcome: "ok",
    error_kind: null,
    status_code: 200,
    requests,
    avg_duration_ms: 100,
    last_seen: "2026-11-20T10:00:00.000000Z",
    bands: { ...NO_BANDS, "<1s": requests },
    ...given,
  };
}

const limited = (given: Partial<ErrorsRow> = {}) =>
  row({ outcome: "upstream_error", error_kind: "rate_limit_error", status_code: 429, requests: 2, ...given });
const timedOut = (given: Partial<ErrorsRow> = {}) =>
  row({ outcome: "unreachable", error_kind: "timeout", status_code: 502, requests: 1, ...given });
const cancelled = (given: Partial<ErrorsRow> = {}) =>
  row({ outcome: "cancelled", status_code: 499, requests: 5, ...given });

describe("outcomes", () => {
  test("the failure rate is that of the requests that were not cancelled", () => {
    const counts = { ok: 6, upstream_error: 1, unreachable: 1, cancelled: 92 };
    expect(toShare(counts, FAILURES)).toBe(0.25);
    expect(toShare(counts, ["cancelled"])).toBe(0.92);
    expect(toShare(NO_REQUESTS, FAILURES)).toBeNull();
  });

  test("a series adds up to one counts", () => {
    const bucket = { start: "", ok: 1, upstream_error: 2, unreachable: 3, cancelled: 4 };
    expect(toOutcomeCounts({ series: [bucket, bucket] })).toEqual({
      ok: 2,
      upstream_error: 4,
      unreachable: 6,
      cancelled: 8,
    });
    expect(toOutcomeCounts({ series: [] })).toEqual(NO_REQUESTS);
  });

  test("without a filter the tables show failures and never what was cancelled; the bars show both, and ok on request", () => {
    expect(toShownOutcomes(undefined)).toEqual(["upstream_error", "unreachable"]);
    expect(toShownOutcomes(["failed"])).toEqual(["cancelled", "upstream_error", "unreachable"]);
    expect(toShownOutcomes(["cancelled"])).toEqual(["cancelled"]);
    expect(toShownOutcomes(["ok"])).toEqual([]);
    expect(toDrawnOutcomes(undefined, false)).toEqual(["cancelled", "upstream_error", "unreachable"]);
    expect(toDrawnOutcomes(undefined, true)[0]).toBe("ok");
    expect(toDrawnOutcomes(["unreachable"], false)).toEqual(["unreachable"]);
    expect(toDrawnOutcomes(["ok"], true)).toEqual(["ok"]);
  });
});

describe("rows of errors", () => {
  test("add clients and tags together, with the average weighted and the last of the stamps", () => {
    const rows = toErrorRows(
      [
        row(),
        limited({ requests: 1, avg_duration_ms: 100, last_seen: "2026-11-20T11:00:00.000000Z" }),
        limited({ requests: 3, avg_duration_ms: 300, client: "other", tags: ["app:x"] }),
      ],
      FAILURES,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      requests: 4,
      averageDurationMs: 250,
      lastSeen: "2026-11-20T11:00:00.000000Z",
    });
    expect(rows[0]?.share).toBe(4 / 14);
  });

  test("take their share of their own provider and model, and not of what was cancelled there", () => {
    const rows = toErrorRows(
      [
        row({ requests: 6 }),
        limited({ requests: 2 }),
        cancelled({ requests: 100 }),
        row({ requests: 1000, model: "another" }),
        row({ requests: 1000, provider: "elsewhere" }),
      ],
      FAILURES,
    );
    expect(rows.map(({ share }) => share)).toEqual([0.25]);
  });

  test("tell apart model, kind and status, the most frequent first, and hold nothing that was not asked for", () => {
    const breakdown = [
      row(),
      limited({ requests: 1 }),
      limited({ requests: 4, model: "another" }),
      limited({ requests: 3, status_code: 503 }),
      timedOut({ requests: 2 }),
      cancelled(),
    ];
    expect(toErrorRows(breakdown, FAILURES).map(({ requests }) => requests)).toEqual([4, 3, 2, 1]);
    expect(toErrorRows(breakdown, ["cancelled"])).toMatchObject([{ requests: 5, share: 5 / 21 }]);
    expect(toErrorRows(breakdown, [])).toEqual([]);
  });

  test("lose no request, share no more than all of a route, and are asked for by filters that match theirs alone", () => {
    const anyRow = fc
      .record({
        provider: fc.constantFrom("a", "b"),
        model: fc.constantFrom("x", "y", null),
        client: fc.constantFrom("curl", "curl/8", null),
        outcome: fc.constantFrom("ok" as const, "upstream_error" as const, "unreachable" as const),
        error_kind: fc.constantFrom("timeout", "http_500"),
        requests: fc.integer({ min: 1, max: 1000 }),
      })
      .map((given) => row(given));
    fc.assert(
      fc.property(fc.array(anyRow), (breakdown) => {
        const failed = breakdown.filter(({ outcome }) => outcome !== "ok");
        const expected = failed.reduce((sum, { requests }) => sum + requests, 0);
        const rows = toErrorRows(breakdown, FAILURES);
        expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(expected);
        expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
        const kinds = toKindRows(rows, FAILURES);
        expect(kinds.reduce((sum, { requests }) => sum + requests, 0)).toBe(expected);
        for (const { requests, filters } of [
          ...rows.map((one) => ({ requests: one.requests, filters: toRowFilters(one) })),
          ...kinds,
        ]) {
          const asked = new URLSearchParams(toQueryString({ ...filters }));
          const matching = breakdown.filter((one) =>
            [...asked.keys()].every((name) =>
              asked
                .getAll(name)
                .includes(String({ ...one, status: one.status_code }[name as "status" | "provider"])),
            ),
          );
          expect(matching.reduce((sum, one) => sum + one.requests, 0)).toBe(requests);
        }
        for (const { share } of rows) expect(share > 0 && share <= 1).toBe(true);
        const clients = toClientRows(breakdown, FAILURES);
        expect(clients.reduce((sum, { count }) => sum + count, 0)).toBe(expected);
        const cells = toBandRows(breakdown, { outcomes: FAILURES, measure: "failures" });
        expect(cells.flatMap(({ values }) => values).reduce((sum, value) => sum + value, 0)).toBe(expected);
      }),
    );
  });
});

describe("rows of clients", () => {
  test("tell what each ran into most often, and leave out who ran into nothing", () => {
    const rows = toClientRows(
      [
        row({ requests: 7 }),
        limited({ requests: 2 }),
        timedOut({ requests: 1, last_seen: "2026-11-20T12:00:00.000000Z" }),
        row({ client: "happy", requests: 50 }),
        timedOut({ client: null, requests: 1 }),
      ],
      FAILURES,
    );
    expect(rows).toEqual([
      {
        client: "curl/8",
        requests: 10,
        count: 3,
        share: 0.3,
        topKind: "rate_limit_error",
        lastSeen: "2026-11-20T12:00:00.000000Z",
      },
      expect.objectContaining({ client: null, count: 1, share: 1, topKind: "timeout" }),
    ]);
  });

  test("are filtered by how they begin, so one that begins with another is counted with it", () => {
    const rows = toClientRows([limited({ client: "curl/8" }), limited({ client: "curl/8.14" })], FAILURES);
    expect(rows.map(({ client, count }) => [client, count])).toEqual([["curl/8", 4]]);
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

describe("the heat map", () => {
  test("has the bands that the server tells apart, in its order", () => {
    expect(BANDS).toEqual([...DURATION_BANDS]);
  });

  test("counts failures, everything or the share of failures in each band, by provider and model", () => {
    const breakdown = [
      row({ requests: 3 }),
      limited({ requests: 1 }),
      timedOut({ requests: 2, bands: { ...NO_BANDS, ">=120s": 2 } }),
      cancelled({ requests: 4, bands: { ...NO_BANDS, "1-5s": 4 } }),
      row({ provider: "other", requests: 9 }),
    ];
    const toValues = (measure: "failures" | "all" | "share") =>
      toBandRows(breakdown, { outcomes: FAILURES, measure }).map(({ label, values }) => [label, values]);
    expect(toValues("failures")).toEqual([["lab · small", [1, 0, 0, 0, 0, 0, 2]]]);
    expect(toValues("all")).toEqual([
      ["lab · small", [4, 4, 0, 0, 0, 0, 2]],
      ["other · small", [9, 0, 0, 0, 0, 0, 0]],
    ]);
    expect(toValues("share")).toEqual([["lab · small", [0.25, 0, 0, 0, 0, 0, 1]]]);
  });
});

describe("what an error means", () => {
  test("a request that the server interrupted is not blamed on its provider", () => {
    const kind = { outcome: "unreachable", errorKind: "interrupted", statusCode: 502 } as const;
    const { meaning, advice } = toKindHelp(kind);
    for (const said of [meaning, advice, toOutcomeMeaning(kind.outcome, kind.errorKind)])
      expect(said).not.toMatch(/provider (was|runs)|unreachable|timed out/i);
    expect(toOutcomeMeaning("unreachable", "timeout")).toContain("The provider");
  });

  test("is said of everything that breaks on the way, and of what providers name most often", () => {
    const named = [
      ...TRANSPORT_ERRORS,
      "rate_limit_error",
      "rate_limit_exceeded",
      "insufficient_quota",
      "overloaded_error",
      "server_error",
      "invalid_request_error",
      "context_length_exceeded",
      "authentication_error",
      "permission_error",
      "not_found_error",
    ];
    const unknown = toKindHelp({ outcome: "upstream_error", errorKind: "never_heard_of", statusCode: 200 });
    for (const errorKind of named) {
      const help = toKindHelp({ outcome: "upstream_error", errorKind, statusCode: 200 });
      expect(help, errorKind).not.toEqual(unknown);
    }
  });

  test.each([
    ["http_429", 429, /rate limit/],
    ["http_503", 503, /capacity/],
    ["http_500", 500, /internal error/],
    ["http_599", 599, /internal error/],
    ["http_418", 418, /refused/],
    // The head said 200, the error within it 502: what it says itself counts.
    ["http_502", 200, /gateway/],
    ["never_heard_of", 401, /credential/],
    ["never_heard_of", 200, /after the answer had started/],
    [null, 404, /does not know/],
  ])("follows the kind %p, and where nobody knows it the status %p", (errorKind, statusCode, said) => {
    expect(toKindHelp({ outcome: "upstream_error", errorKind, statusCode }).meaning).toMatch(said);
  });

  test("is said of each kind once, with the requests of all routes", () => {
    const rows = toErrorRows(
      [limited({ requests: 1 }), limited({ model: "large", requests: 2 }), timedOut({ requests: 1 })],
      FAILURES,
    );
    const kinds = toKindRows(rows, FAILURES);
    expect(kinds.map(({ name, requests, share }) => [name, requests, share])).toEqual([
      ["rate_limit_error", 3, 0.75],
      ["timeout", 1, 0.25],
    ]);
    for (const { meaning, advice } of kinds) expect(meaning.endsWith(".") && advice.endsWith(".")).toBe(true);
    expect(toKindRows([], FAILURES)).toEqual([]);
  });
});

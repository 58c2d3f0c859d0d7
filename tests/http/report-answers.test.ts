import { afterEach, describe, expect, test } from "bun:test";
import net from "node:net";
import { ProxyError } from "#kernel/errors.ts";
import { formatInstant } from "#kernel/clock.ts";
import type { Page } from "#kernel/page.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { ReportNotes, ReportOptions, StatsQuery, StatsStore } from "#stats/store.ts";
import { call, expectError, openEndpoints, startHarness, type Harness } from "./support.ts";

/** The store's answers are given here: how answers are put on the wire, and what happens when nobody waits for them. */
const NO_NOTES: ReportNotes = { snapped: null, truncated: false };
const NOTES: ReportNotes = {
  snapped: { sinceUs: 86_400_000_000, untilUs: 172_800_000_001 },
  truncated: true,
};
const CSV = { accept: "text/csv" };
/** Requests that are answered meanwhile: whatever can still be read for another one has been by then. */
const STILL_TURNS = 200;

let harness: Harness;
afterEach(() => harness.stop());

async function start(stats: Partial<StatsStore>) {
  const unasked = () => Promise.reject(new Error("nobody was to ask this"));
  const store: StatsStore = {
    listRequests: unasked,
    listRecorded: unasked,
    readSeries: unasked,
    readGroupedSeries: unasked,
    readSummary: unasked,
    readBreakdown: unasked,
    readFacets: unasked,
    readErrors: unasked,
    readClientChanges: unasked,
    readRetryStorms: unasked,
    readMissingPrices: unasked,
    reconcile: unasked,
    readModelUse: unasked,
    readCostWindows: unasked,
    readBilledDay: unasked,
    readStatement: unasked,
    ...stats,
  };
  harness = await startHarness({ stats: store });
  harness.logLines.length = 0;
}

const get = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(harness.url + path, {
    ...init,
    headers: { authorization: `Bearer ${harness.adminKey}`, ...headers },
  });

const encode = (...texts: string[]) => texts.map((text) => new TextEncoder().encode(text));

test("every report is asked for in its caller's name, and one that waits too long is 503 reports_busy with retry-after", async () => {
  const askers: (string | undefined)[] = [];
  const busy = (...given: readonly unknown[]) => {
    const options = given.at(-1) as ReportOptions;
    askers.push(options.askerId);
    return Promise.reject(new ProxyError("reports_busy", "Try again.", { retryAfterSeconds: 5 }));
  };
  await start({
    listRequests: busy,
    readSeries: busy,
    readGroupedSeries: busy,
    readSummary: busy,
    readBreakdown: busy,
    readFacets: busy,
    readErrors: busy,
    readClientChanges: busy,
    readRetryStorms: busy,
    readMissingPrices: busy,
    readModelUse: busy,
    readCostWindows: busy,
    readBilledDay: busy,
    readStatement: busy,
  });
  await openEndpoints(harness);
  const reports = harness.routes.filter(({ path }) =>
    /^\/(stats|my\/usage|admin\/v1\/(usage|requests))/.test(path),
  );
  for (const { path, method } of reports) {
    const sent = method === "POST" ? { method, body: JSON.stringify({ models: { any: "everything" } }) } : {};
    for (const [query, headers] of [
      ["", {}],
      ["?group_by=model", {}],
      ["", CSV],
    ] as const) {
      const at = path.replace(":id", "019cdd2a-7c00-7000-8000-000000000004");
      const refused = await get(at + query, { "content-type": "application/json", ...headers }, sent);
      expect({ path, retryAfter: refused.headers.get("retry-after") }).toEqual({ path, retryAfter: "5" });
      await expectError(refused, "503 reports_busy");
    }
  }
  expect(reports.length).toBe(21);
  expect(new Set(askers)).toEqual(new Set([harness.adminId]));
  expect(askers).toHaveLength(3 * reports.length);
});

describe("a report for another window than was asked for, or without all of its rows", () => {
  test.each([
    ["/stats/series"],
    ["/stats/summary"],
    ["/stats/requests/facets"],
    ["/stats/errors"],
    ["/my/usage"],
    ["/my/usage/series"],
    ["/admin/v1/usage/summary"],
    ["/admin/v1/usage/series"],
  ])("%s says so in its headers", async (path) => {
    const none = { principals: [], keyIds: [], providers: [], models: [], clients: [], tags: [] };
    const counts = { principals: [], keys: [], providers: [], models: [], clients: [], tags: [] };
    const cut = {
      principals: true,
      keys: false,
      providers: false,
      models: false,
      clients: false,
      tags: false,
    };
    await start({
      readGroupedSeries: async () => ({ ...NOTES, chunks: encode("{}") }),
      readSummary: async () => ({ ...NOTES, chunks: encode("{}") }),
      readErrors: async () => ({ ...NOTES, chunks: encode("{}") }),
      readFacets: async () => ({ ...NOTES, ...none, counts, cut }),
    });
    const { headers } = await get(path);
    expect([headers.get("x-proxy-window"), headers.get("x-proxy-truncated")]).toEqual([
      "1970-01-02T00:00:00.000000Z/1970-01-03T00:00:00.000001Z",
      "true",
    ]);
  });

  test("any other has neither header", async () => {
    await start({ readSummary: async () => ({ ...NO_NOTES, chunks: encode("{}") }) });
    const { headers } = await get("/stats/summary");
    expect([headers.has("x-proxy-window"), headers.has("x-proxy-truncated")]).toEqual([false, false]);
  });
});

describe("an encoded report", () => {
  test("is passed on byte by byte in the order of its chunks, with its length known", async () => {
    const chunks = encode('{"usage":', "[\u00e9", "]}");
    await start({ readSummary: async () => ({ ...NO_NOTES, chunks }) });
    const response = await get("/stats/summary");
    expect([response.headers.get("content-length"), response.headers.get("content-type")]).toEqual([
      "14",
      "application/json",
    ]);
    expect(response.headers.get("vary")).toBe("accept, accept-encoding");
    expect(response.headers.has("content-disposition")).toBe(false);
    expect(await response.text()).toBe('{"usage":[\u00e9]}');
  });

  test("is asked for in the format that the caller prefers, and grouped as its path says", async () => {
    const asked: string[] = [];
    await start({
      async readSummary({ grouping, format, principalId }) {
        asked.push(`${grouping} ${format} ${principalId === null ? "all" : "own"}`);
        return { ...NO_NOTES, chunks: encode("x") };
      },
    });
    for (const path of ["/my/usage", "/stats/summary", "/admin/v1/usage/summary"]) {
      for (const accept of ["text/csv", "application/json, text/csv", "text/csv;q=0, */*"])
        await get(path, { accept });
    }
    expect(asked).toEqual([
      "own csv own",
      "own json own",
      "own json own",
      "team csv all",
      "team json all",
      "team json all",
      "admin csv all",
      "admin json all",
      "admin json all",
    ]);
  });
});

describe("a refusal", () => {
  test.each(["/stats/series", "/stats/errors", "/my/usage/series", "/admin/v1/usage/series"])(
    "%s of too many buckets comes before the store is asked anything",
    async (path) => {
      await start({});
      const response = await get(`${path}?since=1970-01-01&until=9999-12-31&bucket=hour`);
      await expectError(response, "400 range_too_large", "since");
      expect(harness.logLines).toEqual([]);
    },
  );

  test("is the JSON envelope for a caller that prefers CSV too", async () => {
    await start({});
    await expectError(await get("/stats/summary?outcome=nope", CSV), "400 invalid_outcome");
    await expectError(await get("/stats/requests?since=nope", CSV), "400 invalid_date");
  });
});

describe("a caller that hangs up", () => {
  test.each([
    ["/stats/series", {}],
    ["/stats/summary", {}],
    ["/stats/requests", {}],
    ["/stats/requests", CSV],
    ["/stats/requests/facets?client=a b|c", {}],
    ["/stats/errors", {}],
    ["/my/usage", {}],
    ["/my/usage/series", {}],
    ["/stats/breakdown", {}],
    ["/admin/v1/usage/summary", {}],
    ["/admin/v1/usage/series", {}],
    ["/admin/v1/requests", {}],
  ])("ends the question of %s, and is logged as nothing", async (path, headers) => {
    const asked = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const wait = (options: ReportOptions | undefined) =>
      new Promise<never>((_, reject) => {
        options?.signal?.addEventListener("abort", () => {
          reject(options.signal?.reason);
          ended.resolve();
        });
        asked.resolve();
      });
    await start({
      listRequests: (_query, _page, options) => wait(options),
      readGroupedSeries: (_query, options) => wait(options),
      readSummary: (_query, options) => wait(options),
      readFacets: (_query, options) => wait(options),
      readErrors: (_query, options) => wait(options),
      readBreakdown: (_query, options) => wait(options),
    });
    const caller = new AbortController();
    const answer = get(path, headers, { signal: caller.signal }).catch(() => undefined);
    await asked.promise;
    caller.abort();
    await ended.promise;
    await answer;
    expect((await call(harness, "GET", "/healthz")).status).toBe(200);
    expect(harness.logLines).toEqual([]);
  });
});

const START_US = 1_700_000_000_000_000;

function toRow(arrivedAtUs: number): RequestLogRow {
  return {
    id: `id-${arrivedAtUs}`,
    arrivedAtUs,
    principal: "alice",
    keyId: null,
    relayTokenId: null,
    providerId: "gone",
    model: "m",
    upstreamName: "u",
    endpoint: "chat",
    client: "c".repeat(200),
    statusCode: 200,
    outcome: "ok",
    errorKind: null,
    streamed: false,
    durationUs: 1,
    timeToFirstByteUs: null,
    costPico: null,
    usage: null,
    prices: {},
    tags: [],
  };
}

/** A log that can be written to while it is read; `before` is called with the number of each question. */
function createLogStore(rows: RequestLogRow[], before: (asked: number) => void = () => undefined) {
  const questions: { readonly query: StatsQuery; readonly page: Page }[] = [];
  return {
    questions,
    async listRequests(query: StatsQuery, page: Page) {
      questions.push({ query, page });
      // An answer takes a turn of the event loop, as the reader's does.
      await new Promise((resolve) => setImmediate(resolve));
      before(questions.length);
      const { sinceUs, untilUs } = query.window;
      const found = rows
        .filter((row) => row.arrivedAtUs >= (sinceUs ?? 0) && row.arrivedAtUs < (untilUs ?? Infinity))
        .sort((left, right) => right.arrivedAtUs - left.arrivedAtUs);
      return { ...NO_NOTES, rows: found.slice(page.offset, page.offset + page.limit), total: found.length };
    },
  };
}

const idsOf = (csv: string) =>
  csv
    .split("\r\n")
    .slice(1, -1)
    .map((line) => line.split(",", 1)[0]);

describe("the request log as CSV", () => {
  const rows = Array.from({ length: 2234 }, (_, index) => toRow(START_US + index));
  const newestFirst = rows.map(({ id }) => id).toReversed();

  test("without limit and offset has every row once, newest first, whatever arrives meanwhile", async () => {
    const growing = [...rows];
    const store = createLogStore(growing, (asked) => growing.push(toRow(START_US + 10_000 + asked)));
    await start(store);
    const response = await get("/stats/requests?limit=&offset=", CSV);
    expect([
      response.headers.get("content-type"),
      response.headers.get("content-disposition"),
      response.headers.get("vary"),
      response.headers.get("content-length"),
    ]).toEqual([
      "text/csv; charset=utf-8; header=present",
      'attachment; filename="requests.csv"',
      "accept, accept-encoding",
      null,
    ]);
    expect(idsOf(await response.text())).toEqual([`id-${START_US + 10_001}`, ...newestFirst]);
    expect(store.questions.map(({ page }) => page)).toEqual(
      Array.from({ length: 3 }, () => ({ limit: 1000, offset: 0 })),
    );
  });

  test("obeys the window, and a log that fills its slices exactly ends after them", async () => {
    await start(createLogStore(rows));
    const middle = formatInstant(START_US + 1000);
    const newer = await get(`/stats/requests?since=${middle}`, CSV);
    expect(idsOf(await newer.text())).toEqual(newestFirst.slice(0, 1234));
    const older = await get(`/admin/v1/requests?until=${middle}`, CSV);
    expect(idsOf(await older.text())).toEqual(newestFirst.slice(1234));
  });

  test("without a row is the header row alone", async () => {
    await start(createLogStore([]));
    const text = await (await get("/stats/requests", CSV)).text();
    expect(text.split("\r\n").length).toBe(2);
    expect(text).toStartWith("id,ts,principal,");
  });

  test.each([
    ["limit=10", 0, 10],
    ["limit=10&offset=2230", 2230, 4],
    ["offset=2200", 2200, 34],
    ["limit=501", 0, 100],
    ["limit=nope", 0, 100],
    ["limit=5&offset=99999", 0, 0],
  ])("with ?%s is exactly that page", async (query, offset, length) => {
    await start(createLogStore(rows));
    const response = await get(`/admin/v1/requests?${query}`, CSV);
    expect(idsOf(await response.text())).toEqual(newestFirst.slice(offset, offset + length));
  });

  test("is refused in the envelope when its first rows cannot be read", async () => {
    await start({ listRequests: () => Promise.reject(new Error("no such table")) });
    await expectError(await get("/stats/requests", CSV), "500 internal_error");
    expect(harness.logLines.length).toBe(1);
  });

  test("is not logged once more when the refusal says that the log has it", async () => {
    const cause = new ProxyError("internal_error", "Try again.", { isLogged: true });
    await start({ listRequests: () => Promise.reject(cause) });
    await expectError(await get("/stats/requests", CSV), "500 internal_error");
    expect(harness.logLines).toEqual([]);
  });

  test("breaks off when later rows cannot be read, never with a clean end, and says so in the log", async () => {
    const failed = Promise.withResolvers<void>();
    const store = createLogStore(rows, (asked) => {
      if (asked < 3) return;
      failed.resolve();
      throw new Error("no such table");
    });
    await start(store);
    const response = await get("/stats/requests", CSV);
    expect(response.status).toBe(200);
    expect(await response.text().catch(() => "broken off")).toBe("broken off");
    await failed.promise;
    expect(harness.logLines).toEqual([expect.stringContaining("broke off")]);
    expect(harness.logLines.join("")).not.toContain("no such table");
    expect(store.questions.length).toBe(3);
  });

  test("is read no further for a caller that takes nothing, and ends with its leaving, logged as nothing", async () => {
    // A log without an end: every question has a whole slice of older rows.
    let asked = 0;
    const ended = Promise.withResolvers<void>();
    await start({
      async listRequests({ window }, { limit }, options) {
        asked += 1;
        if (asked === 1) options?.signal?.addEventListener("abort", () => ended.resolve());
        const until = window.untilUs ?? START_US;
        const slice = Array.from({ length: limit }, (_, index) => toRow(until - 1 - index));
        return { ...NO_NOTES, rows: slice, total: 1e9 };
      },
    });
    // A socket of its own: a client of HTTP goes on taking in what nobody reads.
    const caller = net.connect(harness.port, "127.0.0.1");
    const headers = { host: "127.0.0.1", authorization: `Bearer ${harness.adminKey}`, ...CSV };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    caller.write(`GET /stats/requests HTTP/1.1\r\n${lines.join("")}\r\n`);
    await new Promise((resolve) => caller.once("data", resolve));
    caller.pause();
    // Until nothing has been read for long: what lies between the two ends is full.
    const sliceBytes = 1000 * 300;
    let before = 0;
    for (let still = 0; still < STILL_TURNS; still += 1) {
      if (asked !== before) still = 0;
      before = asked;
      expect(asked * sliceBytes).toBeLessThan(32 * 1024 * 1024);
      await call(harness, "GET", "/healthz");
    }
    caller.destroy();
    await ended.promise;
    await call(harness, "GET", "/healthz");
    // What is being written when the connection breaks is followed by one more slice.
    expect(asked - before).toBeLessThan(3);
    expect(harness.logLines).toEqual([]);
  });

  test("answers a HEAD with its headers, and reads no row for it", async () => {
    const store = createLogStore(rows);
    await start(store);
    const response = await get("/stats/requests", CSV, { method: "HEAD" });
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
      200,
      "text/csv; charset=utf-8; header=present",
      "",
    ]);
    expect(store.questions).toEqual([]);
  });
});

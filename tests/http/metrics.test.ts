import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { MetricFamily } from "#http/metrics/exposition.ts";
import { toExposition } from "#http/metrics/exposition.ts";
import { toReplicaFamilies } from "#http/metrics/metrics.ts";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { LineEncoder, SUBJECT } from "../ledger/usage.ts";
import { until } from "../support/waiting.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { isOnPostgres } from "../support/engine.ts";
import { findValue, parseExposition, type ParsedFamily } from "../support/exposition.ts";
import manifest from "../../package.json" with { type: "json" };
import { makeFolder } from "../support/folder.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";

/** Planted in every prompt and completion: it must turn up nowhere else. */
const CONTENT = "planted-content-51c9";
const CREDENTIAL = "sk-planted-credential-51c9";
const USAGE = { prompt_tokens: 50, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 20 } };

let upstream: ScriptedUpstream;
let app: TestApp;
/** Requests for the model `held`, for a test to answer. */
const heldCalls: UpstreamCall[] = [];
let onHeldCall: () => void = () => {};

beforeEach(async () => {
  heldCalls.length = 0;
  onHeldCall = () => {};
  upstream = await startUpstream({ script: answer });
  app = await startApp({ notices: { url: `${upstream.baseUrl}/webhook`, secret: null } });
  await addCatalog(app);
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

async function answer(call: UpstreamCall): Promise<void> {
  const { model, stream } = JSON.parse(call.request.body.toString());
  const choices = [{ message: { content: CONTENT } }];
  if (model === "held") {
    heldCalls.push(call);
    onHeldCall();
  } else if (model === "limited") {
    await call.reply({ status: 429, body: JSON.stringify({ error: { message: CONTENT } }) });
  } else if (stream === true) {
    await call.beginStream();
    await call.sendChunk(`data: ${JSON.stringify({ choices, usage: USAGE })}\n\ndata: [DONE]\n\n`);
    await call.endStream();
  } else {
    await call.reply({ body: JSON.stringify({ choices, usage: USAGE }) });
  }
}

async function addCatalog(to: TestApp): Promise<void> {
  const post = async (path: string, body: object) =>
    expect((await to.api("POST", path, body)).status).toBe(201);
  await post("/admin/v1/providers", { name: "up", base_url: upstream.baseUrl, api_key: CREDENTIAL });
  await post("/admin/v1/providers", { name: "narrow", base_url: upstream.baseUrl, max_concurrency: 1 });
  await post("/admin/v1/providers", { name: "down", base_url: "http://127.0.0.1:1/v1" });
  const pricing = { input_tokens: 1, cached_input_tokens: 1 };
  await post("/admin/v1/models", { alias: "priced", provider: "up", upstream_name: "plain", pricing });
  await post("/admin/v1/models", { alias: "team/free:1", provider: "up", upstream_name: "plain" });
  await post("/admin/v1/models", { alias: "limited", provider: "up", upstream_name: "limited" });
  await post("/admin/v1/models", { alias: "nobody", provider: "down", upstream_name: "plain" });
  await post("/admin/v1/models", { alias: "held", provider: "narrow", upstream_name: "held" });
}

function chat(model: string, stream = false, signal?: AbortSignal): Promise<Response> {
  return fetch(`${app.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, stream, messages: [{ role: "user", content: CONTENT }] }),
    ...(signal !== undefined && { signal }),
  });
}

/** Two requests for each model that answers at once, one of them streamed. */
async function makeTraffic(): Promise<void> {
  for (const model of ["priced", "team/free:1", "limited", "nobody"]) {
    await (await chat(model)).text();
    await (await chat(model, true)).text();
  }
}

async function scrape(from = app): Promise<ReadonlyMap<string, ParsedFamily>> {
  const response = await fetch(`${from.url}/metrics`);
  expect(response.status).toBe(200);
  return parseExposition(await response.text());
}

const UNTIL_MS_MAX = 4_000;

/** Asks again until it is so. */
async function scrapeUntil(
  isSo: (families: ReadonlyMap<string, ParsedFamily>) => boolean,
  from = app,
): Promise<ReadonlyMap<string, ParsedFamily>> {
  const startedMs = performance.now();
  for (;;) {
    const families = await scrape(from);
    if (isSo(families)) return families;
    if (performance.now() - startedMs > UNTIL_MS_MAX) {
      throw new Error(`it never was: ${isSo.toString()}`);
    }
  }
}

async function takeHeldCall(): Promise<UpstreamCall> {
  const call = heldCalls.shift();
  if (call !== undefined) return call;
  await new Promise<void>((resolve) => (onHeldCall = resolve));
  return takeHeldCall();
}

const requestsOf = (model: string, provider: string, outcome: string) => ({
  endpoint: "chat",
  provider,
  model,
  outcome,
});

describe("requests", () => {
  test("are counted once each, under the outcome that the request log has for them, and so are their seconds", async () => {
    await makeTraffic();
    const leaving = new AbortController();
    const asked = chat("held", true, leaving.signal);
    const call = await takeHeldCall();
    await call.beginStream();
    await call.sendChunk('data: {"choices":[]}\n\n');
    const left = (await asked).text().catch(() => "left");
    leaving.abort();
    expect(await left).toBe("left");
    const families = await scrapeUntil(
      (seen) => findValue(seen, "proxy_requests_total", requestsOf("held", "narrow", "cancelled")) === 1,
    );

    // A report waits half a second for what has just ended.
    await until(
      async () => (await readLog(app)).total === 9,
      () => "the log has not all requests",
    );
    const { requests: rows } = await readLog(app);
    expect(rows).toHaveLength(9);
    const counted = new Map<string, number>();
    for (const { endpoint, provider, model, outcome, duration_ms: durationMs } of rows) {
      increase(counted, JSON.stringify([model, provider, endpoint, outcome]), 1);
      increase(counted, JSON.stringify([model, provider, endpoint]), durationMs / 1000);
    }
    const served = new Map<string, number>();
    for (const { labels, value } of families.get("proxy_requests_total")?.samples ?? []) {
      const { model, provider, endpoint, outcome } = labels;
      if (value > 0) served.set(JSON.stringify([model, provider, endpoint, outcome]), value);
    }
    for (const { name, labels, value } of families.get("proxy_request_seconds")?.samples ?? []) {
      const { model, provider, endpoint } = labels;
      if (name.endsWith("_sum")) served.set(JSON.stringify([model, provider, endpoint]), value);
      else expect(value).toBe(rows.filter((row) => row.model === model).length);
    }
    expect([...served.keys()].sort()).toEqual([...counted.keys()].sort());
    for (const [key, value] of served) expect(value).toBeCloseTo(counted.get(key) ?? -1, 5);
    expect([...served.keys()].filter((key) => key.endsWith('"cancelled"]'))).toHaveLength(1);
  });

  test("add their normalised units, and what had no price to the unpriced ones", async () => {
    await makeTraffic();
    const families = await scrape();
    const valueOf = (name: string, labels: Record<string, string>) => findValue(families, name, labels);
    const units = { input_tokens: 60, cached_input_tokens: 40, output_tokens: 14 };
    for (const [unit, quantity] of Object.entries(units)) {
      for (const model of ["priced", "team/free:1"]) {
        expect(valueOf("proxy_usage_units_total", { provider: "up", model, unit })).toBe(quantity);
      }
      expect(valueOf("proxy_unpriced_units_total", { model: "team/free:1", unit })).toBe(quantity);
    }
    const gaps = families
      .get("proxy_unpriced_units_total")
      ?.samples.filter(({ labels }) => labels["model"] === "priced");
    expect(gaps).toMatchObject([{ labels: { unit: "output_tokens" }, value: 14 }]);
  });

  test("that are refused before they go to a provider are not counted", async () => {
    await makeTraffic();
    const before = await scrape();
    expect((await chat("unknown")).status).toBe(404);
    expect((await fetch(`${app.url}/v1/chat/completions`, { method: "POST" })).status).toBe(401);
    const after = await scrape();
    expect(after.get("proxy_requests_total")).toEqual(before.get("proxy_requests_total"));
  });

  test("are seen while they are open, while they stream and while they wait for a slot, and not any more afterwards", async () => {
    const first = chat("held", true);
    const call = await takeHeldCall();
    const second = chat("held");
    const families = await scrapeUntil((seen) => findValue(seen, "proxy_waiting_exchanges") === 1);
    expect(findValue(families, "proxy_open_exchanges")).toBe(2);
    expect(findValue(families, "proxy_open_streams")).toBe(1);
    await call.reply({ body: "{}" });
    await (await first).text();
    await (await takeHeldCall()).reply({ body: "{}" });
    await (await second).text();
    const idle = await scrape();
    for (const name of ["proxy_waiting_exchanges", "proxy_open_exchanges", "proxy_open_streams"]) {
      expect(findValue(idle, name)).toBe(0);
    }
  });
});

describe("the server's own figures", () => {
  test("tell what the writer has committed; nothing stays uncommitted", async () => {
    await makeTraffic();
    const families = await scrapeUntil((seen) => findValue(seen, "proxy_journal_uncommitted_bytes") === 0);
    const requests = families.get("proxy_requests_total")?.samples ?? [];
    const count = requests.reduce((sum, { value }) => sum + value, 0);
    expect(count).toBe(8);
    expect(findValue(families, "proxy_writer_events_total")).toBe(count);
    expect(findValue(families, "proxy_writer_running")).toBe(1);
    expect(findValue(families, "proxy_writer_commits_total")).toBeGreaterThan(0);
    expect(findValue(families, "proxy_writer_last_commit_seconds")).toBeGreaterThan(0);
    expect(findValue(families, "proxy_ledger_combinations")).toBe(4);
    expect(findValue(families, "proxy_journal_pending_bytes")).toBe(0);
  });

  test("show a blocked event loop, also to a second reader", async () => {
    // The first turn of the watch belongs to whatever went before.
    await scrape();
    Bun.sleepSync(150);
    const isSeen = (seen: ReadonlyMap<string, ParsedFamily>) =>
      (findValue(seen, "proxy_event_loop_lag_max_seconds") ?? 0) >= 0.1;
    const families = await scrapeUntil(isSeen);
    expect(isSeen(await scrape())).toBe(true);
    const counted = (le: string) => findValue(families, "proxy_event_loop_lag_seconds_bucket", { le }) ?? 0;
    expect(counted("+Inf")).toBeGreaterThan(counted("0.1"));
  });

  test("tell of memory, files and processor, and of the version that runs", async () => {
    const families = await scrape();
    for (const name of [
      "process_resident_memory_bytes",
      "proxy_heap_used_bytes",
      "process_cpu_seconds_total",
    ]) {
      expect(findValue(families, name)).toBeGreaterThan(0);
    }
    expect(
      Math.abs((findValue(families, "process_start_time_seconds") ?? 0) - Date.now() / 1000),
    ).toBeLessThan(60);
    expect(families.get("process_open_fds")?.samples[0]?.value ?? 1).toBeGreaterThan(0);
    const labels = { version: manifest.version, commit: "", interface_version: "1.0.0" };
    expect(findValue(families, "proxy_build_info", labels)).toBe(1);
  });

  test("never name a principal, a key, a client, a credential or content", async () => {
    await makeTraffic();
    const text = await (await fetch(`${app.url}/metrics`)).text();
    for (const secret of [CONTENT, CREDENTIAL, app.adminKey, "admin", "Bun/", upstream.baseUrl]) {
      expect(text).not.toContain(secret);
    }
  });
});

const REPLICA_FAMILIES = toReplicaFamilies(
  {
    isDatabaseUp: false,
    trustLeftSeconds: 12.5,
    barrierSeconds: 0.25,
    spool: { bytes: 4096, ageSeconds: 17 },
    slots: 3,
  },
  1_500,
);
const REPLICA_NAMES = new Set(REPLICA_FAMILIES.map(({ name }) => name));

describe("the page docs/metrics.md", () => {
  test("has each metric that is served, with its type, labels and meaning, and no other", async () => {
    await makeTraffic();
    await (await app.api("POST", "/v1/chat/completions", { model: "absent" })).text();
    const limit = { name: "used up", subject: {}, measure: "requests", amount: 1, window: "day" };
    expect((await app.api("POST", "/admin/v1/limits", limit)).status).toBe(201);
    expect((await app.api("POST", "/v1/chat/completions", { model: "priced" })).status).toBe(429);
    // The models without a price are told of.
    const families = await scrapeUntil((seen) => (seen.get("proxy_notices_total")?.samples.length ?? 0) > 0);
    const page = await Bun.file(join(import.meta.dir, "../../docs/metrics.md")).text();
    const rows = page.split("\n").filter((line) => line.startsWith("| `"));
    const documented = rows.map((row) => row.slice(2, -2).split(" | "));
    const served = [...families.values()].map(({ name, kind, help, samples }) => {
      const labels = [...new Set(samples.flatMap((sample) => Object.keys(sample.labels)))];
      return [`\`${name}\``, kind, labels.map((label) => `\`${label}\``).join(", ") || "none", help];
    });
    // Not every system tells it.
    const isToldHere = ([name = ""]: readonly string[]) =>
      name !== "`process_open_fds`" || families.has("process_open_fds");
    const isOfReplica = ([name = ""]: readonly string[]) => REPLICA_NAMES.has(name.slice(1, -1));
    const isServed = (row: readonly string[]) => isToldHere(row) && (isOnPostgres || !isOfReplica(row));
    // Those of a replica have a table of their own.
    const byName = ([one = ""]: readonly string[], [other = ""]: readonly string[]) => (one < other ? -1 : 1);
    expect(documented.filter(isServed).toSorted(byName)).toEqual(served.toSorted(byName));
    const ofReplica = REPLICA_FAMILIES.map(({ name, kind, help }) => [`\`${name}\``, kind, "none", help]);
    expect(documented.filter(isOfReplica)).toEqual(ofReplica);
  });

  // A replica on PostgreSQL tells them: the test before has looked.
  test.skipIf(isOnPostgres)(
    "has those of a replica, which a server without PostgreSQL does not tell",
    async () => {
      expect(toReplicaFamilies(null, 0)).toEqual([]);
      expect(REPLICA_FAMILIES.map(({ name, samples }) => [name, samples[0]?.value])).toEqual([
        ["proxy_database_up", 0],
        ["proxy_database_trust_seconds", 12.5],
        ["proxy_change_barrier_seconds", 0.25],
        ["proxy_spool_bytes", 4096],
        ["proxy_spool_age_seconds", 17],
        ["proxy_slots_borrowed", 3],
        ["proxy_limits_age_seconds", 1.5],
      ]);
      const families = await scrape();
      for (const name of REPLICA_NAMES) expect(families.has(name)).toBe(false);
    },
  );
});

describe("a ledger that cannot write", () => {
  // What keeps PostgreSQL from taking usage is in tests/boot/outage and tests/storage/postgres.
  test.skipIf(isOnPostgres)(
    "is seen in the figures, which are served on, and so is its recovery",
    async () => {
      using database = new Database(join(app.dataDir, "usage.db"));
      // The writer may be at its start.
      database.run("PRAGMA busy_timeout = 5000");
      const before = await scrape();
      database.run("BEGIN IMMEDIATE");
      await (await chat("priced")).text();
      const isBehind = (seen: ReadonlyMap<string, ParsedFamily>) =>
        (findValue(seen, "proxy_writer_failures_total") ?? 0) >
          (findValue(before, "proxy_writer_failures_total") ?? 0) &&
        (findValue(seen, "proxy_journal_uncommitted_bytes") ?? 0) > 0;
      const behind = await scrapeUntil(isBehind);
      const counted = (seen: ReadonlyMap<string, ParsedFamily>) =>
        findValue(seen, "proxy_requests_total", requestsOf("priced", "up", "ok")) ?? 0;
      expect(counted(behind)).toBe(counted(before) + 1);
      expect(findValue(behind, "proxy_writer_events_total")).toBe(
        findValue(before, "proxy_writer_events_total"),
      );
      database.run("ROLLBACK");
      await scrapeUntil((seen) => findValue(seen, "proxy_journal_uncommitted_bytes") === 0);
    },
  );

  // Segments of a spool are written under its own name: tests/storage/postgres/ledger/recovery.
  test.skipIf(isOnPostgres)(
    "leaves what a killed process began to the next one, whose reports have it and whose request figures do not",
    async () => {
      const folder = makeFolder();
      const dataDir = join(folder.path, "data");
      await (await startApp({ dataDir })).stop();
      const lines = [encodeJournalLine({ kind: "run" }), new LineEncoder().begin(1, 1, SUBJECT).toString()];
      writeFileSync(join(dataDir, "journal", "000000000009.journal"), lines.join(""), { mode: 0o600 });
      const next = await startApp({ dataDir });
      try {
        const families = await scrapeUntil(
          (seen) => findValue(seen, "proxy_writer_events_total") === 1,
          next,
        );
        expect(families.get("proxy_requests_total")?.samples).toEqual([]);
        expect(families.get("proxy_request_seconds")?.samples).toEqual([]);
        expect((await readLog(next)).total).toBe(1);
      } finally {
        await next.stop();
        folder.remove();
      }
    },
  );
});

describe("the text format", () => {
  const gauge = (labels: Record<string, string>, value: number): MetricFamily => ({
    name: "proxy_test",
    kind: "gauge",
    help: "A backslash \\ and\na line break.",
    samples: [{ labels, value }],
  });

  test("gives back any label value as it was, whatever stands in it", () => {
    const hostile = [
      '"} 1\nproxy_test 2',
      "\\",
      '\\"',
      "\\n",
      "\n",
      "#",
      "{}",
      "é\u{1f600}",
      "",
      "=,",
      "\u2028\u0000",
    ];
    const value = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(value, value, (model, provider) => {
        fc.pre(!`${model}${provider}`.includes("\r"));
        const parsed = parseExposition(toExposition([gauge({ model, provider }, 1)]));
        expect(parsed.get("proxy_test")?.samples).toMatchObject([{ labels: { model, provider }, value: 1 }]);
      }),
    );
    expect(toExposition([gauge({ model: 'a\\"\n' }, 1)])).toBe(
      '# HELP proxy_test A backslash \\\\ and\\na line break.\n# TYPE proxy_test gauge\nproxy_test{model="a\\\\\\"\\n"} 1\n',
    );
  });

  test.each([
    [0, "0"],
    [9007199254740991, "9007199254740991"],
    [1e23, "99999999999999991611392"],
    [0.1, "0.1"],
    [1e-9, "0.00000000100000000000"],
    [123456.789, "123456.789"],
  ])("writes %d as a plain decimal, without an exponent", (value, text) => {
    const parsed = parseExposition(toExposition([gauge({}, value)]));
    expect(parsed.get("proxy_test")?.samples).toMatchObject([{ labels: {}, text }]);
  });
});

interface Log {
  readonly requests: readonly {
    readonly endpoint: string;
    readonly provider: string;
    readonly model: string;
    readonly outcome: string;
    readonly duration_ms: number;
  }[];
  readonly total: number;
}

async function readLog(of: TestApp): Promise<Log> {
  return JSON.parse(await (await of.api("GET", "/admin/v1/requests?limit=500")).text());
}

function increase(sums: Map<string, number>, key: string, by: number): void {
  sums.set(key, (sums.get(key) ?? 0) + by);
}

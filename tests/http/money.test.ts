import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { findValue, parseExposition } from "../support/exposition.ts";
import { type ScriptedUpstream, startUpstream } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";

let upstream: ScriptedUpstream;
let app: TestApp;
/** The upstream's answer beside `choices`. */
let answer: object;
/** Events of the next stream, where it is to be more than one. */
let chunks: readonly object[] = [];

const PRICING = {
  input_tokens: 1,
  output_tokens: 6,
  cached_input_tokens: 0.1,
  cache_write_tokens: 1.25,
};

beforeEach(async () => {
  upstream = await startUpstream({
    async script(call) {
      const { stream } = JSON.parse(call.request.body.toString());
      if (stream !== true) return call.reply({ body: JSON.stringify({ choices: [], ...answer }) });
      await call.beginStream();
      const events = chunks.length === 0 ? [{ choices: [], ...answer }] : chunks;
      chunks = [];
      for (const event of events) await call.sendChunk(`data: ${JSON.stringify(event)}\n\n`);
      await call.sendChunk("data: [DONE]\n\n");
      return call.endStream();
    },
  });
  app = await startApp();
  const post = async (path: string, body: object) =>
    expect((await app.api("POST", path, body)).status).toBe(201);
  await post("/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  await post("/admin/v1/models", { alias: "m", provider: "up", upstream_name: "real", pricing: PRICING });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

/** The row of the request log that one request leaves. */
async function ask(usage: object, { stream = false, more = {} } = {}): Promise<any> {
  answer = { usage, ...more };
  const response = await app.api("POST", "/v1/chat/completions", { model: "m", stream, messages: [] });
  await response.text();
  const id = response.headers.get("x-proxy-request-id");
  let row: any;
  const isThere = async () => {
    const { requests } = await read("/admin/v1/requests");
    row = requests.find((one: any) => one.id === id);
    return row !== undefined;
  };
  await until(isThere, () => `the row of request ${id}`);
  return row;
}

async function read(path: string): Promise<any> {
  return (await app.api("GET", path)).json();
}

const PRICED_UNITS = { input_tokens: 100, output_tokens: 10 };
const USAGE = { prompt_tokens: 100, completion_tokens: 10 };
const PRICED = { input_tokens: 1, output_tokens: 6 };

async function readCsv(): Promise<string> {
  const headers = { authorization: `Bearer ${app.adminKey}`, accept: "text/csv" };
  return (await app.api("GET", "/stats/requests", undefined, headers)).text();
}

describe("an answer at another service tier than the standard one", () => {
  const streams = [false, true];
  test.each([
    ["service_tier of the answer", USAGE, { service_tier: "flex" }, "flex"],
    ["service_tier of its usage", { ...USAGE, service_tier: "priority" }, {}, "priority"],
    [
      "the answer's before its usage's",
      { ...USAGE, service_tier: "standard" },
      { service_tier: "flex" },
      "flex",
    ],
    ["service_tier of a response", USAGE, { response: { service_tier: "scale" } }, "scale"],
    ["speed of its usage", { ...USAGE, speed: "fast" }, {}, "fast"],
    ["both", { ...USAGE, speed: "fast" }, { service_tier: "priority" }, "priority+fast"],
    [
      "a name of its own",
      USAGE,
      { service_tier: `Über Fast!${"x".repeat(40)}` },
      `_ber_fast_${"x".repeat(22)}`,
    ],
  ])("told by %s, is unpriced and says so", async (_, usage, more, tier) => {
    for (const stream of streams) {
      const row = await ask(usage, { stream, more });
      expect(row).toMatchObject({
        tier,
        cost: null,
        unpriced_reason: `tier: ${tier}`,
        unit_prices: { input_tokens: null, output_tokens: null },
        units: PRICED_UNITS,
      });
    }
    const reason = `tier: ${tier}`;
    const gap = { model: "m", kind: "model", requests: 2, reason, has_price: false };
    const { missing } = await read("/admin/v1/usage/missing-prices");
    expect(missing).toMatchObject([
      { ...gap, unit: "input_tokens", quantity: 200 },
      { ...gap, unit: "output_tokens", quantity: 20 },
    ]);
    const families = parseExposition(await (await fetch(`${app.url}/metrics`)).text());
    const labels = { model: "m", unit: "input_tokens" };
    expect(findValue(families, "proxy_unpriced_units_total", { ...labels, reason })).toBe(200);
    expect(findValue(families, "proxy_unpriced_units_total", labels)).toBeNull();
    expect(findValue(families, "proxy_unpriced_requests_total", { reason: "tier" })).toBe(2);
    expect(findValue(families, "proxy_unpriced_requests_total", {})).toBeNull();
    const { series } = await read("/stats/series");
    expect(series.at(-1)).toMatchObject({ requests: 2, unpriced_requests: 2, cost: null });
    const csv = await readCsv();
    expect(csv).toContain(`,${tier},${reason},`);
  });

  test.each([
    ["none", USAGE, {}],
    ["null", USAGE, { service_tier: null }],
    ["default", USAGE, { service_tier: "default" }],
    ["Standard", { ...USAGE, service_tier: "Standard" }, {}],
    ["auto", USAGE, { service_tier: "auto" }],
    ["on_demand", USAGE, { service_tier: "on_demand" }],
    ["the answer's own before its usage's", { ...USAGE, service_tier: "flex" }, { service_tier: "default" }],
    ["a standard speed", { ...USAGE, speed: "standard" }, {}],
    ["what is no text", { ...USAGE, speed: true }, { service_tier: { flex: true } }],
  ])("%s is the standard one: priced, and without a field more", async (_, usage, more) => {
    for (const stream of streams) {
      const row = await ask(usage, { stream, more });
      expect(row).toMatchObject({ cost: 0.00016, unit_prices: PRICED });
      for (const field of ["tier", "unpriced_reason", "unmetered", "failure"])
        expect(field in row).toBe(false);
    }
    expect(await read("/admin/v1/usage/missing-prices")).toEqual({ missing: [] });
  });

  test("is what a stream told last, also in an event that tells nothing else", async () => {
    const events = (...tiers: readonly (string | null)[]) =>
      tiers.map((tier) => ({ service_tier: tier, choices: [{ delta: { content: "x" } }], usage: null }));
    chunks = [...events("default", "default", "flex", null), { choices: [], usage: USAGE }];
    expect(await ask(USAGE, { stream: true })).toMatchObject({ tier: "flex", cost: null });
    chunks = [...events("flex", "flex", "default"), { choices: [], usage: USAGE }];
    expect(await ask(USAGE, { stream: true })).toMatchObject({ cost: 0.00016 });
  });

  test("without usage prices nothing, and is no gap in the prices", async () => {
    const row = await ask({}, { more: { service_tier: "flex" } });
    expect(row).toMatchObject({ tier: "flex", cost: null, units: {} });
    expect("unpriced_reason" in row).toBe(false);
    expect(await read("/admin/v1/usage/missing-prices")).toEqual({ missing: [] });
  });

  test("counts the request itself where its model is priced by the request, and is unpriced", async () => {
    const patched = await app.api("PATCH", "/admin/v1/models/m", { pricing: { requests: 5 } });
    expect(patched.status).toBe(200);
    expect(await ask({}, { more: { service_tier: "flex" } })).toMatchObject({
      units: { requests: 1 },
      cost: null,
      unpriced_reason: "tier: flex",
    });
    const { missing } = await read("/admin/v1/usage/missing-prices");
    expect(missing).toMatchObject([{ unit: "requests", reason: "tier: flex", has_price: false }]);
  });

  test("counts as unpriced under a limit of cost", async () => {
    const limit = { name: "all", subject: {}, measure: "cost", amount: 1, window: "day" };
    const made = await app.api("POST", "/admin/v1/limits", limit);
    expect(made.status).toBe(201);
    await ask(USAGE, { more: { service_tier: "flex" } });
    await ask(USAGE);
    const { limits } = await read("/admin/v1/limits");
    expect(limits).toMatchObject([{ used: 0.00016, unpriced_requests: 1 }]);
  });
});

describe("reports", () => {
  const asTier = (service_tier: string | null) => ({ more: { service_tier } });

  test("filter by tier and group by it; standard is what was answered at none", async () => {
    for (const tier of ["flex", "flex", "priority", null, "default"]) await ask(USAGE, asTier(tier));
    const countOf = async (query: string) => (await read(`/stats/requests?${query}`)).total;
    expect(await countOf("tier=flex")).toBe(2);
    expect(await countOf("tier=Flex&tier=priority")).toBe(3);
    expect(await countOf("tier=standard")).toBe(2);
    expect(await countOf("tier=none")).toBe(0);
    const [sum] = (await read("/stats/summary?tier=standard")).usage;
    expect(sum).toMatchObject({ requests: 2, cost: 0.00032 });
    const { requests } = (await read("/stats/breakdown?by=model&tier=priority")).total;
    expect(requests).toBe(1);
    const expected = [
      { value: "standard", requests: 2, cost: 0.00032 },
      { value: "flex", requests: 2, cost: null },
      { value: "priority", requests: 1, cost: null },
    ];
    for (const path of ["/stats/breakdown", "/my/usage/breakdown"])
      expect((await read(`${path}?by=tier`)).rows).toMatchObject(expected);
    for (const path of ["/stats/series", "/my/usage/series"])
      expect((await read(`${path}?group_by=tier`)).groups).toMatchObject(expected);
  });

  test("have the sum of what providers told under its own name, and no field where none told a cost", async () => {
    await ask(USAGE);
    const figuresOf = async () => {
      const { series, groups } = await read("/stats/series?group_by=model");
      const { rows, total } = await read("/stats/breakdown");
      const { usage } = await read("/stats/summary");
      const own = await read("/my/usage");
      return [series.at(-1), groups[0], rows[0], total, usage[0], own.usage[0]];
    };
    for (const figures of await figuresOf()) expect("cost_reported" in figures).toBe(false);
    const before = await readCsv();
    expect(before).not.toContain("cost_reported");
    for (const cost of [0.1, 0.2]) await ask({ ...USAGE, cost, inference_geo: "eu" });
    // As floating-point numbers they would be 0.30000000000000004.
    for (const figures of await figuresOf())
      expect(figures).toMatchObject({ requests: 3, cost: 0.00016, cost_reported: 0.3 });
    const [head = "", , , first = ""] = (await readCsv()).split("\r\n");
    expect(head).toEndWith(",geo,cost_reported");
    expect(first).toEndWith(",,");
    const headers = { authorization: `Bearer ${app.adminKey}`, accept: "text/csv" };
    const summary = await (await app.api("GET", "/stats/summary", undefined, headers)).text();
    expect(summary.split("\r\n").map((line) => line.split(",").at(-1))).toEqual(["cost_reported", "0.3", ""]);
  });
});

describe("a price that is missing has one now", () => {
  const FLEX = { service_tier: "flex" };
  const LONG = { ...USAGE, prompt_tokens: 300_000 };
  const hasPrices = async () => {
    const { missing } = await read("/admin/v1/usage/missing-prices");
    return missing.map(({ reason, unit, has_price: has }: any) => [reason, unit, has]);
  };
  const setVariants = async (list: readonly object[]) =>
    expect((await app.api("PATCH", "/admin/v1/models/m", { price_variants: list })).status).toBe(200);
  const flex = { when: { tier: "flex" }, pricing: { input_tokens: 0.5, output_tokens: 3 } };
  const long = { when: { input_over: 200_000 }, pricing: { input_tokens: 2, output_tokens: 9 } };
  const both = {
    when: { tier: "flex", input_over: 200_000 },
    pricing: { input_tokens: 1, output_tokens: 4 },
  };

  test("only where the tier, the region and the length of what was asked for have prices together", async () => {
    await ask(LONG, { more: FLEX });
    const rows = (has: boolean) => [
      ["tier: flex", "input_tokens", has],
      ["tier: flex", "output_tokens", has],
    ];
    // A long request at the tier has the prices of neither.
    await setVariants([flex, long]);
    expect(await ask(LONG, { more: FLEX })).toMatchObject({ cost: null });
    expect(await hasPrices()).toEqual(rows(false));
    await setVariants([flex, long, both]);
    expect(await hasPrices()).toEqual(rows(true));
    expect(await ask(LONG, { more: FLEX })).toMatchObject({ cost: 0.30004 });
    // The short ones beside them have none of these.
    await setVariants([both]);
    await ask(USAGE, { more: FLEX });
    expect(await hasPrices()).toEqual(rows(false));
    await setVariants([flex]);
    expect(await hasPrices()).toEqual(rows(true));
    await ask({ ...USAGE, inference_geo: "us" }, { more: FLEX });
    expect(await hasPrices()).toContainEqual(["geo: us", "input_tokens", false]);
  });
});

describe("an answer from one region only", () => {
  test("is unpriced and says so, and a global one is priced without a field more", async () => {
    for (const stream of [false, true]) {
      const row = await ask({ ...USAGE, inference_geo: "US" }, { stream });
      expect(row).toMatchObject({ geo: "us", cost: null, unpriced_reason: "geo: us", units: PRICED_UNITS });
      for (const field of ["tier", "price_when"]) expect(field in row).toBe(false);
      for (const geo of ["global", "not_available", null]) {
        const standard = await ask({ ...USAGE, inference_geo: geo }, { stream });
        expect(standard).toMatchObject({ cost: 0.00016 });
        for (const field of ["geo", "unpriced_reason"]) expect(field in standard).toBe(false);
      }
    }
    const { missing } = await read("/admin/v1/usage/missing-prices");
    expect(missing).toMatchObject([
      { unit: "input_tokens", reason: "geo: us", requests: 2, has_price: false },
      { unit: "output_tokens", reason: "geo: us", requests: 2, has_price: false },
    ]);
    const families = parseExposition(await (await fetch(`${app.url}/metrics`)).text());
    expect(findValue(families, "proxy_unpriced_requests_total", { reason: "geo" })).toBe(2);
    expect(findValue(families, "proxy_unpriced_requests_total", { reason: "tier" })).toBeNull();
  });
});

describe("the cost that a provider tells", () => {
  test("stands in the row beside ours, also where ours is not known, and only where it was told", async () => {
    for (const stream of [false, true]) {
      const told = await ask({ ...USAGE, cost: 0.000123 }, { stream });
      expect(told).toMatchObject({ cost: 0.00016, cost_reported: 0.000123 });
      const flex = await ask(
        { ...USAGE, cost: { total_cost: 0 } },
        { stream, more: { service_tier: "flex" } },
      );
      expect(flex).toMatchObject({ cost: null, cost_reported: 0, tier: "flex" });
      for (const cost of [null, "1", -1])
        expect("cost_reported" in (await ask({ ...USAGE, cost }))).toBe(false);
    }
  });
});

describe("a provider that gives no answer", () => {
  test("has its reason in the row and in the errors report, and not in what its caller gets", async () => {
    const post = async (path: string, body: object) =>
      expect((await app.api("POST", path, body)).status).toBe(201);
    await post("/admin/v1/providers", { name: "down", base_url: "http://127.0.0.1:1/v1" });
    await post("/admin/v1/models", { alias: "gone", provider: "down", upstream_name: "x" });
    const response = await app.api("POST", "/v1/chat/completions", { model: "gone", messages: [] });
    expect(response.status).toBe(502);
    const told = JSON.stringify([...response.headers]) + (await response.text());
    expect(told).toContain("connection_error");
    expect(told).not.toContain("refused");
    const { requests } = await read("/admin/v1/requests");
    expect(requests[0]).toMatchObject({
      outcome: "unreachable",
      error_kind: "connection_error",
      failure: "refused",
    });
    const { breakdown } = await read("/stats/errors");
    expect(breakdown).toMatchObject([{ error_kind: "connection_error", failure: "refused", requests: 1 }]);
    const csv = await readCsv();
    expect(csv).toContain(",refused,,,");
  });
});

describe("cache writes of an inclusive prompt", () => {
  const written = (cached: number | undefined, writes: number) => ({
    prompt_tokens: 1000,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: writes },
  });

  test.each([
    ["800 of 1,000 written", written(undefined, 800), false, 0.00126, 1000, { input: 200, write: 800 }],
    ["streamed", written(undefined, 800), true, 0.00126, 1000, { input: 200, write: 800 }],
    ["none", written(undefined, 0), false, 0.00106, 1000, null],
    [
      "under the name of the responses API",
      {
        input_tokens: 1000,
        output_tokens: 10,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 800 },
      },
      false,
      0.00126,
      1000,
      { input: 200, write: 800 },
    ],
  ] as const)(
    "%s: billed as written, and counted as input once",
    async (_, usage, stream, cost, input, billed) => {
      const row = await ask(usage, { stream });
      expect(row).toMatchObject({ cost, units: { input_tokens: 1000, output_tokens: 10 } });
      const details = {
        input_tokens: { quantity: billed?.input, price: 1 },
        cache_write_tokens: { quantity: billed?.write, price: 1.25 },
      };
      expect(row.unit_details).toEqual(billed === null ? undefined : details);
      const { series } = await read("/stats/series");
      expect(series.at(-1)).toMatchObject({ cost, units: { input_tokens: input }, unpriced_requests: 0 });
    },
  );
});

describe("a price that is dated back", () => {
  test("answers how many requests a re-pricing would change: of a name that had another target since, those of before alone", async () => {
    const api = async (method: string, path: string, body: object) => {
      const response = await app.api(method, path, body);
      const text = await response.text();
      expect(response.status < 300 ? "" : text).toBe("");
      return JSON.parse(text);
    };
    const send = async (model: string) => {
      answer = { usage: USAGE };
      const body = { model, messages: [] };
      await (await app.api("POST", "/v1/chat/completions", body)).arrayBuffer();
    };
    const bound = { provider: "up", upstream_name: "real" };
    await api("POST", "/admin/v1/models", { alias: "other", ...bound, pricing: PRICED });
    await api("POST", "/admin/v1/models", { alias: "name", target: "m" });
    const { created_at: since } = await api("PATCH", "/admin/v1/models/name", { hidden: false });
    await send("m");
    await send("name");
    await api("PATCH", "/admin/v1/models/name", { target: "other" });
    for (let count = 0; count < 3; count += 1) await send("name");
    const pricing = { ...PRICING, input_tokens: 2 };
    const changed = await api("PATCH", "/admin/v1/models/m", { pricing, effective_from: since });
    const { id } = await api("POST", "/admin/v1/repricing", { prices: "history", dry_run: true });
    let plan: any;
    await until(
      async () => {
        plan = await read(`/admin/v1/repricing/${id}`);
        return plan.total !== null;
      },
      () => JSON.stringify(plan),
    );
    expect(plan.total.requests).toBe(2);
    expect(changed.repriceable_requests).toBe(plan.total.requests);
  });
});

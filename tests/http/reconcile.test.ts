import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toCsvRow } from "#stats/csv.ts";
import { BILL_BODY_BYTES_MAX } from "#bills/bill.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { call, expectError } from "./support.ts";
import { LIMITED, startTeam, type Team, UNREACHABLE, type Used } from "./team.ts";

let team: Team;
beforeEach(async () => {
  team = await startTeam();
});
afterEach(() => team.stop());

const post = (body: unknown, headers = team.asAdmin) =>
  call(team, "POST", "/admin/v1/reconcile", { body, headers });
const reconcile = async (body: unknown) => {
  const response = await post(body);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text);
};

const COLUMNS = [
  "date",
  "model",
  "tier",
  "requests",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "cost",
];
const MAP = Object.fromEntries(COLUMNS.map((column) => [column, column]));
const toFile = (...rows: readonly (readonly (string | number)[])[]) => ({
  name: "bill.csv",
  text: [COLUMNS, ...rows].map(toCsvRow).join(""),
});
const fixture = async (name: string) => ({
  name,
  text: await Bun.file(join(import.meta.dir, "../bills/fixtures", name)).text(),
});
const toKinds = ({ lines }: { lines: readonly any[] }) =>
  lines.map(({ day, model, tier, kind }) => [day, model, tier, kind]);

/** As many requests as are no difference within the tolerance. */
const many = (count: number, used: Used): readonly Used[] => Array.from({ length: count }, () => used);

const PRICES = { input_tokens: 1_000_000, output_tokens: 2_000_000, web_searches: 10_000_000_000 };

describe("POST /admin/v1/reconcile", () => {
  test("refuses a number of requests that is none by its row, in a map and in an export, and never fails", async () => {
    await team.record({ at: "2026-03-09T10:00:00Z", by: team.alice });
    const inMap = { files: [toFile(["2026-03-09", "fast-2026", "standard", "1.5", 6, 4, 2, ""])], map: MAP };
    const completions = await fixture("openai-completions.json");
    const text = completions.text.replace(/"num_model_requests": ?\d+/, '"num_model_requests": 0.5');
    expect(text).not.toBe(completions.text);
    for (const body of [inMap, { files: [{ ...completions, text }] }]) {
      await expectError(await post(body), "400 invalid_bill");
    }
  });

  test("holds a bill of the ledger's own figures against it: every line is equal, by day, upstream model and tier", async () => {
    const { alice } = team;
    await team.record(
      ...many(3, { at: "2026-03-09T10:00:00Z", by: alice }),
      { at: "2026-03-09T23:59:59.999999Z", by: alice, model: "alias" },
      { at: "2026-03-10T00:00:00Z", by: alice, provider: "other" },
      { at: "2026-03-10T10:00:00Z", by: alice, tier: "flex", prices: {}, costPico: null, unpriced: true },
    );
    const text = JSON.stringify(
      await reconcile({
        files: [
          toFile(
            ["2026-03-09", "fast-2026", "standard", 4, 24, 16, 8, "0.000048"],
            ["2026-03-10", "fast-2026", "standard", 1, 6, 4, 2, "0.000012"],
            ["2026-03-10", "fast-2026", "flex", 1, 6, 4, 2, ""],
          ),
        ],
        map: MAP,
      }),
    );
    const body = JSON.parse(text);
    expect(body).toMatchObject({
      agrees: true,
      counts: { equal: 3, within: 0, lockport_more: 0, bill_more: 0, only_here: 0, only_there: 0 },
      since: "2026-03-09",
      until: "2026-03-11",
      providers: null,
      files: [{ name: "bill.csv", format: "csv", rows: 3, skipped_rows: 0 }],
      total: { here: 0.00006, there: 0.00006 },
    });
    expect(body.lines[0]).toEqual({
      compared_with: "bill",
      day: "2026-03-09",
      model: "fast-2026",
      tier: "standard",
      kind: "equal",
      here: {
        requests: 4,
        units: { input_tokens: 24, cached_input_tokens: 16, output_tokens: 8 },
        cost: 0.000048,
        unpriced_requests: 0,
        unmetered_requests: 0,
      },
      there: {
        requests: 4,
        units: { input_tokens: 24, cached_input_tokens: 16, output_tokens: 8 },
        cost: 0.000048,
      },
      reasons: [],
    });
    expect(toKinds(body).slice(1)).toEqual([
      ["2026-03-10", "fast-2026", "flex", "equal"],
      ["2026-03-10", "fast-2026", "standard", "equal"],
    ]);
  });

  test("says what the bill has more of, and counts what told no usage", async () => {
    const { alice } = team;
    await team.record(
      ...many(20, { at: "2026-03-09T10:00:00Z", by: alice }),
      ...many(7, { at: "2026-03-09T11:00:00Z", by: alice, ...UNREACHABLE }),
      { at: "2026-03-09T11:00:00Z", by: alice, ...LIMITED },
    );
    const body = await reconcile({
      files: [toFile(["2026-03-09", "fast-2026", "standard", 27, 162, 108, 54, "0.000324"])],
      map: MAP,
    });
    expect(body).toMatchObject({ agrees: false, counts: { bill_more: 1 } });
    expect(body.lines[0].here).toMatchObject({ requests: 20, unmetered_requests: 8 });
    expect(body.lines[0].reasons).toEqual([
      {
        code: "no_usage",
        text: "The provider billed what no answer told us: 8 requests ended without usage.",
      },
    ]);
  });

  test("names the units that had no price, of the day and model of the line alone", async () => {
    const { alice } = team;
    const part = { at: "2026-03-09T10:00:00Z", by: alice, prices: { input_tokens: 1 }, unpriced: true };
    await team.record(part, part, { ...part, model: "alias", upstreamName: "other-2026", prices: {} });
    const body = await reconcile({
      files: [
        toFile(
          ["2026-03-09", "fast-2026", "standard", 2, 12, 8, 4, "1"],
          ["2026-03-09", "other-2026", "standard", 1, 6, 4, 2, "1"],
        ),
      ],
      map: MAP,
    });
    expect(body.lines.map(({ reasons }: any) => reasons[0])).toEqual([
      {
        code: "unpriced",
        text: "2 requests used units that have no price here: cached_input_tokens, output_tokens.",
      },
      {
        code: "unpriced",
        text: "1 request used units that have no price here: cached_input_tokens, input_tokens, output_tokens.",
      },
    ]);
  });

  test("compares a vendor's bill with the providers at its address, and each bill with its own vendor's", async () => {
    const { alice } = team;
    for (const [name, host] of [
      ["openai", "api.openai.com"],
      ["spoof", "openai.com.example"],
      ["router", "openrouter.ai"],
    ])
      await call(team, "POST", "/admin/v1/providers", { body: { name, base_url: `https://${host}/v1` } });
    const at = "2026-03-01T10:00:00Z";
    const usage = (tokens: number) =>
      ({ usage: { shape: "inclusive", quantities: { input_tokens: tokens } } }) as const;
    await team.record(
      ...many(200, {
        at,
        by: alice,
        provider: "openai",
        upstreamName: "text-embedding-3-small",
        ...usage(80),
      }),
      { at, by: alice, provider: "spoof", upstreamName: "spoofed" },
      ...many(5, {
        at,
        by: alice,
        provider: "router",
        upstreamName: "openai/gpt-4.1",
        usage: {
          shape: "inclusive",
          quantities: { input_tokens: 10, output_tokens: 25, cached_input_tokens: 4 },
        },
        costPico: 3_000_000_000n,
      }),
      { at, by: alice, provider: "up", upstreamName: "claude" },
      { at, by: alice, provider: RELAY_PROVIDER, upstreamName: null, model: "claude-sonnet-4-5-20250929" },
    );
    const both = await reconcile({
      files: [await fixture("openai-embeddings.json"), await fixture("openrouter-activity.json")],
    });
    expect(both.providers).toEqual(["openai", "router"]);
    expect(toKinds(both)).toEqual([
      ["2026-03-01", "openai/gpt-4.1", null, "equal"],
      ["2026-03-01", "text-embedding-3-small", null, "equal"],
    ]);
    const relayed = await reconcile({ files: [await fixture("anthropic-costs.json")] });
    expect(relayed.providers).toEqual([RELAY_PROVIDER]);
    expect(relayed.lines.map(({ model }: { model: string }) => model)).toEqual([
      "claude-sonnet-4-5-20250929",
      "web_search",
    ]);
    const named = await reconcile({ files: [await fixture("openai-embeddings.json")], provider: "spoof" });
    expect([named.providers, toKinds(named)]).toEqual([
      ["spoof"],
      [
        ["2026-03-01", "spoofed", null, "only_here"],
        ["2026-03-01", "text-embedding-3-small", null, "only_there"],
      ],
    ]);
  });

  test("holds an Anthropic bill of our own figures against the ledger: web searches, which it has apart, are equal too", async () => {
    const at = "2026-03-09T10:00:00Z";
    const searched = (searches: number, tier?: string): Used => ({
      at,
      by: team.alice,
      provider: RELAY_PROVIDER,
      upstreamName: null,
      model: "claude-sonnet-4-5-20250929",
      ...(tier !== undefined && { tier }),
      usage: {
        shape: "exclusive",
        quantities: { input_tokens: 10, output_tokens: 2, web_searches: searches },
      },
      prices: { ...(tier !== undefined && { when: { tier } }), ...PRICES },
      costPico: 14_000_000n + BigInt(searches) * 10_000_000_000n,
    });
    const opus = { ...searched(4), model: "claude-opus-4-6" };
    const without = { ...searched(0), at: "2026-03-10T10:00:00Z" };
    await team.record(...many(3, searched(2)), searched(1, "priority"), opus, without);
    const day = (date: string, results: readonly object[]) => ({ starting_at: `${date}T00:00:00Z`, results });
    const toUsage = (model: string, tier: string, count: number, searches: number) => ({
      model,
      service_tier: tier,
      uncached_input_tokens: 10 * count,
      cache_read_input_tokens: 0,
      output_tokens: 2 * count,
      server_tool_use: { web_search_requests: searches },
    });
    const sonnet = "claude-sonnet-4-5-20250929";
    const usage = [
      day("2026-03-09", [
        toUsage(sonnet, "standard", 3, 6),
        toUsage(sonnet, "priority", 1, 1),
        toUsage("claude-opus-4-6", "standard", 1, 4),
      ]),
      day("2026-03-10", [toUsage(sonnet, "standard", 1, 0)]),
    ];
    const toTokens = (model: string, tier: string, amount: string) => ({
      cost_type: "tokens",
      model,
      service_tier: tier,
      amount,
    });
    const tokens = [
      toTokens(sonnet, "standard", "0.0042"),
      toTokens(sonnet, "priority", "0.0014"),
      toTokens("claude-opus-4-6", "standard", "0.0014"),
    ];
    const toCosts = (cents: string) => [
      day("2026-03-09", [...tokens, { cost_type: "web_search", model: null, amount: cents }]),
      day("2026-03-10", [toTokens(sonnet, "standard", "0.0014")]),
    ];
    const toFiles = (data: readonly object[]) => [
      { name: "usage.json", text: JSON.stringify({ data: usage }) },
      { name: "costs.json", text: JSON.stringify({ data }) },
    ];
    const body = await reconcile({ files: toFiles(toCosts("11")) });
    expect(toKinds(body)).toEqual([
      ["2026-03-09", "claude-opus-4-6", "standard", "equal"],
      ["2026-03-09", sonnet, "priority", "equal"],
      ["2026-03-09", sonnet, "standard", "equal"],
      ["2026-03-09", "web_search", null, "equal"],
      ["2026-03-10", sonnet, "standard", "equal"],
    ]);
    expect(body).toMatchObject({ agrees: true, total: { here: 0.110084, there: 0.110084 } });
    expect(body.lines[3]).toMatchObject({
      here: { requests: 5, cost: 0.11 },
      there: { cost: 0.11 },
      reasons: [],
    });
    // Searches that the bill has at another price are a line of the tool alone.
    const dearer = await reconcile({ files: toFiles(toCosts("22")) });
    expect(dearer.lines.filter(({ kind }: any) => kind !== "equal")).toMatchObject([
      { model: "web_search", kind: "bill_more", reasons: [{ code: "tools_by_call" }] },
    ]);
  });

  test("tells searches without a price by the tool's own line", async () => {
    await team.record({
      at: "2026-03-09T10:00:00Z",
      by: team.alice,
      provider: RELAY_PROVIDER,
      upstreamName: null,
      model: "claude-opus-4-6",
      usage: { shape: "exclusive", quantities: { input_tokens: 10, output_tokens: 2, web_searches: 4 } },
      prices: { input_tokens: 1_000_000, output_tokens: 2_000_000 },
      costPico: 14_000_000n,
      unpriced: true,
    });
    const results = [
      { cost_type: "tokens", model: "claude-opus-4-6", service_tier: "standard", amount: "0.0014" },
      { cost_type: "web_search", model: null, amount: "4" },
    ];
    const text = JSON.stringify({ data: [{ starting_at: "2026-03-09T00:00:00Z", results }] });
    const { lines } = await reconcile({ files: [{ name: "costs.json", text }] });
    expect(lines).toMatchObject([
      { model: "claude-opus-4-6", kind: "equal", here: { unpriced_requests: 0 } },
      {
        model: "web_search",
        kind: "bill_more",
        here: { requests: 1, cost: null, unpriced_requests: 1 },
        reasons: [
          { code: "unpriced", text: "1 request used units that have no price here: web_searches." },
          { code: "tools_by_call" },
        ],
      },
    ]);
  });

  test("has a line where the answers told another cost than ours, beside one that agrees with the bill", async () => {
    const { alice } = team;
    await team.record(
      ...many(10, { at: "2026-03-09T10:00:00Z", by: alice, costReportedPico: 15_000_000n }),
      ...many(10, { at: "2026-03-10T10:00:00Z", by: alice, costReportedPico: 12_000_000n }),
    );
    const body = await reconcile({
      files: [
        toFile(
          ["2026-03-09", "fast-2026", "standard", 10, 60, 40, 20, "0.00012"],
          ["2026-03-10", "fast-2026", "standard", 10, 60, 40, 20, "0.00012"],
        ),
      ],
      map: MAP,
    });
    expect(body).toMatchObject({ agrees: false, total: { here: 0.00024, there: 0.00024 } });
    expect(body.lines.map(({ compared_with: source, day, kind }: any) => [source, day, kind])).toEqual([
      ["bill", "2026-03-09", "equal"],
      ["answers", "2026-03-09", "bill_more"],
      ["bill", "2026-03-10", "equal"],
    ]);
    expect(body.lines[1]).toMatchObject({
      here: { cost: 0.00012 },
      there: { requests: null, units: {}, cost: 0.00015 },
      reasons: [{ code: "cost_reported" }],
    });
  });

  test("takes whole days of a window, and refuses one of which the files tell nothing", async () => {
    const files = [
      toFile(
        ["2026-03-08", "m", "", 1, 1, 0, 1, 1],
        ["2026-03-09", "m", "", 1, 1, 0, 1, 1],
        ["2026-03-10", "m", "", 1, 1, 0, 1, 1],
      ),
    ];
    const body = await reconcile({
      files,
      map: MAP,
      since: "2026-03-09T15:00:00Z",
      until: "2026-03-09T16:00:00Z",
    });
    expect([body.since, body.until, body.lines.length]).toEqual(["2026-03-09", "2026-03-10", 1]);
    await expectError(await post({ files, map: MAP, since: "2027-01-01" }), "400 invalid_request", "since");
    await expectError(await post({ files, map: MAP, until: "2020-01-01" }), "400 invalid_request", "until");
  });

  test("keeps nothing of a file: neither the audit log nor the server's has a word of it", async () => {
    const secret = "kept-by-nobody";
    await reconcile({
      files: [{ ...toFile(["2026-03-09", secret, "", 1, 1, 0, 1, 1]), name: `${secret}.csv` }],
      map: MAP,
    });
    await expectError(await post({ files: [{ name: `${secret}.csv`, text: secret }] }), "400 invalid_bill");
    const { events } = await team.read("/admin/v1/events");
    expect(JSON.stringify(events) + team.logLines.join("")).not.toContain(secret);
    const facets = await team.read("/stats/requests/facets");
    expect(JSON.stringify(facets)).not.toContain(secret);
  });

  test("is for admins, and a body of more than its limit is refused", async () => {
    const body = { files: [toFile(["2026-03-09", "m", "", 1, 1, 0, 1, 1])], map: MAP };
    const member = { authorization: `Bearer ${team.alice.key}` };
    await expectError(await post(body, member), "403 admin_required");
    const long = { files: [{ name: "long.csv", text: "x".repeat(BILL_BODY_BYTES_MAX) }] };
    await expectError(await post(long), "413 request_too_large");
    for (const wrong of [{}, { files: [] }, { ...body, format: "xls" }, { ...body, map: { price: "x" } }])
      await expectError(await post(wrong), "400 invalid_request");
  });
});

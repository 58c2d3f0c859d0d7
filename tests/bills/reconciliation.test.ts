import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { join } from "node:path";
import type { Bill } from "#bills/bill.ts";
import { LINE_KINDS, REASON_CODES } from "#bills/compared-cell.ts";
import { readBill } from "#bills/read-bill.ts";
import {
  type Line,
  pairNames,
  reconcile as compare,
  type Reconciliation,
  toModelFamily,
} from "#bills/reconciliation.ts";
import { DAY_US } from "#kernel/clock.ts";
import type { UpstreamDay } from "#bills/compared-cell.ts";
import { toCsvRow } from "#stats/csv.ts";

const FIRST = Date.UTC(2026, 2, 1) / 86_400_000;
const DOLLAR = 1_000_000_000_000n;
const CENT = DOLLAR / 100n;

/** What the ledger has of a day. */
function use(model: string, given: Partial<UpstreamDay> & { readonly day?: number } = {}): UpstreamDay {
  const { day = FIRST, ...figures } = given;
  return {
    dayUs: day * DAY_US,
    model,
    tier: null,
    requests: 100,
    unmeteredRequests: 0,
    unpricedRequests: 0,
    unpricedUnits: [],
    costPico: DOLLAR,
    costReported: null,
    units: { input_tokens: 100_000, output_tokens: 10_000 },
    tools: [],
    ...figures,
  };
}

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

/** A bill of the ledger's own figures, each row changed. */
function toBill(days: readonly UpstreamDay[], columns: readonly string[] = COLUMNS): Bill {
  const rows = days.map((day) => {
    const cells: Record<string, string | number | bigint | null> = {
      date: new Date(day.dayUs / 1000).toISOString(),
      model: day.model,
      tier: day.tier ?? "standard",
      requests: day.requests,
      input_tokens: day.units.input_tokens ?? 0,
      cached_input_tokens: day.units.cached_input_tokens ?? 0,
      output_tokens: day.units.output_tokens ?? 0,
      cost: day.costPico,
    };
    return toCsvRow(columns.map((column) => cells[column] ?? null));
  });
  const map = Object.fromEntries(columns.map((column) => [column, MAP[column] ?? ""]));
  return readBill({ name: "own.csv", text: toCsvRow(columns) + rows.join("") }, { map });
}

const seen = new Set<string>();

function reconcile(bills: readonly Bill[], days: readonly UpstreamDay[]): Reconciliation {
  const compared = compare([{ bills, ledger: days }]);
  for (const { kind, reasons } of compared.lines)
    for (const word of [kind, ...reasons.map(({ code }) => code)]) seen.add(word);
  return compared;
}

const toKinds = (lines: readonly Line[]) =>
  lines.map(({ model, tier, kind, reasons }) => [model, tier, kind, reasons.map(({ code }) => code)]);

async function readFixture(name: string): Promise<Bill> {
  return readBill({ name, text: await Bun.file(join(import.meta.dir, "fixtures", name)).text() }, {});
}

describe("a bill that is made of the ledger's own figures", () => {
  test("is equal in every line, whatever they are", () => {
    const quantity = fc.nat({ max: 2 ** 40 });
    const arbitrary = fc.record({
      day: fc.nat({ max: 40 }).map((days) => FIRST + days),
      model: fc.constantFrom("gpt-5", "gpt-5-2025-08-07", "openai/gpt-5", "claude-opus-4-6", "m:free"),
      tier: fc.constantFrom(null, "flex", "priority"),
      requests: fc.integer({ min: 1, max: 2 ** 31 }),
      costPico: fc.bigInt({ min: 1n, max: 10n ** 19n }),
      units: fc.record({ input_tokens: quantity, cached_input_tokens: quantity, output_tokens: quantity }),
    });
    fc.assert(
      fc.property(
        fc.uniqueArray(arbitrary, {
          minLength: 1,
          maxLength: 30,
          selector: ({ day, model, tier }) => `${day} ${model} ${tier}`,
        }),
        (given) => {
          const days = given.map(({ model, ...figures }) => use(model, figures));
          const { lines, agrees, counts } = reconcile([toBill(days)], days);
          expect(new Set(lines.map(({ kind }) => kind))).toEqual(new Set(["equal"]));
          expect(lines).toHaveLength(days.length);
          expect(lines.flatMap(({ reasons }) => reasons)).toEqual([]);
          expect([agrees, counts.equal]).toEqual([true, days.length]);
          // One request more than may be missing, of each measure, is not.
          const [first, ...rest] = days;
          if (first === undefined) return;
          const dearer = { ...first, costPico: (first.costPico ?? 0n) * 2n };
          expect(reconcile([toBill([dearer, ...rest])], days).agrees).toBe(false);
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe("each kind of line", () => {
  const of = (there: Partial<UpstreamDay>, here: Partial<UpstreamDay> = {}) =>
    reconcile([toBill([use("gpt-5", there)])], [use("gpt-5", here)]).lines.map(({ kind }) => kind);

  test("equal: not a pico apart", () => {
    expect(of({})).toEqual(["equal"]);
    expect(of({ costPico: DOLLAR + 1n })).toEqual(["within"]);
  });

  test("within: 1 %, of each measure, and no more", () => {
    expect(of({ costPico: DOLLAR - CENT })).toEqual(["within"]);
    expect(of({ costPico: DOLLAR - CENT - 1n })).toEqual(["lockport_more"]);
    expect(of({ units: { input_tokens: 101_010, output_tokens: 10_000 } })).toEqual(["within"]);
    expect(of({ units: { input_tokens: 101_011, output_tokens: 10_000 } })).toEqual(["bill_more"]);
  });

  test("within: five requests, and what they may have used", () => {
    const five = {
      requests: 105,
      costPico: (DOLLAR * 105n) / 100n,
      units: { input_tokens: 105_000, output_tokens: 10_500 },
    };
    expect(of(five)).toEqual(["within"]);
    expect(of({ ...five, requests: 106 })).toEqual(["bill_more"]);
    // No more requests than here explain no more tokens.
    expect(of({ ...five, requests: 100 })).toEqual(["bill_more"]);
  });

  test("more on one side: cost decides before tokens", () => {
    expect(of({ costPico: 2n * DOLLAR, units: { input_tokens: 1, output_tokens: 1 } })).toEqual([
      "bill_more",
    ]);
    expect(of({ costPico: CENT, units: { input_tokens: 1e6, output_tokens: 1e6 } })).toEqual([
      "lockport_more",
    ]);
  });

  test("only on one side", () => {
    const { lines } = reconcile(
      [toBill([use("o3")])],
      [use("gpt-5", { requests: 1, units: { input_tokens: 7 } })],
    );
    expect(toKinds(lines)).toEqual([
      ["gpt-5", "standard", "only_here", []],
      ["o3", "standard", "only_there", []],
    ]);
    expect([lines[0]?.there, lines[1]?.here]).toEqual([null, null]);
  });

  test("a failed request that no bill tells of is no line, and neither is a day beyond the bill's", () => {
    const failed = use("o3", { requests: 0, unmeteredRequests: 3, costPico: null, units: {} });
    const days = [use("gpt-5"), failed, use("gpt-5", { day: FIRST + 1 }), use("gpt-5", { day: FIRST - 1 })];
    expect(toKinds(reconcile([toBill([use("gpt-5")])], days).lines)).toEqual([
      ["gpt-5", "standard", "equal", []],
    ]);
  });
});

describe("the likely reason", () => {
  test("unpriced units, where the bill costs more", () => {
    const here = [use("gpt-5", { costPico: CENT, unpricedRequests: 12 })];
    const { lines } = reconcile([toBill([use("gpt-5")])], here);
    expect(lines[0]?.reasons[0]).toEqual({
      code: "unpriced",
      text: "12 requests used a unit that has no price here.",
    });
    const named = [use("gpt-5", { ...here[0], unpricedUnits: ["images", "cached_input_tokens"] })];
    expect(reconcile([toBill([use("gpt-5")])], named).lines[0]?.reasons[0]?.text).toBe(
      "12 requests used units that have no price here: cached_input_tokens, images.",
    );
    // The prices of both are no reason where some are missing.
    expect(lines[0]?.reasons.map(({ code }) => code)).toEqual(["unpriced", "cost_alone"]);
    const cheaper = reconcile([toBill([use("gpt-5", { costPico: CENT / 100n })])], here);
    expect(cheaper.lines[0]?.reasons.map(({ code }) => code)).not.toContain("unpriced");
  });

  test("unpriced units, where costs are all that the bill tells: what was used here is not only there", () => {
    const costs = COLUMNS.filter((column) => ["date", "model", "cost"].includes(column));
    const here = use("gpt-nano", { requests: 2, costPico: null, unpricedRequests: 2 });
    const { lines } = reconcile([toBill([use("gpt-nano")], costs)], [here]);
    expect(toKinds(lines)).toEqual([["gpt-nano", null, "bill_more", ["unpriced"]]]);
    // What failed here without any usage is on the bill alone.
    const failed = use("gpt-nano", { requests: 0, unmeteredRequests: 2, costPico: null, units: {} });
    expect(toKinds(reconcile([toBill([use("gpt-nano")], costs)], [failed]).lines)).toEqual([
      ["gpt-nano", null, "only_there", ["no_usage"]],
    ]);
  });

  test("cancelled and failed requests without usage, with our count of them", () => {
    const there = use("gpt-5", {
      requests: 120,
      units: { input_tokens: 120_000, output_tokens: 12_000 },
      costPico: (DOLLAR * 6n) / 5n,
    });
    const { lines } = reconcile([toBill([there])], [use("gpt-5", { unmeteredRequests: 20 })]);
    expect(lines[0]?.reasons).toEqual([
      {
        code: "no_usage",
        text: "The provider billed what no answer told us: 20 requests ended without usage.",
      },
    ]);
    const less = reconcile(
      [toBill([use("gpt-5", { requests: 10 })])],
      [use("gpt-5", { unmeteredRequests: 20 })],
    );
    expect(less.lines[0]?.reasons).toEqual([]);
  });

  test("other prices, with the unit cost of both; tokens equal and cost not", () => {
    const { lines } = reconcile([toBill([use("gpt-5", { costPico: (DOLLAR * 11n) / 10n })])], [use("gpt-5")]);
    expect(lines[0]?.reasons).toEqual([
      { code: "other_prices", text: "A million tokens cost $9.09091 here and $10 there, on average." },
      { code: "cost_alone", text: "Tokens are equal, and cost is not." },
    ]);
    // Twice the tokens at twice the cost have the same price.
    const twice = use("gpt-5", {
      costPico: 2n * DOLLAR,
      units: { input_tokens: 200_000, output_tokens: 20_000 },
    });
    expect(reconcile([toBill([twice])], [use("gpt-5")]).lines[0]?.reasons).toEqual([]);
  });

  test("a tier: what we counted as standard is billed as flex", () => {
    const bill = toBill([
      use("gpt-5", { requests: 60, units: { input_tokens: 60_000, output_tokens: 6000 } }),
      use("gpt-5", { tier: "flex", requests: 40, units: { input_tokens: 40_000, output_tokens: 4000 } }),
    ]);
    const { lines } = reconcile([bill], [use("gpt-5", { costPico: 3n * DOLLAR })]);
    expect(lines.map(({ tier, kind }) => [tier, kind])).toEqual([
      ["flex", "only_there"],
      ["standard", "lockport_more"],
    ]);
    for (const { reasons } of lines) expect(reasons.map(({ code }) => code)).toContain("tier_or_band");
    expect(lines[0]?.reasons[0]?.text).toContain("flex, standard");
  });

  test("a tier of ours that the bill does not tell apart", () => {
    const columns = COLUMNS.filter((column) => column !== "tier");
    const { lines } = reconcile(
      [toBill([use("gpt-5")], columns)],
      [use("gpt-5", { tier: "priority", costPico: 2n * DOLLAR })],
    );
    expect(toKinds(lines)).toEqual([
      ["gpt-5", null, "lockport_more", ["other_prices", "tier_or_band", "cost_alone"]],
    ]);
    expect(lines[0]?.reasons[1]?.text).toContain("priority");
  });

  test("a band: the bill's usage of a long context", async () => {
    const bills = [await readFixture("anthropic-usage.json"), await readFixture("anthropic-costs.json")];
    const [usage] = bills;
    const long = usage?.rows.find(({ tier }) => tier === "priority");
    const costs = {
      ...(bills[1] ?? never()),
      rows: [{ day: FIRST, model: long?.model ?? "", tier: "priority", units: {}, costPico: 4n * DOLLAR }],
    };
    const here = use("claude-sonnet-4-5-20250929", {
      tier: "priority",
      units: { input_tokens: 300_000, output_tokens: 4000 },
      costPico: 2n * DOLLAR,
    });
    const { lines } = reconcile([usage ?? never(), costs], [here]);
    const line = lines.find(({ tier }) => tier === "priority");
    expect(line?.reasons.find(({ code }) => code === "tier_or_band")?.text).toBe(
      "It has usage with prices of its own: context 200k-1M, region us.",
    );
  });

  test("a day shifted: two days together are the same", () => {
    const half = {
      requests: 50,
      costPico: DOLLAR / 2n,
      units: { input_tokens: 50_000, output_tokens: 5000 },
    };
    const more = {
      requests: 150,
      costPico: (DOLLAR * 3n) / 2n,
      units: { input_tokens: 150_000, output_tokens: 15_000 },
    };
    const bill = toBill([
      use("gpt-5", half),
      use("gpt-5", { ...more, day: FIRST + 1 }),
      use("gpt-5", { ...more, day: FIRST + 2 }),
    ]);
    const here = [use("gpt-5"), use("gpt-5", { day: FIRST + 1 }), use("gpt-5", { day: FIRST + 2 })];
    expect(toKinds(reconcile([bill], here).lines)).toEqual([
      ["gpt-5", "standard", "lockport_more", ["day_shifted"]],
      ["gpt-5", "standard", "bill_more", ["day_shifted"]],
      ["gpt-5", "standard", "bill_more", []],
    ]);
    const whole = reconcile(
      [toBill([use("o3", { day: FIRST + 1 }), use("gpt-5")])],
      [use("o3"), use("gpt-5")],
    );
    expect(toKinds(whole.lines.filter(({ model }) => model === "o3"))).toEqual([
      ["o3", "standard", "only_here", ["day_shifted"]],
      ["o3", "standard", "only_there", ["day_shifted"]],
    ]);
  });

  test("a model named otherwise: by its snapshot, and where nothing but the quantities tells", () => {
    const snapshot = reconcile([toBill([use("gpt-5-2025-08-07")])], [use("gpt-5")]);
    expect(toKinds(snapshot.lines)).toEqual([["gpt-5", "standard", "equal", ["named_otherwise"]]]);
    expect(snapshot.lines[0]).toMatchObject({
      billedAs: ["gpt-5-2025-08-07"],
      reasons: [{ text: "The bill calls gpt-5 gpt-5-2025-08-07." }],
    });
    const costs = toBill([use("gpt-5-2025-08-07")], ["date", "model", "cost"]);
    expect(toKinds(reconcile([costs], [use("gpt-5")]).lines)).toEqual([
      ["gpt-5", null, "equal", ["named_otherwise"]],
    ]);
    const deployment = reconcile([toBill([use("chat-prod")])], [use("gpt-5")]);
    expect(toKinds(deployment.lines)).toEqual([["gpt-5", "standard", "equal", ["named_otherwise"]]]);
    // Two that have the same could be either.
    const two = reconcile([toBill([use("chat-prod")])], [use("gpt-5"), use("o3")]);
    expect(two.lines.map(({ kind }) => kind).sort()).toEqual(["only_here", "only_here", "only_there"]);
  });

  test("tools that are billed by the call", async () => {
    const here = use("gpt-5-2025-08-07", { costPico: 427_500_000_000n });
    const { lines } = reconcile([await readFixture("openai-costs.json")], [here]);
    expect(toKinds(lines)).toEqual([
      ["gpt-5-2025-08-07", null, "equal", []],
      ["web search tool calls", null, "only_there", ["tools_by_call"]],
    ]);
    expect(lines[1]?.reasons[0]?.text).toBe("$0.25 of it is for tools, which are billed by the call.");
  });

  test("tools that the bill has apart from models: our cost of them is taken out of the model's", async () => {
    const tools = { unit: "web_searches", requests: 20, unpricedRequests: 0, costPico: DOLLAR / 4n } as const;
    const name = "gpt-5-2025-08-07";
    const units = { web_searches: 25 };
    const here = use(name, { costPico: 427_500_000_000n + DOLLAR / 4n, tools: [tools], units });
    const bill = await readFixture("openai-costs.json");
    const { lines, total, agrees } = reconcile([bill], [here]);
    expect(toKinds(lines)).toEqual([
      [name, null, "equal", []],
      ["web search tool calls", null, "equal", []],
    ]);
    expect([agrees, total.here, total.there]).toEqual([true, 677_500_000_000n, 677_500_000_000n]);
    // Those that the bill lacks are only here.
    const without = { ...bill, rows: bill.rows.filter(({ isTool }) => isTool !== true) };
    expect(toKinds(reconcile([without], [here]).lines)).toEqual([
      [name, null, "equal", []],
      ["web_searches", null, "only_here", []],
    ]);
    // Where no row tells how much they cost, the lines say so.
    const mixed = reconcile([bill], [{ ...here, tools: null }]);
    expect(toKinds(mixed.lines)).toEqual([
      [name, null, "lockport_more", ["tools_by_call"]],
      ["web search tool calls", null, "only_there", ["tools_by_call"]],
    ]);
    expect(mixed.lines[0]?.reasons[0]?.text).toBe(
      "The cost here has that of 25 calls of tools, which the bill has apart: rows no longer tell how much, or are too many.",
    );
  });
});

describe("the costs that answers told themselves", () => {
  const told = (pico: bigint, requests = 100) => use("gpt-5", { costReported: { requests, pico } });
  const linesOf = (here: UpstreamDay) => reconcile([toBill([use("gpt-5")])], [here]).lines;

  test("are a line of their own where they differ by more than 1 %, whatever the bill says", () => {
    expect(linesOf(told(DOLLAR + CENT)).map(({ comparedWith }) => comparedWith)).toEqual(["bill"]);
    const [billed, answered] = linesOf(told(2n * DOLLAR));
    expect(billed).toMatchObject({ comparedWith: "bill", kind: "equal", reasons: [] });
    expect(answered).toMatchObject({
      comparedWith: "answers",
      tier: "standard",
      kind: "bill_more",
      there: { requests: null, costPico: 2n * DOLLAR },
      reasons: [{ code: "cost_reported", text: "The answers of 100 requests told a cost of $2 themselves." }],
    });
    expect(linesOf(told(DOLLAR / 2n))[1]).toMatchObject({ kind: "lockport_more" });
  });

  test("of some requests alone are compared where they exceed the cost of all", () => {
    expect(linesOf(told(DOLLAR / 2n, 50))).toHaveLength(1);
    expect(linesOf(told(2n * DOLLAR, 50))).toHaveLength(2);
  });

  test("say that some of ours is unpriced, and count on the days of the bill alone", () => {
    const unpriced = use("gpt-5", {
      costPico: null,
      unpricedRequests: 100,
      costReported: { requests: 100, pico: DOLLAR },
    });
    expect(linesOf(unpriced).map(({ kind, reasons }) => [kind, reasons.map(({ code }) => code)])).toEqual([
      ["bill_more", ["unpriced", "cost_alone"]],
      ["bill_more", ["cost_reported", "unpriced"]],
    ]);
    expect(linesOf({ ...told(9n * DOLLAR), dayUs: (FIRST + 9) * DAY_US }).map(({ kind }) => kind)).toEqual([
      "only_there",
    ]);
  });
});

describe("bills of several kinds", () => {
  test("usage and costs that tell the same apart are one line", async () => {
    const text = await Bun.file(join(import.meta.dir, "fixtures", "openai-usage.csv")).text();
    const flat = readBill({ name: "usage.csv", text: text.replaceAll(",False,default,", ",,,") }, {});
    const units = { input_tokens: 100_000, cached_input_tokens: 20_000, output_tokens: 30_000 };
    const here = use("gpt-5-2025-08-07", { requests: 60, units, costPico: 427_500_000_000n });
    const costs = await readFixture("openai-costs.json");
    const own = { ...costs, rows: costs.rows.filter(({ isTool }) => isTool !== true) };
    const { lines } = reconcile([flat, own], [here]);
    expect(toKinds(lines)).toEqual([["gpt-5-2025-08-07", null, "equal", []]]);
    expect(lines[0]?.there).toEqual({ requests: 60, units, costPico: 427_500_000_000n });
  });

  describe("of which some tell tiers", () => {
    const columnsOf = (...names: readonly string[]) =>
      COLUMNS.filter((column) => names.includes(column) || column === "date" || column === "model");
    const chat = use("gpt-5", { requests: 60, costPico: 60n * CENT });
    const flex = use("gpt-5", { tier: "flex", requests: 40, costPico: 20n * CENT });
    const embeddings = use("embedding-3", { costPico: 7n * CENT, units: { input_tokens: 5000 } });
    const ledger = [chat, flex, embeddings];
    const byTier = toBill([chat, flex], columnsOf("tier", "requests", "input_tokens", "output_tokens"));
    const ofEmbeddings = toBill([embeddings], columnsOf("requests", "input_tokens"));
    const toFigures = ({ lines, total }: Reconciliation) => ({
      kinds: toKinds(lines),
      requests: lines.map(({ here }) => here?.requests),
      total,
    });

    test("completions by tier and embeddings without one are each compared as they are told, and once", () => {
      const found = reconcile([byTier, ofEmbeddings], ledger);
      expect(toFigures(found)).toEqual({
        kinds: [
          ["embedding-3", null, "equal", []],
          ["gpt-5", "flex", "equal", []],
          ["gpt-5", "standard", "equal", []],
        ],
        requests: [100, 40, 60],
        total: { here: null, there: null },
      });
      expect(found.agrees).toBe(true);
    });

    test("usage by tier and costs by model are compared apart, and each cost of ours counts once", () => {
      const costs = toBill([use("gpt-5", { costPico: 80n * CENT }), embeddings], columnsOf("cost"));
      const total = { here: 87n * CENT, there: 87n * CENT };
      expect(toFigures(reconcile([byTier, ofEmbeddings, costs], ledger))).toEqual({
        kinds: [
          ["embedding-3", null, "equal", []],
          ["gpt-5", null, "equal", []],
          ["gpt-5", "flex", "equal", []],
          ["gpt-5", "standard", "equal", []],
        ],
        requests: [100, 100, 40, 60],
        total,
      });
      // Without the file of embeddings, what costs alone tell of is compared by cost, and is not only here.
      expect(toFigures(reconcile([byTier, costs], ledger))).toMatchObject({
        kinds: [
          ["embedding-3", null, "equal", []],
          ["gpt-5", null, "equal", []],
          ["gpt-5", "flex", "equal", []],
          ["gpt-5", "standard", "equal", []],
        ],
        total,
      });
      // Costs of one day more do not ask for usage of that day, and what no bill has is only here, once.
      const next = use("gpt-5", { day: FIRST + 1 });
      const o3 = use("o3", { costPico: CENT });
      const later = toBill([next], columnsOf("cost"));
      expect(toFigures(reconcile([byTier, costs, later], [...ledger, next, o3]))).toMatchObject({
        kinds: [
          ["embedding-3", null, "equal", []],
          ["gpt-5", null, "equal", []],
          ["gpt-5", "flex", "equal", []],
          ["gpt-5", "standard", "equal", []],
          ["o3", "standard", "only_here", []],
          ["gpt-5", null, "equal", []],
        ],
        total: { here: 188n * CENT, there: 187n * CENT },
      });
    });

    test("usage by model beside costs of all: what the usage lacks counts once in the sum", () => {
      const costs = toBill([use("", { costPico: 87n * CENT })], ["date", "cost"]);
      expect(toFigures(reconcile([byTier, costs], ledger))).toMatchObject({
        kinds: [
          [null, null, "equal", []],
          ["embedding-3", "standard", "only_here", []],
          ["gpt-5", "flex", "equal", []],
          ["gpt-5", "standard", "equal", []],
        ],
        total: { here: 87n * CENT, there: 87n * CENT },
      });
    });
  });

  test("a bill without anything in its days is not equal to what was used", () => {
    const text = JSON.stringify({ data: [{ start_time: FIRST * 86_400, results: [] }] });
    const empty = readBill({ name: "costs.json", text }, { format: "openai-costs" });
    expect(toKinds(reconcile([empty], [use("gpt-5")]).lines)).toEqual([[null, null, "only_here", []]]);
    expect(reconcile([empty], []).lines).toEqual([]);
    const usage = readBill({ name: "usage.json", text }, { format: "openai-usage" });
    expect(toKinds(reconcile([usage], [use("gpt-5")]).lines)).toEqual([[null, null, "only_here", []]]);
  });

  test("a bill that tells no model is compared with the sum of all", async () => {
    const days = [
      use("gpt-5", { costPico: 400_000_000_000n }),
      use("o3", { costPico: 27_500_000_000n, tier: "flex" }),
    ];
    const { lines } = reconcile([await readFixture("openai-costs.csv")], days);
    expect(toKinds(lines)).toEqual([[null, null, "equal", []]]);
    expect(lines[0]?.there).toEqual({ requests: null, units: {}, costPico: 427_500_000_000n });
  });

  test("where cached tokens are not told apart, they are part of the input", async () => {
    const here = use("openai/gpt-4.1", {
      requests: 5,
      costPico: 15_000_000_000n,
      units: { input_tokens: 20, cached_input_tokens: 30, output_tokens: 125 },
    });
    expect(toKinds(reconcile([await readFixture("openrouter-activity.json")], [here]).lines)).toEqual([
      ["openai/gpt-4.1", null, "equal", []],
    ]);
  });

  test("Azure's meters of one deployment are one line, under our name for it", async () => {
    const units = { input_tokens: 1_200_000, cached_input_tokens: 300_000, output_tokens: 50_500 };
    const here = [
      use("gpt-4o-mini", { units, costPico: 232_800_000_000n }),
      use("gpt-5.1", { tier: "priority", units: { input_tokens: 250_000 }, costPico: 625_000_000_000n }),
    ];
    expect(toKinds(reconcile([await readFixture("azure-costs.csv")], here).lines)).toEqual([
      ["gpt-4o-mini", "standard", "equal", ["named_otherwise"]],
      ["gpt-5.1", "priority", "equal", ["named_otherwise"]],
    ]);
  });
});

describe("files that tell the same days twice", () => {
  const of = (file: string, ...columns: readonly string[]) => {
    const days = [use("gpt-5"), use("gpt-5", { day: FIRST + 1 }), use("o3", { costPico: 3n * DOLLAR })];
    return { ...toBill(days, ["date", ...columns]), file };
  };
  const ledger = [use("gpt-5")];
  const refusal = (message: string) =>
    expect.objectContaining({ code: "invalid_bill", param: "files", message });

  test("are refused where one is by model and the other is not, with both names and the days", () => {
    expect(() => reconcile([of("fine.csv", "model", "cost"), of("coarse.csv", "cost")], ledger)).toThrow(
      refusal(
        "fine.csv tells costs of 2026-03-01 to 2026-03-02 by model, and coarse.csv without a model: each cost would count twice. Leave one of them out.",
      ),
    );
    const [more] = toBill([use("", { costPico: 9n * DOLLAR })], ["date", "cost"]).rows;
    const coarse = { ...of("coarse.csv", "cost"), rows: more === undefined ? [] : [more] };
    expect(() => reconcile([coarse, of("fine.csv", "model", "requests", "cost")], ledger)).toThrow(
      refusal(
        "fine.csv tells costs of 2026-03-01 by model, and coarse.csv without a model: each cost would count twice. Leave one of them out.",
      ),
    );
    expect(() =>
      reconcile([of("fine.csv", "model", "requests"), of("coarse.csv", "requests", "input_tokens")], ledger),
    ).toThrow(
      expect.objectContaining({ message: expect.stringContaining("each request would count twice") }),
    );
  });

  test("are refused where both have the same sums: a file twice, and as JSON and CSV", async () => {
    const same = "tell the same of 2026-03-01 to 2026-03-02, which would count twice: leave one of them out.";
    const twice = [
      of("usage.csv", "model", "requests", "cost"),
      of("usage.csv", "model", "requests", "cost"),
    ];
    expect(() => reconcile(twice, ledger)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`usage.csv and usage.csv ${same}`) }),
    );
    const byTier = [of("a.csv", "model", "tier", "cost"), of("b.csv", "model", "cost")];
    expect(() => reconcile(byTier, ledger)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(`a.csv and b.csv ${same}`) }),
    );
    // A CSV rounds what JSON has to more digits.
    const json = await readFixture("openai-costs.json");
    const csv = { ...json, file: "costs.csv" };
    const rows = json.rows.map((row) => ({ ...row, costPico: (row.costPico ?? 0n) + 100_000_000n }));
    expect(() => reconcile([json, { ...csv, rows }], ledger)).toThrow(
      expect.objectContaining({ message: expect.stringContaining("openai-costs.json and costs.csv tell") }),
    );
  });

  test("are compared where they tell different things: of other days, of other projects, usage and costs", () => {
    const later = toBill([use("gpt-5", { day: FIRST + 1 })], ["date", "cost"]);
    const first = toBill([use("gpt-5")], ["date", "model", "cost"]);
    const second = toBill([use("gpt-5", { costPico: DOLLAR / 2n })], ["date", "model", "cost"]);
    const usage = toBill([use("gpt-5")], ["date", "requests"]);
    const days = [use("gpt-5", { costPico: (3n * DOLLAR) / 2n }), use("gpt-5", { day: FIRST + 1 })];
    const { lines, agrees } = reconcile([first, second, later, usage], days);
    expect(lines.map(({ model, kind }) => [model, kind])).toEqual([
      [null, "equal"],
      ["gpt-5", "equal"],
      [null, "equal"],
    ]);
    expect(agrees).toBe(true);
    // What costs nothing in both is no sign of one file.
    const free = { costPico: 0n };
    const columns = ["date", "model", "requests", "cost"];
    const two = [toBill([use("m", free)], columns), toBill([use("m", { ...free, requests: 7 })], columns)];
    expect(reconcile(two, [use("m", { ...free, requests: 107 })]).agrees).toBe(true);
  });

  test("of which one is empty are one bill: what was used is not on our side alone, again", () => {
    const text = JSON.stringify({ data: [{ start_time: FIRST * 86_400, results: [] }] });
    const empty = readBill({ name: "costs.json", text }, { format: "openai-costs" });
    const costs = toBill([use("gpt-5")], ["date", "model", "cost"]);
    expect(toKinds(reconcile([costs, empty], ledger).lines)).toEqual([["gpt-5", null, "equal", []]]);
  });
});

test("every kind and every reason was produced above", () => {
  expect([...LINE_KINDS, ...REASON_CODES].filter((word) => !seen.has(word))).toEqual([]);
});

test("names of one family", () => {
  for (const family of [
    ["gpt-5", "gpt-5-2025-08-07", "openai/gpt-5", "GPT 5", "gpt-5-latest"],
    [
      "claude-3-5-sonnet",
      "Claude 3.5 Sonnet 2024-10-22",
      "anthropic/claude-3.5-sonnet:beta",
      "claude-3-5-sonnet@20241022",
    ],
  ])
    expect(new Set(family.map(toModelFamily)).size).toBe(1);
  expect(toModelFamily("gpt-5-mini")).not.toBe(toModelFamily("gpt-5"));
  // Both have both: nothing is put together.
  const both = new Map([
    ["gpt-4o", "1"],
    ["gpt-4o-2024-08-06", "2"],
  ]);
  expect([...pairNames(both, both)]).toEqual([]);
});

function never(): never {
  throw new Error("a fixture is missing");
}

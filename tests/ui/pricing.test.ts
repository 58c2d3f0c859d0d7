import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FEED_ENTRIES_MAX, parseFeed } from "#catalog/feed.ts";
import { ProxyError } from "#kernel/errors.ts";
import { UNITS } from "#kernel/units.ts";
import { type NamesInUse, toPricedModels } from "#interchange/prices-in-use.ts";
import { toOfferWords } from "../../ui/catalog/list-offer.tsx";
import type { Model, Pricing } from "../../ui/api/catalog.ts";
import {
  FeedTextError,
  planLoad,
  readFeedText,
  toFeed,
  toFeedDiff,
  toUsedNames,
  type FeedReading,
} from "../../ui/pages/models/prices/feed.ts";
import { toMissingId, toMissingNow } from "../../ui/pages/models/prices/price-list.tsx";
import { planPriceWrite, type PriceWrite } from "../../ui/pages/models/prices/set-price-dialog.tsx";

const ALL = { version: "v", leavesOutBad: false, onlyUsed: false };
const NOBODY: NamesInUse = { models: [], others: [] };

async function read(value: unknown): Promise<FeedReading> {
  return await readFeedText(JSON.stringify(value));
}

function kept(name: string, unit: (typeof UNITS)[number], million: number, version: string | null = null) {
  return { model: name, unit, price_per_unit: million / 1e6, price_per_million: million, version };
}

function model(alias: string, more: Partial<Model> = {}): Model {
  return {
    alias,
    provider: "acme",
    upstream_name: `${alias}-upstream`,
    capabilities: ["chat"],
    origin: "declared",
    created_at: "2026-01-01T00:00:00.000000Z",
    target: null,
    pricing: {},
    pricing_inherited: false,
    hidden: false,
    ...more,
  };
}

/** What the server says of a feed: nothing, or the field that it refuses first. */
function judge(feed: { readonly version?: unknown; readonly entries: readonly unknown[] }): string | null {
  try {
    parseFeed(feed);
    return null;
  } catch (failure) {
    if (failure instanceof ProxyError) return failure.param;
    throw failure;
  }
}

/** The error that it throws; null when it throws none. */
async function failureOf(reading: Promise<unknown>): Promise<unknown> {
  return await reading.then(
    () => null,
    (failure: unknown) => failure,
  );
}

describe("a feed that is read here", () => {
  const price = fc.oneof(
    fc.double({ min: 0, max: 1e9, noNaN: true }),
    fc.integer({ min: -2, max: 50 }).map((digits) => digits / 1e6),
    fc.constantFrom(0, 0.1 / 1e6, 1e-12, 1e-13, -1, 1e9, 1e10, "1", null),
  );
  const entry = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record(
        {
          model: fc.constantFrom("a", "b", "", "x\u0000", "c/d", "é".repeat(201)),
          unit: fc.constantFrom(...UNITS, "tokens"),
          price_per_million: price,
          price_per_unit: price,
          note: fc.constant("x"),
        },
        { requiredKeys: ["model", "unit"] },
      ),
    },
    { weight: 1, arbitrary: fc.constantFrom(null, 5, "x", []) },
  );

  test("is found good and bad by exactly the server's rule, also once the bad entries are left out", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("v1", "", "\n", undefined, 7),
        fc.array(entry, { maxLength: 8 }),
        async (version, entries) => {
          const reading = await read({ version, entries });
          const label = typeof reading.version === "string" ? reading.version : "";
          const plan = planLoad(reading, { ...ALL, version: label }, NOBODY);
          const refused = plan.versionError === null ? (plan.problems[0]?.param ?? null) : "version";
          expect(refused).toBe(judge({ version, entries }));
          const mended = planLoad(reading, { ...ALL, leavesOutBad: true }, NOBODY);
          expect(mended.problems).toEqual([]);
          expect(judge(toFeed(mended.entries, "v"))).toBeNull();
          expect(mended.entries).toHaveLength(entries.length - reading.badEntries.length);
        },
      ),
    );
  });

  test("is sent with the exact prices that the file meant", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 1e15 }), { maxLength: 20 }), async (picos) => {
        const entries = picos.map((pico, index) => ({
          model: `m${index}`,
          unit: "input_tokens",
          ...(index % 2 === 0 ? { price_per_unit: pico / 1e12 } : { price_per_million: pico / 1e6 }),
        }));
        const reading = await read({ version: "v", entries });
        const sent = parseFeed(JSON.parse(JSON.stringify(toFeed(reading.entries, "v"))));
        expect(sent.entries.map(({ pricePico }) => pricePico)).toEqual(picos);
      }),
    );
  });

  test("names every bad entry, its field and a field that no feed has", async () => {
    const good = { model: "a", unit: "input_tokens", price_per_million: 1 };
    const reading = await read({
      version: "v",
      currency: "EUR",
      entries: [good, { ...good, unit: "tokens" }, good, { ...good, model: "b", price_per_unit: 1 }],
    });
    expect(planLoad(reading, ALL, NOBODY).problems.map(({ param }) => param)).toEqual([
      "currency",
      "entries[1].unit",
      "entries[2]",
      "entries[3]",
    ]);
    expect(planLoad(reading, { ...ALL, leavesOutBad: true }, NOBODY).problems).toHaveLength(1);
  });

  test("with more entries than the server takes is refused until fewer are chosen, and reading it lets others run", async () => {
    const entries = Array.from({ length: FEED_ENTRIES_MAX + 1 }, (_, index) => ({
      model: `m${index}`,
      unit: "input_tokens",
      price_per_million: 1,
    }));
    const seen: number[] = [];
    let turns = 0;
    const timer = setInterval(() => (turns += 1));
    const reading = await readFeedText(JSON.stringify({ version: "v", entries }), {
      onProgress: (ratio) => seen.push(ratio),
    });
    clearInterval(timer);
    expect(planLoad(reading, ALL, NOBODY).problems.map(({ param }) => param)).toEqual(["entries"]);
    expect(planLoad(reading, { ...ALL, onlyUsed: true }, { models: [], others: ["m5"] }).problems).toEqual(
      [],
    );
    expect(seen.length).toBeGreaterThan(5);
    expect(seen).toEqual(seen.toSorted((left, right) => left - right));
    expect(turns).toBeGreaterThan(0);
  });

  test("is given up when nobody waits for it", async () => {
    const stop = new AbortController();
    const reading = readFeedText('{"version":"v","entries":[1]}', { signal: stop.signal });
    stop.abort();
    expect(await failureOf(reading)).toBeInstanceOf(DOMException);
  });

  test.each(["", "{", "[]", "5", '{"entries":5}', '{"a":{"b":1}}'])("is told from %p", async (text) => {
    expect(await failureOf(readFeedText(text))).toBeInstanceOf(FeedTextError);
  });
});

describe("LiteLLM's price map", () => {
  const MAP = {
    sample_spec: { input_cost_per_token: 0, output_cost_per_token: 0 },
    "gpt-5": {
      input_cost_per_token: 1.25e-6,
      output_cost_per_token: 1e-5,
      cache_read_input_token_cost: 1.25e-7,
      input_cost_per_token_batches: 6e-7,
      mode: "chat",
    },
    "azure/whisper": {
      input_cost_per_second: 0.0001,
      output_cost_per_second: 0.0001,
      mode: "audio_transcription",
    },
    "dall-e-3": { input_cost_per_image: 0.04, mode: "image_generation" },
    "too-fine": { input_cost_per_token: 1.5e-13, output_cost_per_token: 2e-6 },
    broken: { input_cost_per_token: "cheap" },
    constructor: 5,
  };

  test("gives its prices per token exactly, and says what it skips and why", async () => {
    const reading = await read(MAP);
    expect(reading.kind).toBe("price_map");
    expect(toFeed(reading.entries, "v").entries).toEqual([
      { model: "gpt-5", unit: "input_tokens", price_per_million: 1.25 },
      { model: "gpt-5", unit: "output_tokens", price_per_million: 10 },
      { model: "gpt-5", unit: "cached_input_tokens", price_per_million: 0.125 },
      { model: "azure/whisper", unit: "audio_seconds", price_per_million: 100 },
      { model: "too-fine", unit: "output_tokens", price_per_million: 2 },
    ]);
    expect(reading.skipped.map(({ name }) => name)).toEqual([
      "sample_spec",
      "dall-e-3",
      "too-fine",
      "broken",
      "constructor",
    ]);
    expect(reading.skipped[2]?.reason).toStartWith("input_cost_per_token: ");
    expect(reading.badEntries).toEqual([]);
    expect(judge(toFeed(reading.entries, "v"))).toBeNull();
  });

  test("names the fields whose prices are left behind, with how many models have them", async () => {
    expect((await read(MAP)).unread).toEqual([
      { field: "input_cost_per_token_batches", models: 1 },
      { field: "input_cost_per_image", models: 1 },
    ]);
  });

  test("takes the prices of a tier and of long inputs with their conditions, and sends them as they were read", async () => {
    const reading = await read({
      m: {
        input_cost_per_token: 2e-6,
        input_cost_per_token_flex: 1e-6,
        input_cost_per_token_above_272k_tokens_flex: 2e-6,
      },
    });
    const feed = toFeed(reading.entries, "v");
    expect(feed.entries).toEqual([
      { model: "m", unit: "input_tokens", price_per_million: 2 },
      { model: "m", unit: "input_tokens", when: { tier: "flex" }, price_per_million: 1 },
      { model: "m", unit: "input_tokens", when: { tier: "flex", input_over: 272_000 }, price_per_million: 2 },
    ]);
    expect(parseFeed(JSON.parse(JSON.stringify(feed))).entries).toEqual([...reading.entries]);
  });
});

describe("the difference", () => {
  test("tells changed, added and unchanged prices apart, by unit, with the change and where the old one came from", async () => {
    const { entries } = await read({
      version: "v",
      entries: [
        { model: "a", unit: "input_tokens", price_per_unit: 0.0000015 },
        { model: "a", unit: "output_tokens", price_per_million: 3 },
        { model: "b", unit: "input_tokens", price_per_million: 3 },
        { model: "free", unit: "input_tokens", price_per_million: 3 },
      ],
    });
    const now: Pricing["entries"] = [
      kept("a", "input_tokens", 1),
      kept("a", "output_tokens", 3, "old"),
      kept("free", "input_tokens", 0, "old"),
      kept("untouched", "input_tokens", 9, "old"),
    ];
    const diff = toFeedDiff(entries, { entries: now }, new Set(["a"]));
    expect(diff.counts).toEqual({ changed: 2, added: 1, unchanged: 1 });
    expect(diff.unusedCount).toBe(2);
    expect(
      diff.lines.map(({ kind, oldPerMillion, newPerMillion, ratio, oldVersion }) => [
        kind,
        oldPerMillion,
        newPerMillion,
        ratio,
        oldVersion,
      ]),
    ).toEqual([
      ["changed", 1, 1.5, 0.5, null],
      ["unchanged", 3, 3, 0, "old"],
      ["added", null, 3, null, null],
      ["changed", 0, 3, null, "old"],
    ]);
  });

  test("compares a price under conditions with the one that is kept under the same, and with no other", async () => {
    const line = { model: "a", unit: "input_tokens", price_per_million: 1 };
    const { entries } = await read({
      version: "v",
      entries: [
        line,
        { ...line, when: { tier: "flex" } },
        { ...line, when: { tier: "flex", input_over: 9 } },
      ],
    });
    const pricing = { input_tokens: 2 };
    const now = {
      entries: [kept("a", "input_tokens", 1)],
      variants: [
        { model: "a", when: { tier: "flex" }, pricing, version: "old" },
        { model: "a", when: { input_over: 9 }, pricing, version: "old" },
        { model: "b", when: { tier: "flex", input_over: 9 }, pricing, version: "old" },
      ],
    };
    const { lines } = toFeedDiff(entries, now, new Set());
    expect(lines.map(({ kind, oldPerMillion, oldVersion }) => [kind, oldPerMillion, oldVersion])).toEqual([
      ["unchanged", 1, null],
      ["changed", 2, "old"],
      ["added", null, null],
    ]);
    expect(new Set(lines.map(({ id }) => id)).size).toBe(3);
  });

  test("counts aliases, upstream names and what was called as in use", () => {
    const inUse = { models: toPricedModels([model("a")], []), others: ["relayed"] };
    expect([...toUsedNames(inUse)]).toEqual(["a", "a-upstream", "relayed"]);
  });
});

describe("public prices of names in use", () => {
  const ENDPOINT = [{ name: "acme", base_url: "https://api.openai.com/v1" }];
  const ONLY_USED = { ...ALL, onlyUsed: true };
  const list = {
    version: "list prices 2026-02-01",
    entries: [kept("gpt-4o", "input_tokens", 2.5), kept("gpt-5-mini", "input_tokens", 0.25)].map(
      ({ model: name, unit, price_per_million }) => ({ model: name, unit, price_per_million }),
    ),
  };
  const map = {
    "gpt-4o": { litellm_provider: "openai", input_cost_per_token: 2.5e-6 },
    "gpt-5-mini": { litellm_provider: "openai", input_cost_per_token: 2.5e-7 },
  };

  test.each([
    ["list prices", list],
    ["a price map", map],
  ])("of %s never go to an alias that stands for another model", async (_, source) => {
    const models = [
      model("gpt-4o", { upstream_name: "in-house-70b" }),
      model("small", { upstream_name: "gpt-5-mini" }),
    ];
    const inUse = { models: toPricedModels(models, ENDPOINT), others: ["gpt-4o", "small"] };
    const { entries } = planLoad(await read(source), ONLY_USED, inUse);
    expect(entries.map(({ name }) => name)).toEqual(["gpt-5-mini"]);
  });

  test("go to the alias where the upstream name is another model's alias", async () => {
    const models = [
      model("gpt-4o", { upstream_name: "in-house-70b" }),
      model("real", { upstream_name: "gpt-4o" }),
    ];
    const inUse = { models: toPricedModels(models, ENDPOINT), others: [] };
    const { entries } = planLoad(await read(list), ONLY_USED, inUse);
    expect(entries.map(({ name }) => name)).toEqual(["real"]);
  });

  test("a feed keeps the names that it says, aliases too", async () => {
    const inUse = { models: toPricedModels([model("gpt-4o")], ENDPOINT), others: [] };
    const { entries } = planLoad(await read({ ...list, version: "contract" }), ONLY_USED, inUse);
    expect(entries.map(({ name }) => name)).toEqual(["gpt-4o"]);
  });

  test("are offered where they are missing or older, and not where an alias only looks like one", () => {
    const bound = model("gpt-4o", { upstream_name: "in-house-70b" });
    const unpriced = model("small", { upstream_name: "gpt-5-mini" });
    const old = kept("gpt-5-mini", "input_tokens", 0.3, "list prices 2026-01-01");
    expect(toOfferWords([bound], [], list)).toBeNull();
    expect(toOfferWords([bound, unpriced], [], list)).toBe("List prices for 1 model without any price");
    const halfPriced = { ...unpriced, pricing: { output_tokens: 1 } };
    expect(toOfferWords([bound, halfPriced], [], list)).toBe(
      "List prices for 1 model without a price for input tokens",
    );
    expect(toOfferWords([bound], [old], list)).toBe("Newer list prices for 1 model");
    expect(toOfferWords([bound], [{ ...old, version: list.version }], list)).toBeNull();
    expect(toOfferWords([bound], [{ ...old, version: null }], list)).toBeNull();
  });
});

describe("used without a price", () => {
  const row = { model: "a", kind: "model", unit: "input_tokens", requests: 1, quantity: 5 } as const;
  const last_seen = "2026-01-01T00:00:00.000000Z";

  test("is listed as long as it has no price now; a model and a relayed name of one spelling are two", () => {
    const missing = [
      { ...row, last_seen, has_price: false },
      { ...row, last_seen, kind: "relay" as const, has_price: false },
      { ...row, last_seen, unit: "output_tokens" as const, has_price: true },
    ];
    const left = toMissingNow({ missing });
    expect(left).toEqual(missing.slice(0, 2));
    expect(new Set(left.map(toMissingId)).size).toBe(2);
  });
});

describe("one price that is set", () => {
  const wish = { name: "a", kind: "model", unit: "output_tokens", pricePerMillion: 2 } as const;
  const feed: PriceWrite = {
    kind: "feed",
    feed: { version: "v", entries: [{ model: "a", unit: "output_tokens", price_per_million: 2 }] },
  };

  test("with a date carries no price of another unit, which may have been or will be another one then", () => {
    const models = [model("a")];
    const entries = [kept("a", "input_tokens", 1, null), kept("a", "output_tokens", 2, null)];
    const dated = { ...wish, unit: "output_tokens", effectiveFrom: "2026-01-01" } as const;
    const text = JSON.stringify(planPriceWrite(dated, models, { entries }, "v"));
    expect(text).toContain("2026-01-01");
    expect(text).not.toContain('input_tokens":1');
  });

  test("keeps the other prices that were set with the model", () => {
    const entries = [kept("a", "input_tokens", 1), kept("b", "cached_input_tokens", 5)];
    const models = [model("a", { pricing: { input_tokens: 1 } }), model("b")];
    expect(planPriceWrite(wish, models, { entries }, "v")).toEqual({
      kind: "patch",
      id: "a",
      from: models[0]!,
      patch: { pricing: { input_tokens: 1, output_tokens: 2 } },
    });
  });

  test("of a name for a target keeps what it overrides, and makes nothing of the target's its own", () => {
    const entries = [kept("a", "input_tokens", 1)];
    const models = [
      model("a", {
        target: "b",
        pricing: { input_tokens: 1, cached_input_tokens: 5 },
        pricing_inherited: true,
      }),
    ];
    expect(planPriceWrite(wish, models, { entries }, "v")).toEqual({
      kind: "patch",
      id: "a",
      from: models[0]!,
      patch: { pricing: { input_tokens: 1, output_tokens: 2 } },
    });
  });

  test("does not cut a model off from the feeds that price it: it is set alone", () => {
    const inherited = model("a", { pricing: { input_tokens: 1 }, pricing_inherited: true });
    const fromFeed = model("a", { pricing: { input_tokens: 1 } });
    expect(planPriceWrite(wish, [inherited], { entries: [] }, "v")).toEqual(feed);
    expect(planPriceWrite(wish, [model("a")], { entries: [] }, "v")).toEqual(feed);
    expect(planPriceWrite(wish, [fromFeed], { entries: [kept("a", "input_tokens", 1, "old")] }, "v")).toEqual(
      feed,
    );
  });

  test("of a relayed or deleted name is set alone, also where a model has that name", () => {
    const entries = [kept("a", "input_tokens", 1)];
    const models = [model("a", { pricing: { input_tokens: 1 } })];
    expect(planPriceWrite({ ...wish, kind: "relay" }, models, { entries }, "v")).toEqual(feed);
    expect(planPriceWrite({ ...wish, kind: "gone" }, [], { entries }, "v")).toEqual(feed);
  });
});

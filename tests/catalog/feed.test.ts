import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { FEED_ENTRIES_MAX, parseFeed, parsePricePerUnit } from "#catalog/feed.ts";
import { isUnit, type Unit } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import { scale } from "../support/scale.ts";
import { ADMIN, expectRefused, openTestCatalog, refusalOf, type TestCatalog } from "./support.ts";

const PICO = 1_000_000;
const entry = { model: "m", unit: "input_tokens", price_per_million: 1 };

describe("a price per unit", () => {
  test.each([
    [0.0000025, 2_500_000],
    [2.5e-6, 2_500_000],
    [3e-7, 300_000],
    [0.00000015, 150_000],
    [1e-12, 1],
    [1.1e-11, 11],
    [0.1, 100_000_000_000],
    [0.3, 300_000_000_000],
    // The results of a client that divides by a million itself.
    [0.1 + 0.2, 300_000_000_000],
    [0.05 / 1e6, 50_000],
    [0.17 / 1e6, 170_000],
    [0.123456789012, 123_456_789_012],
    [999.999999999999, 999_999_999_999_999],
    [1000, 1e15],
    [0, 0],
    [-0, 0],
  ])("of %p is kept as %p pico, exactly", (pricePerUnit, pico) => {
    expect(parsePricePerUnit(pricePerUnit, "p")).toBe(pico);
  });

  test.each([
    1e-13,
    1.5e-12,
    2.500_000_1e-6 + 1e-13,
    5e-324,
    -1e-12,
    -1,
    1000.000_001,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "0.1",
    "NaN",
    "",
    null,
    true,
    [[1]],
    {},
  ])("of %p is refused and never rounded", async (pricePerUnit) => {
    const { code, param } = await refusalOf(() =>
      parsePricePerUnit(pricePerUnit, "entries[3].price_per_unit"),
    );
    expect([code, param]).toEqual(["invalid_pricing", "entries[3].price_per_unit"]);
  });

  test("with up to twelve decimals is what was written, and one decimal more is refused", async () => {
    const write = (pico: number, more = "") => {
      const digits = String(pico).padStart(13, "0");
      return Number(`${digits.slice(0, -12)}.${digits.slice(-12)}${more}`);
    };
    fc.assert(
      fc.property(fc.oneof(fc.nat(10_000), fc.integer({ min: 0, max: 1e15 })), (pico) => {
        expect(parsePricePerUnit(write(pico), "p")).toBe(pico);
      }),
      { numRuns: 1000 },
    );
    const finer = fc.asyncProperty(
      fc.integer({ min: 0, max: 1e14 }),
      fc.integer({ min: 1, max: 9 }),
      async (pico, digit) => {
        expect((await refusalOf(() => parsePricePerUnit(write(pico, String(digit)), "p"))).code).toBe(
          "invalid_pricing",
        );
      },
    );
    await fc.assert(finer, { numRuns: 300 });
  });

  test("and the same price per million are one price", () => {
    const prices = parseFeed({
      version: "v",
      entries: [
        { model: "m", unit: "input_tokens", price_per_unit: 0.00000015 },
        { model: "m", unit: "output_tokens", price_per_million: 0.15 },
      ],
    }).entries.map(({ pricePico }) => pricePico);
    expect(prices).toEqual([150_000, 150_000]);
  });
});

test("from the text of a feed to the sum of many requests no digit of money is lost", () => {
  const decimals = fc.tuple(fc.nat(999), fc.nat(999_999_999_999));
  const quantity = fc.oneof(fc.nat(200_000), fc.maxSafeNat());
  fc.assert(
    fc.property(fc.array(fc.tuple(decimals, quantity, quantity), { minLength: 1 }), (priced) => {
      const texts = priced.map(([[whole, rest]]) => `${whole}.${String(rest).padStart(12, "0")}`);
      const written = texts.map(
        (text, index) => `{"model":"m${index}","unit":"output_tokens","price_per_unit":${text}}`,
      );
      const feed = parseFeed(JSON.parse(`{"version":"v","entries":[${written.join(",")}]}`));
      const costs = feed.entries.flatMap(({ unit, pricePico }, index) => {
        const [, ...quantities] = priced[index]!;
        return quantities.map((output) => {
          const usage = {
            shape: "inclusive",
            quantities: { input_tokens: 5, output_tokens: output },
          } as const;
          return priceUsage(usage, { [unit]: pricePico }).costPico ?? 0n;
        });
      });
      const expected = priced.map(([, ...quantities], index) => {
        const pico = BigInt((texts[index] ?? "").replace(".", ""));
        return quantities.reduce((sum, output) => sum + pico * BigInt(output), 0n);
      });
      const sum = (amounts: readonly bigint[]) => amounts.reduce((left, right) => left + right, 0n);
      expect(sum(costs)).toBe(sum(expected));
    }),
    { numRuns: 300 },
  );
});

describe("a feed is refused", () => {
  const third = (fields: Record<string, unknown>) => ({
    version: "v",
    entries: [entry, { ...entry, unit: "output_tokens" }, { ...entry, model: "n", ...fields }],
  });

  test.each([
    [{ entries: [] }, "version"],
    [{ version: "", entries: [] }, "version"],
    [{ version: "  ", entries: [] }, "version"],
    [{ version: null, entries: [] }, "version"],
    [{ version: 7, entries: [] }, "version"],
    [{ version: ["v"], entries: [] }, "version"],
    [{ version: "a\nb", entries: [] }, "version"],
    [{ version: "\ud800", entries: [] }, "version"],
    [{ version: "v".repeat(201), entries: [] }, "version"],
    [{ version: "v", entries: [null] }, "entries[0]"],
    [{ version: "v", entries: ["m"] }, "entries[0]"],
    [{ version: "v", entries: [[]] }, "entries[0]"],
    [third({ model: undefined }), "entries[2].model"],
    [third({ model: "" }), "entries[2].model"],
    [third({ model: " " }), "entries[2].model"],
    [third({ model: 5 }), "entries[2].model"],
    [third({ model: "a\u0000" }), "entries[2].model"],
    [third({ model: "a\u007f" }), "entries[2].model"],
    [third({ model: "x".repeat(201) }), "entries[2].model"],
    [third({ unit: undefined }), "entries[2].unit"],
    [third({ unit: "tokens" }), "entries[2].unit"],
    [third({ unit: ["input_tokens"] }), "entries[2].unit"],
    [third({ price_per_million: undefined }), "entries[2]"],
    [third({ price_per_unit: 1 }), "entries[2]"],
    [third({ price_per_unit: null }), "entries[2]"],
    [third({ price_per_million: null }), "entries[2].price_per_million"],
    [third({ price_per_million: "1" }), "entries[2].price_per_million"],
    [third({ price_per_million: -1 }), "entries[2].price_per_million"],
    [third({ price_per_million: 0.000_000_1 }), "entries[2].price_per_million"],
    [third({ price_per_million: 1e300 }), "entries[2].price_per_million"],
    [third({ price_per_million: undefined, price_per_unit: 1e-13 }), "entries[2].price_per_unit"],
    [third({ model: "m" }), "entries[2]"],
  ])("%j is 400 invalid_pricing, param %s", async (draft, param) => {
    const refusal = await refusalOf(() => parseFeed(draft));
    expect([refusal.code, refusal.param]).toEqual(["invalid_pricing", param]);
  });

  test.each([
    [third({ currency: "EUR" }), "entries[2].currency"],
    [third({ "a b": 1 }), "entries[2]"],
    [{ version: "v", entries: [JSON.parse('{"__proto__":{"model":"m"}}')] }, "entries[0].__proto__"],
  ])("%j has a field that no entry has: 400 invalid_request, param %s", async (draft, param) => {
    const refusal = await refusalOf(() => parseFeed(draft));
    expect([refusal.code, refusal.param]).toEqual(["invalid_request", param]);
  });

  test("for its first bad entry, and for more entries than the limit without looking at them", async () => {
    const first = await refusalOf(() => parseFeed({ version: "v", entries: [entry, 1, 2] }));
    expect(first.param).toBe("entries[1]");
    const tooMany = await refusalOf(() =>
      parseFeed({ version: "v", entries: Array<unknown>(FEED_ENTRIES_MAX + 1).fill(1) }),
    );
    expect([tooMany.code, tooMany.param]).toEqual(["invalid_pricing", "entries"]);
  });

  test("never for a long name: 200 code points are allowed, of whatever script", () => {
    const model = "模".repeat(199) + "🎈";
    expect(parseFeed({ version: "🎈".repeat(200), entries: [{ ...entry, model }] }).entries[0]?.name).toBe(
      model,
    );
  });
});

describe("loading a feed", () => {
  let fixture: TestCatalog;
  beforeEach(async () => {
    fixture = await openTestCatalog();
    await fixture.catalog.createProvider({ name: "one", base_url: "http://one.example/v1" }, null);
  });
  afterEach(() => fixture.close());

  const load = (version: string, ...priced: readonly (readonly [string, Unit, number])[]) =>
    fixture.catalog.loadFeed(
      {
        version,
        entries: priced.map(([model, unit, pricePerMillion]) => ({
          model,
          unit,
          price_per_million: pricePerMillion,
        })),
      },
      ADMIN,
    );
  const bind = (alias: string, pricing?: Record<string, number>) =>
    fixture.catalog.createModel(
      { alias, provider: "one", upstreamName: "up", ...(pricing && { pricing }) },
      null,
    );
  const rows = async () =>
    (await fixture.catalog.snapshot()).prices.map(({ name, unit, pricePico, feedVersion }) =>
      [name, unit, pricePico === null ? "-" : pricePico / PICO, feedVersion ?? "own"].join(" "),
    );
  const inForce = async (alias: string) => {
    const resolved = (await fixture.catalog.snapshot()).findModel(alias);
    return { ...resolved?.prices, inherited: resolved?.pricesInherited };
  };

  test("sets the pairs that it names and touches no others, and each price tells the feed that set it", async () => {
    await load("v1", ["a", "input_tokens", 1], ["a", "output_tokens", 2], ["b", "input_tokens", 3]);
    const answer = await load("v2", ["a", "output_tokens", 4], ["c", "audio_seconds", 0]);
    expect(answer).toMatchObject({ version: "v2", entryCount: 2 });
    expect(await rows()).toEqual([
      "a input_tokens 1 v1",
      "a output_tokens 4 v2",
      "b input_tokens 3 v1",
      "c audio_seconds 0 v2",
    ]);
    const { feed } = await fixture.catalog.snapshot();
    expect(feed).toEqual({ version: "v2", loadedAtUs: answer.loadedAtUs });
  });

  test("is audited by its version, also when it is loaded again and when it is empty; one without an actor is not", async () => {
    expect((await fixture.catalog.snapshot()).feed).toBeNull();
    const first = await load("v1", ["a", "input_tokens", 1]);
    const again = await load("v1", ["a", "input_tokens", 1]);
    expect(again.loadedAtUs).toBeGreaterThan(first.loadedAtUs);
    const empty = await load("v0");
    expect(empty.entryCount).toBe(0);
    expect(await rows()).toEqual(["a input_tokens 1 v1"]);
    await fixture.catalog.loadFeed({ version: "local", entries: [] }, null);
    expect((await fixture.catalog.snapshot()).feed?.version).toBe("local");
    expect(await fixture.audited()).toEqual(["pricing.load v1", "pricing.load v1", "pricing.load v0"]);
  });

  test("with a bad entry changes nothing at all and is not audited", async () => {
    await load("v1", ["a", "input_tokens", 1]);
    await bind("b", { input_tokens: 2 });
    await expectRefused(
      fixture,
      () => load("v2", ["a", "input_tokens", 5], ["b", "input_tokens", 6], ["c", "input_tokens", -1]),
      { code: "invalid_pricing", param: "entries[2].price_per_million" },
    );
    expect((await fixture.catalog.snapshot()).feed?.version).toBe("v1");
  });

  test("replaces a price and a mark written with a model; those pairs then outlive it, its other ones do not", async () => {
    await bind("a", { input_tokens: 1, output_tokens: 2 });
    await load("v1", ["a", "input_tokens", 5], ["a", "audio_seconds", 6]);
    expect(await inForce("a")).toEqual({
      input_tokens: 5 * PICO,
      output_tokens: 2 * PICO,
      audio_seconds: 6 * PICO,
      inherited: false,
    });
    await fixture.catalog.deleteModel("a", null);
    expect(await rows()).toEqual(["a input_tokens 5 v1", "a audio_seconds 6 v1"]);
  });

  test("leaves its rows behind when a provider goes with its models, and prices what is bound later", async () => {
    await load("v1", ["a", "input_tokens", 5], ["up", "output_tokens", 6]);
    await bind("a");
    await bind("own", { input_tokens: 1 });
    await fixture.catalog.deleteProvider("one", null);
    expect(await rows()).toEqual(["a input_tokens 5 v1", "up output_tokens 6 v1"]);
    await fixture.catalog.createProvider({ name: "one", base_url: "http://one.example/v1" }, null);
    await bind("a");
    expect(await inForce("a")).toEqual({
      input_tokens: 5 * PICO,
      output_tokens: 6 * PICO,
      inherited: true,
    });
  });

  test("gives way to a later write of the model, which is complete", async () => {
    await load("v1", ["a", "input_tokens", 5], ["a", "output_tokens", 6], ["up", "output_tokens", 7]);
    await bind("a");
    await fixture.catalog.updateModel("a", { pricing: { input_tokens: 1 } }, null);
    expect(await inForce("a")).toEqual({ input_tokens: PICO, inherited: false });
    expect((await rows()).filter((row) => row.includes("v1"))).toEqual(["up output_tokens 7 v1"]);
  });

  test("prices by the alias first, then the target, then the upstream name", async () => {
    await bind("base");
    await fixture.catalog.createModel({ alias: "name", target: "base" }, null);
    await load("v1", ["up", "input_tokens", 1], ["up", "output_tokens", 1], ["up", "audio_seconds", 1]);
    expect(await inForce("name")).toMatchObject({ input_tokens: PICO, inherited: true });
    await load(
      "v2",
      ["base", "output_tokens", 2],
      ["base", "audio_seconds", 2],
      ["name", "audio_seconds", 3],
    );
    expect(await inForce("name")).toEqual({
      input_tokens: PICO,
      output_tokens: 2 * PICO,
      audio_seconds: 3 * PICO,
      inherited: true,
    });
    await load("v3", ["name", "input_tokens", 0], ["name", "output_tokens", 4]);
    expect(await inForce("name")).toEqual({
      input_tokens: 0,
      output_tokens: 4 * PICO,
      audio_seconds: 3 * PICO,
      inherited: false,
    });
  });

  test("does not bring a price back under a name that a renamed model has left", async () => {
    await load("v1", ["old", "input_tokens", 5]);
    await bind("old");
    await fixture.catalog.updateModel("old", { alias: "new" }, null);
    await load("v2", ["old", "input_tokens", 9]);
    expect(await inForce("new")).toEqual({ input_tokens: 5 * PICO, inherited: false });
  });

  test("in any order with writes and removals of models leaves the rows and prices that the plain rules say", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 25 }), async (steps) => {
        const apart = await openTestCatalog();
        try {
          const { catalog } = apart;
          await catalog.createProvider({ name: "one", base_url: "http://one.example/v1" }, null);
          const kept = new Map<string, Kept>();
          const bound = new Set<string>();
          for (const [index, step] of steps.entries()) {
            const version = `v${index}`;
            if (step.kind === "load") {
              const entries = step.pairs.map(([model, unit, price]) => ({
                model,
                unit,
                price_per_million: price,
              }));
              await catalog.loadFeed({ version, entries }, null);
              for (const [model, unit, price] of step.pairs) kept.set(`${model} ${unit}`, { price, version });
            } else if (step.kind === "write") {
              const { alias, pricing } = step;
              if (bound.has(alias)) await catalog.updateModel(alias, { pricing }, null);
              else await catalog.createModel({ alias, provider: "one", upstreamName: "up", pricing }, null);
              bound.add(alias);
              for (const unit of ALL_UNITS)
                kept.set(`${alias} ${unit}`, { price: pricing[unit] ?? null, version: null });
            } else if (bound.delete(step.alias)) {
              await catalog.deleteModel(step.alias, null);
              for (const unit of ALL_UNITS)
                if (kept.get(`${step.alias} ${unit}`)?.version === null) kept.delete(`${step.alias} ${unit}`);
            }
            const snapshot = await catalog.snapshot();
            const found = snapshot.prices.map(({ name, unit, pricePico, feedVersion }) => [
              `${name} ${unit}`,
              { price: pricePico === null ? null : pricePico / PICO, version: feedVersion },
            ]);
            expect(Object.fromEntries(found)).toEqual(Object.fromEntries(kept));
            for (const alias of bound) {
              for (const unit of ALL_UNITS) {
                const own = kept.get(`${alias} ${unit}`);
                const price = (own ?? kept.get(`up ${unit}`))?.price ?? undefined;
                const inPico = snapshot.findModel(alias)?.prices[unit] ?? undefined;
                expect(inPico).toBe(price === undefined ? undefined : price * PICO);
              }
            }
          }
        } finally {
          await apart.close();
        }
      }),
      { numRuns: 15 * scale },
    );
  }, 30_000);
});

interface Kept {
  readonly price: number | null;
  readonly version: string | null;
}

const ALL_UNITS = [
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "audio_seconds",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "input_audio_tokens",
  "input_image_tokens",
  "output_audio_tokens",
  "images",
  "search_units",
  "web_searches",
  "requests",
] as const;
const somePrice = fc.constantFrom(0, 1, 2.5);
const someAlias = fc.constantFrom("a", "b");
const someUnit = fc.constantFrom(...ALL_UNITS).filter(isUnit);
const anyStep = fc.oneof(
  fc.record({
    kind: fc.constant("load" as const),
    pairs: fc.uniqueArray(fc.tuple(fc.constantFrom("a", "b", "up"), someUnit, somePrice), {
      selector: ([model, unit]) => `${model} ${unit}`,
      maxLength: 5,
    }),
  }),
  fc.record({
    kind: fc.constant("write" as const),
    alias: someAlias,
    pricing: fc.record(
      Object.fromEntries(ALL_UNITS.map((unit) => [unit, somePrice])) as {
        [unit in (typeof ALL_UNITS)[number]]: typeof somePrice;
      },
      { requiredKeys: [] },
    ),
  }),
  fc.record({ kind: fc.constant("remove" as const), alias: someAlias }),
);

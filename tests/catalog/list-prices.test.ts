import { expect, test } from "bun:test";
import { readListPrices } from "#catalog/list-prices.ts";
import type { Unit } from "#kernel/units.ts";
import { isListVersion } from "#catalog/feed.ts";

test("the list prices are a feed with a source and its day: each model has a price of what it is asked for, every text model one of its output", () => {
  const { version, source, sourceUrl, asOf, entries } = readListPrices();
  expect([version, isListVersion(version), isListVersion("list"), isListVersion(null)]).toEqual([
    `list prices ${asOf}`,
    true,
    false,
    false,
  ]);
  expect(asOf).toMatch(/^20\d\d-\d\d-\d\d$/);
  expect(source).not.toBe("");
  expect(new URL(sourceUrl).protocol).toBe("https:");
  const units = Map.groupBy(entries, ({ name }) => name);
  expect(units.size).toBeGreaterThanOrEqual(60);
  for (const [name, priced] of units) {
    const found = new Map(priced.map(({ unit, pricePico }) => [unit, pricePico]));
    const asked = /rerank/.test(name)
      ? "search_units"
      : /whisper/.test(name)
        ? "audio_seconds"
        : "input_tokens";
    expect({ name, input: (found.get(asked) ?? 0) > 0 }).toEqual({ name, input: true });
    if (!/embed|rerank|whisper/.test(name)) {
      expect({ name, output: (found.get("output_tokens") ?? 0) > 0 }).toEqual({ name, output: true });
    }
    // A cached read that costs more than reading is a slip of the pen.
    const cached = found.get("cached_input_tokens") ?? 0;
    expect({ name, cheaper: cached <= (found.get("input_tokens") ?? 0) }).toEqual({ name, cheaper: true });
  }
});

test("what OpenAI writes to its cache costs 1.25 times the input from GPT-5.6 on, and has no price of its own before", () => {
  const { entries } = readListPrices();
  const priceOf = (name: string, unit: Unit) =>
    entries.find((entry) => entry.name === name && entry.unit === unit)?.pricePico ?? null;
  const names = new Set(entries.map(({ name }) => name).filter((name) => /^gpt-\d/.test(name)));
  const isLater = (name: string) => /^gpt-(?:5\.[6-9]|[6-9])/.test(name);
  expect([...names].filter(isLater).length).toBeGreaterThanOrEqual(9);
  for (const name of names) {
    const input = priceOf(name, "input_tokens") ?? 0;
    expect([name, priceOf(name, "cache_write_tokens")]).toEqual([name, isLater(name) ? input * 1.25 : null]);
  }
});

test("a unit that stands in for another one has a price where it differs, such as audio beside text, and a search of Claude has one", () => {
  const { entries } = readListPrices();
  const pricesOf = (name: string) =>
    Object.fromEntries(
      entries.flatMap((entry) => (entry.name === name ? [[entry.unit, entry.pricePico / 1e6]] : [])),
    );
  expect(pricesOf("gpt-audio")).toEqual({
    input_tokens: 2.5,
    output_tokens: 10,
    input_audio_tokens: 32,
    output_audio_tokens: 64,
  });
  expect(pricesOf("gpt-image-1")).toEqual({ input_tokens: 5, output_tokens: 40, input_image_tokens: 10 });
  expect(pricesOf("whisper-1")).toEqual({ audio_seconds: 100 });
  expect(pricesOf("rerank-v3.5")).toEqual({ search_units: 2000 });
  expect(pricesOf("claude-sonnet-5-5")).toMatchObject({ web_searches: 10_000 });
});

import { expect, test } from "bun:test";
import { readListPrices } from "#catalog/list-prices.ts";
import { isListVersion } from "#catalog/list-prices-label.ts";

test("the list prices are a feed with a source and its day: each model has an input price, every text model an output price", () => {
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
    expect({ name, input: (found.get("input_tokens") ?? 0) > 0 }).toEqual({ name, input: true });
    if (!/embed/.test(name)) {
      expect({ name, output: (found.get("output_tokens") ?? 0) > 0 }).toEqual({ name, output: true });
    }
    // A cached read that costs more than reading is a slip of the pen.
    const cached = found.get("cached_input_tokens") ?? 0;
    expect({ name, cheaper: cached <= (found.get("input_tokens") ?? 0) }).toEqual({ name, cheaper: true });
  }
});

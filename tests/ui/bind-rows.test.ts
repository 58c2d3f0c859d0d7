import { describe, expect, test } from "bun:test";
import { toListedVariants, toOwnPrices } from "../../ui/catalog/price-set.ts";
import { changeBindRows, toBindRows, toDraft } from "../../ui/providers/bind-rows.ts";

const FLEX = { tier: "flex" };
const LONG = { tier: "flex", input_over: 272_000 };
const ENTRIES = [
  { model: "m", unit: "input_tokens", price_per_million: 2 },
  { model: "m", unit: "input_tokens", when: FLEX, price_per_million: 1 },
  { model: "m", unit: "input_tokens", when: LONG, price_per_million: 2 },
  { model: "m", unit: "output_tokens", when: FLEX, price_per_million: 4 },
  { model: "plain", unit: "input_tokens", price_per_million: 3 },
] as const;
const LISTED = { prices: toOwnPrices(ENTRIES), variants: toListedVariants([...ENTRIES]) };
const VARIANTS = [
  { when: FLEX, pricing: { input_tokens: 1, output_tokens: 4 } },
  { when: LONG, pricing: { input_tokens: 2 } },
];

describe("list prices that are filled in where models are bound", () => {
  const rows = changeBindRows(
    toBindRows(["m", "plain", "other"].map((name) => ({ upstream_name: name, bound_alias: null }))),
    { kind: "fill", ...LISTED },
  );
  const draftOf = (name: string, of = rows) => {
    const row = of.get(name);
    if (row === undefined) throw new Error(`There is no row ${name}.`);
    return toDraft("lab", row);
  };

  test("come with their conditions, and no price of a condition is taken for a standard one", () => {
    expect(draftOf("m")).toMatchObject({ pricing: { input_tokens: 2 }, price_variants: VARIANTS });
    expect(draftOf("plain")).toMatchObject({ pricing: { input_tokens: 3 } });
    expect(draftOf("plain")).not.toHaveProperty("price_variants");
    expect(draftOf("other")).not.toHaveProperty("pricing");
    expect(draftOf("other")).not.toHaveProperty("price_variants");
  });

  test("lose their conditions with a price that is typed, which is no list's, and keep them with another name", () => {
    const change = (of: Parameters<typeof draftOf>[1], part: { alias: string } | { prices: object }) =>
      changeBindRows(of ?? rows, { kind: "edit", upstreamName: "m", change: part });
    const renamed = change(rows, { alias: "mine" });
    expect(draftOf("m", renamed)).toMatchObject({ alias: "mine", price_variants: VARIANTS });
    const typed = change(renamed, { prices: { input_tokens: 1.5 } });
    expect(draftOf("m", typed)).toMatchObject({ alias: "mine", pricing: { input_tokens: 1.5 } });
    expect(draftOf("m", typed)).not.toHaveProperty("price_variants");
  });
});

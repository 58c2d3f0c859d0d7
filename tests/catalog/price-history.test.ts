import { expect, test } from "bun:test";
import fc from "fast-check";
import type { ModelPrices } from "#kernel/price-variants.ts";
import { type PriceSet, type Unit, UNITS } from "#kernel/units.ts";
import { planHistory } from "#catalog/price-history.ts";
import { InheritancePast, listNames, readInheritance } from "#catalog/price-inheritance.ts";
import { createWorkingCopy } from "#catalog/working-copy.ts";
import type { CatalogPicture } from "#catalog/snapshot.ts";
import { scale } from "../support/scale.ts";
import { life, live } from "./lives.ts";
import { openTestCatalog } from "./support.ts";

const RUNS = 14 * scale;

/** Without the units that have no price. */
const toPlain = ({ prices, variants }: ModelPrices) => {
  const given = (set: PriceSet) =>
    Object.fromEntries(UNITS.flatMap((unit) => (typeof set[unit] === "number" ? [[unit, set[unit]]] : [])));
  return {
    prices: given(prices),
    variants: variants.map(({ when, ...ofVariant }) => ({ when, prices: given(ofVariant) })),
  };
};
const NOTHING = toPlain({ prices: {}, variants: [] });

/** The prices in force of each alias, and of each name that is none its own. */
function inForce(picture: CatalogPicture): ReadonlyMap<string, unknown> {
  const names = [...picture.prices, ...picture.variantRows].map(({ name }) => name);
  const own = names.map((name) => {
    const prices = Object.fromEntries(
      UNITS.map((unit) => [unit, picture.findPrice(name, unit)?.pricePico ?? null]),
    );
    return [name, toPlain({ prices, variants: picture.findVariants(name)?.variants ?? [] })] as const;
  });
  return new Map([
    ...own,
    ...picture.models.map((resolved) => [resolved.model.alias, toPlain(resolved)] as const),
  ]);
}

test(
  "the history of any catalog has at every moment exactly the prices that were in force, of every name, and none of a name that had none",
  () =>
    fc.assert(
      fc.asyncProperty(life, async (operations) => {
        const one = await openTestCatalog();
        try {
          const moments: { readonly atUs: number; readonly prices: ReadonlyMap<string, unknown> }[] = [];
          for (const operation of operations) {
            await live(one.catalog, [operation]);
            const prices = inForce(await one.catalog.snapshot());
            moments.push({ atUs: one.nowUs(), prices });
          }
          const spans = await one.store.readPriceSpans(null);
          const names = new Set([...spans.keys(), ...moments.flatMap(({ prices }) => [...prices.keys()])]);
          for (const { atUs, prices } of moments) {
            for (const name of names) {
              const span = spans.get(name)?.findLast(({ fromUs }) => fromUs <= atUs);
              expect({ name, held: span === undefined ? NOTHING : toPlain(span.prices) }).toEqual({
                name,
                held: (prices.get(name) ?? NOTHING) as typeof NOTHING,
              });
            }
          }
          const { rows, total } = await one.store.listHeldPrices(null, { limit: 500, offset: 0 });
          expect(rows.length).toBe(Math.min(total, 500));
          expect(rows.map(({ fromUs }) => fromUs)).toEqual(
            rows.map(({ fromUs }) => fromUs).toSorted((left, right) => right - left),
          );
        } finally {
          await one.close();
        }
      }),
      { numRuns: RUNS },
    ),
  120_000,
);

test("prices of before there was a history begin with their model, also where the first change ends one of them", async () => {
  const one = await openTestCatalog();
  try {
    const { catalog, store } = one;
    await catalog.createProvider({ name: "up", base_url: "http://10.0.0.1/v1" }, null);
    const pricing = { input_tokens: 1, output_tokens: 2 };
    const { model } = await catalog.createModel(
      { alias: "m", provider: "up", upstreamName: "u", pricing },
      null,
    );
    await catalog.updateModel("m", { pricing: { input_tokens: 3 } }, null);
    one.tamper("DELETE FROM price_history");
    const held = async () =>
      (await store.listHeldPrices("m", { limit: 9, offset: 0 })).rows.map(
        ({ unit, pricePico, fromUs, untilUs }) => [
          unit,
          pricePico,
          fromUs === model.createdAtUs,
          untilUs === null,
        ],
      );
    expect(await held()).toEqual([["input_tokens", 3e6, true, true]]);
    const spans = (await store.readPriceSpans(["m"])).get("m");
    expect(spans).toEqual([
      { fromUs: model.createdAtUs, prices: { prices: { input_tokens: 3e6 }, variants: [] } },
    ]);
    await catalog.updateModel("m", { pricing: { input_tokens: 4 } }, null);
    expect(await held()).toEqual([
      ["input_tokens", 4e6, false, true],
      ["input_tokens", 3e6, true, false],
    ]);
  } finally {
    await one.close();
  }
});

test("a feed of prices that are dated back reads the models of the catalog once, however many lines it has", async () => {
  const one = await openTestCatalog();
  await one.catalog.createProvider({ name: "acme", base_url: "http://10.0.0.1/v1" }, null);
  for (const alias of ["m", "n"])
    await one.catalog.createModel({ alias, provider: "acme", upstreamName: "up" }, null);
  const before = await one.catalog.snapshot();
  await one.close();
  const rows = Array.from({ length: 500 }, (_, at) => ({
    name: at === 0 ? "up" : `name-${at}`,
    unit: "input_tokens" as const,
  }));
  const copy = createWorkingCopy(before);
  const writes = rows.map((row) => ({
    kind: "put_price" as const,
    price: { ...row, pricePico: 7, feedVersion: "v" },
  }));
  copy.write(writes);
  let reads = 0;
  const after = new Proxy(copy, {
    get(target, member) {
      if (member === "models") reads += 1;
      return Reflect.get(target, member);
    },
  });
  const covers = (unit: Unit) => unit === "input_tokens";
  const backdated = rows.map(({ name }) => ({ name, fromUs: 5, covers, hasVariants: false }));
  const models = new Map(before.models.map((resolved) => [resolved.model.alias, resolved]));
  const inheritance = new InheritancePast(readInheritance(before, listNames(before), 1));
  const known = { inheritance, prices: new Map() };
  const stamp = { backdated };
  const steps = planHistory(before, after, { writes, models, stamp, inherited: [], known, atUs: 9 });
  expect(reads).toBe(0);
  expect(steps.begun.map(({ name, fromUs }) => [name, fromUs])).toEqual(
    expect.arrayContaining(["m", "n", "up", "name-499"].map((name) => [name, 5])),
  );
  expect(steps.begun).toHaveLength(502);
});

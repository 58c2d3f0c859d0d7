import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ModelDraft, ModelPatch } from "#catalog/model.ts";
import { type Unit, UNITS } from "#kernel/units.ts";
import { openTestCatalog, type TestCatalog } from "./support.ts";

const PICO = 1_000_000;

let fixture: TestCatalog;
beforeEach(async () => {
  fixture = await openTestCatalog();
  await fixture.catalog.createProvider({ name: "one", base_url: "http://one.example/v1" }, null);
});
afterEach(() => fixture.close());

const create = (draft: ModelDraft) => fixture.catalog.createModel(draft, null);
const update = (alias: string, patch: ModelPatch) => fixture.catalog.updateModel(alias, patch, null);
const remove = (alias: string) => fixture.catalog.deleteModel(alias, null);
const bind = (alias: string, draft: ModelDraft = {}) =>
  create({ alias, provider: "one", upstreamName: "up", ...draft });

async function loadFeed(
  entries: readonly (readonly [name: string, unit: Unit, pricePerMillion: number])[],
): Promise<void> {
  await fixture.catalog.loadFeed(
    {
      version: "feed-1",
      entries: entries.map(([model, unit, pricePerMillion]) => ({
        model,
        unit,
        price_per_million: pricePerMillion,
      })),
    },
    null,
  );
}

/** `name unit price source`, the price per million or `-` for the mark "no price". */
async function rows(): Promise<readonly string[]> {
  const { prices } = await fixture.catalog.snapshot();
  return prices.map(({ name, unit, pricePico, feedVersion }) =>
    [
      name,
      unit.replace("_tokens", ""),
      pricePico === null ? "-" : pricePico / PICO,
      feedVersion ?? "own",
    ].join(" "),
  );
}

async function inForce(alias: string): Promise<unknown> {
  const resolved = (await fixture.catalog.snapshot()).findModel(alias);
  return { ...resolved?.prices, inherited: resolved?.pricesInherited };
}

const MARKED_REST = UNITS.slice(2).map((unit) => `${unit.replace("_tokens", "")} -`);
const ownRows = (name: string, first: readonly string[]) =>
  [...first, ...MARKED_REST].map((row) => `${name} ${row} own`);

describe("prices written with a model of its own", () => {
  test("are a complete set: a unit left out or null is marked and does not fall back to the upstream name", async () => {
    await loadFeed([
      ["up", "output_tokens", 9],
      ["up", "cached_input_tokens", 8],
    ]);
    await bind("a", { pricing: { input_tokens: 2, output_tokens: null } });
    expect(await inForce("a")).toEqual({ input_tokens: 2 * PICO, inherited: false });
    expect(await rows()).toEqual([
      ...ownRows("a", ["input 2", "output -"]),
      "up output 9 feed-1",
      "up cached_input 8 feed-1",
    ]);
  });

  test("that are left out of a create or patch write no row, so that the upstream name's price is in force", async () => {
    await loadFeed([["up", "output_tokens", 9]]);
    await bind("a");
    await update("a", { hidden: true });
    expect(await rows()).toEqual(["up output 9 feed-1"]);
    expect(await inForce("a")).toEqual({ output_tokens: 9 * PICO, inherited: true });
  });

  test("are replaced as a whole by a patch, a zero price being a price", async () => {
    await bind("a", { pricing: { input_tokens: 2, output_tokens: 3 } });
    await update("a", { pricing: { output_tokens: 0 } });
    expect(await inForce("a")).toEqual({ output_tokens: 0, inherited: false });
    await update("a", { pricing: {} });
    expect(await inForce("a")).toEqual({ inherited: false });
    expect(await rows()).toEqual(ownRows("a", ["input -", "output -"]));
  });

  test("win over a feed's of the same name and go with the model, while the feed's other rows stay", async () => {
    await loadFeed([
      ["a", "input_tokens", 5],
      ["up", "input_tokens", 6],
    ]);
    await bind("a");
    expect(await inForce("a")).toEqual({ input_tokens: 5 * PICO, inherited: false });
    await remove("a");
    expect(await rows()).toEqual(["a input 5 feed-1", "up input 6 feed-1"]);
    await bind("a", { pricing: { input_tokens: 1 } });
    await remove("a");
    expect(await rows()).toEqual(["up input 6 feed-1"]);
  });
});

describe("prices of a name for a target", () => {
  beforeEach(() => bind("base", { pricing: { input_tokens: 2, output_tokens: 4 } }).then(() => undefined));

  test("override the target's per unit, and what is left out or null is inherited, without a row", async () => {
    const base = ownRows("base", ["input 2", "output 4"]);
    await create({ alias: "name", target: "base", pricing: { input_tokens: 1, output_tokens: null } });
    expect(await inForce("name")).toEqual({ input_tokens: PICO, output_tokens: 4 * PICO, inherited: true });
    expect(await rows()).toEqual([...base, "name input 1 own"]);
    await update("name", { pricing: {} });
    expect(await inForce("name")).toEqual({
      input_tokens: 2 * PICO,
      output_tokens: 4 * PICO,
      inherited: true,
    });
    expect(await rows()).toEqual(base);
  });

  test("stay as overrides when a binding becomes a name, and its marks go", async () => {
    await bind("a", { pricing: { input_tokens: 1 } });
    await update("a", { target: "base" });
    expect(await inForce("a")).toEqual({ input_tokens: PICO, output_tokens: 4 * PICO, inherited: true });
    expect(await rows()).toEqual(["a input 1 own", ...ownRows("base", ["input 2", "output 4"])]);
  });

  test("stay when a name becomes a binding, and the rest is no longer the target's", async () => {
    await create({ alias: "name", target: "base", pricing: { input_tokens: 1 } });
    await update("name", { target: "", provider: "one", upstreamName: "else" });
    expect(await inForce("name")).toEqual({ input_tokens: PICO, inherited: false });
  });

  test("are written by the kind that the model becomes in the same call", async () => {
    await bind("a", { pricing: { input_tokens: 1 } });
    await update("a", { target: "base", pricing: { output_tokens: 7 } });
    expect(await rows()).toEqual(["a output 7 own", ...ownRows("base", ["input 2", "output 4"])]);
    await update("a", { target: "", provider: "one", upstreamName: "up", pricing: { input_tokens: 3 } });
    expect(await rows()).toEqual([
      ...ownRows("a", ["input 3", "output -"]),
      ...ownRows("base", ["input 2", "output 4"]),
    ]);
  });

  test("come with it when a binding is renamed into a name, and no mark does, in place of a feed's row", async () => {
    await loadFeed([
      ["new", "output_tokens", 6],
      ["new", "cached_input_tokens", 7],
    ]);
    await bind("old", { pricing: { input_tokens: 1 } });
    await update("old", { alias: "new", target: "base" });
    const base = ownRows("base", ["input 2", "output 4"]);
    expect(await rows()).toEqual([
      ...base,
      "new input 1 own",
      "new output 6 feed-1",
      "new cached_input 7 feed-1",
    ]);
  });

  test("follow the target when it is renamed", async () => {
    await create({ alias: "name", target: "base" });
    await update("base", { alias: "renamed" });
    expect(await inForce("name")).toEqual({
      input_tokens: 2 * PICO,
      output_tokens: 4 * PICO,
      inherited: true,
    });
  });
});

describe("prices on a rename", () => {
  test("follow the model, marks included, and nothing stays under the old name", async () => {
    await bind("old", { pricing: { input_tokens: 1 } });
    await update("old", { alias: "new" });
    expect(await rows()).toEqual(ownRows("new", ["input 1", "output -"]));
  });

  test("win over a feed's rows of the new name, and leave the feed's other units there", async () => {
    await loadFeed([
      ["new", "input_tokens", 5],
      ["new", "output_tokens", 6],
    ]);
    await bind("base");
    await create({ alias: "old", target: "base", pricing: { input_tokens: 1 } });
    await update("old", { alias: "new" });
    expect(await rows()).toEqual(["new input 1 own", "new output 6 feed-1"]);
  });

  test("that a feed set under the alias follow as well", async () => {
    await loadFeed([["old", "input_tokens", 5]]);
    await bind("old");
    await update("old", { alias: "new" });
    expect(await rows()).toEqual(["new input 5 feed-1"]);
  });

  test("that a feed set under the upstream name stay there, where the model still finds them", async () => {
    await loadFeed([["up", "input_tokens", 5]]);
    await create({ provider: "one", upstreamName: "up" });
    await bind("other");
    await update("up", { alias: "new" });
    expect(await rows()).toEqual(["up input 5 feed-1"]);
    expect(await inForce("new")).toEqual({ input_tokens: 5 * PICO, inherited: true });
    expect(await inForce("other")).toEqual({ input_tokens: 5 * PICO, inherited: true });
  });

  test("that a feed set under the upstream name win over a feed's rows of the new name: the price stays what it was", async () => {
    await loadFeed([
      ["up", "input_tokens", 10],
      ["new", "input_tokens", 99],
    ]);
    await create({ provider: "one", upstreamName: "up" });
    await create({ alias: "name", target: "up" });
    await bind("other");
    await update("up", { alias: "new" });
    expect(await inForce("new")).toEqual({ input_tokens: 10 * PICO, inherited: false });
    expect(await inForce("name")).toEqual({ input_tokens: 10 * PICO, inherited: true });
    expect(await inForce("other")).toEqual({ input_tokens: 10 * PICO, inherited: true });
  });

  test("that a feed set follow by a copy when another model has them as its upstream name's", async () => {
    await loadFeed([["shared", "input_tokens", 5]]);
    await bind("shared");
    await bind("other", { upstreamName: "shared" });
    await update("shared", { alias: "new" });
    expect(await inForce("new")).toEqual({ input_tokens: 5 * PICO, inherited: false });
    expect(await inForce("other")).toEqual({ input_tokens: 5 * PICO, inherited: true });
  });

  test("and a write in the same call are the write's, under the new name only", async () => {
    await bind("old", { pricing: { input_tokens: 1 } });
    await update("old", { alias: "new", pricing: { output_tokens: 2 } });
    expect(await rows()).toEqual(ownRows("new", ["input -", "output 2"]));
  });

  test("that only repeats the name change nothing", async () => {
    await bind("same", { pricing: { input_tokens: 1 } });
    await update("same", { alias: "same" });
    expect(await rows()).toEqual(ownRows("same", ["input 1", "output -"]));
  });
});

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Catalog } from "#catalog/catalog.ts";
import type { ModelPatch, PricingDraft, VariantsDraft } from "#catalog/model.ts";
import type { CatalogPicture } from "#catalog/snapshot.ts";
import { toPriceKey } from "#catalog/variant-list.ts";
import { formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type PriceSet, type Unit, UNITS } from "#kernel/units.ts";
import type { PriceVariant } from "#kernel/price-variants.ts";
import { scale } from "../support/scale.ts";
import { openTestCatalog, type TestCatalog } from "./support.ts";

const RUNS = 50 * scale;
const HOUR_US = 3_600_000_000;

/** What a name had itself at a moment, and where else its prices were looked for. */
interface OwnState {
  readonly modelId: string | null;
  readonly lookedUp: readonly string[];
  readonly units: ReadonlyMap<Unit, number | null>;
  /** Null: it had no list. */
  readonly list: ReadonlyMap<string, number> | null;
}

type Moment = ReadonlyMap<string, OwnState>;

const NOTHING: OwnState = { modelId: null, lookedUp: [], units: new Map(), list: null };

function toList(variants: readonly PriceVariant[]): ReadonlyMap<string, number> {
  return new Map(
    variants.flatMap(({ when, ...prices }) =>
      UNITS.flatMap((unit) => {
        const price = (prices as PriceSet)[unit];
        return typeof price === "number" ? [[toPriceKey(unit, when), price] as const] : [];
      }),
    ),
  );
}

function readMoment(picture: CatalogPicture): Moment {
  const names = new Set([
    ...picture.models.map(({ model }) => model.alias),
    ...[...picture.prices, ...picture.variantRows].map(({ name }) => name),
  ]);
  const read = (name: string): OwnState => {
    const resolved = picture.findModel(name);
    const rows = UNITS.flatMap((unit) => picture.findPrice(name, unit) ?? []);
    const list = picture.findVariants(name);
    return {
      modelId: resolved?.model.id ?? null,
      lookedUp: resolved === null ? [] : [resolved.bound.alias, resolved.upstreamName],
      units: new Map(rows.map(({ unit, pricePico }) => [unit, pricePico])),
      list: list && toList(list.variants),
    };
  };
  return new Map([...names].map((name) => [name, read(name)]));
}

/** The prices of a name at a moment, by the rules of inheritance alone. */
function resolve(moment: Moment, name: string): ReadonlyMap<string, number> {
  const states = [name, ...(moment.get(name)?.lookedUp ?? [])].flatMap((each) => moment.get(each) ?? []);
  const prices = UNITS.flatMap((unit) => {
    const price = states.find(({ units }) => units.has(unit))?.units.get(unit) ?? null;
    return price === null ? [] : [[toPriceKey(unit, null), price] as const];
  });
  return new Map([...prices, ...(states.find(({ list }) => list !== null)?.list ?? [])]);
}

/** The catalog at each moment at which it changed, as far as is known by now. */
class Past {
  #moments: { readonly atUs: number; readonly moment: Moment }[] = [];

  get times(): readonly number[] {
    return this.#moments.map(({ atUs }) => atUs);
  }

  add(atUs: number, moment: Moment): void {
    this.#moments.push({ atUs, moment });
  }

  at(atUs: number): Moment {
    return this.#moments.findLast((each) => each.atUs <= atUs)?.moment ?? new Map();
  }

  /** Writes the last moment's own prices of a name, of the parts that a date covers, into all moments from the date on. */
  dateBack(fromUs: number, dating: Dating): void {
    const last = this.at(Infinity);
    if (!this.times.includes(fromUs)) this.#moments.push({ atUs: fromUs, moment: this.at(fromUs) });
    this.#moments.sort((one, other) => one.atUs - other.atUs);
    this.#moments = this.#moments.map(({ atUs, moment }) => {
      const name = atUs < fromUs ? null : this.#findName(moment, dating);
      if (name === null) return { atUs, moment };
      const written = rewrite(
        moment.get(name) ?? this.#findFirst(name, atUs),
        last.get(dating.name) ?? NOTHING,
        dating,
      );
      return { atUs, moment: new Map([...moment, [name, written]]) };
    });
  }

  /** A model's name at a moment: before it was made, its first one where nothing had that. */
  #findName(moment: Moment, { name, modelId }: Dating): string | null {
    if (modelId === null) return name;
    const isModel = ([, of]: readonly [string, OwnState]) => of.modelId === modelId;
    const then = [...moment].find(isModel)?.[0];
    if (then !== undefined) return then;
    const firstAt = this.#moments.findIndex((each) => [...each.moment].some(isModel));
    const first = [...(this.#moments[firstAt]?.moment ?? [])].find(isModel)?.[0];
    const isBefore = this.#moments.findIndex((each) => each.moment === moment) < firstAt;
    const isFree = this.#moments.slice(0, firstAt).every((each) => !each.moment.has(first ?? ""));
    return first !== undefined && isBefore && isFree ? first : null;
  }

  /** Before a name was known it took its prices from where it took them at first, and had none itself. */
  #findFirst(name: string, atUs: number): OwnState {
    const known = this.#moments.find(({ moment }) => moment.has(name));
    const first = known?.moment.get(name);
    if (known === undefined || first === undefined || known.atUs < atUs) return NOTHING;
    const units = new Map([...first.units.keys()].map((unit) => [unit, null]));
    return { ...first, units, list: first.list && new Map() };
  }
}

interface Dating {
  readonly name: string;
  /** Null: a feed's. */
  readonly modelId: string | null;
  readonly covers: (key: string, isVariant: boolean) => boolean;
  readonly hasVariants: boolean;
}

function rewrite(was: OwnState, written: OwnState, { covers, hasVariants }: Dating): OwnState {
  const isCovered = (unit: Unit) => covers(toPriceKey(unit, null), false);
  const units = new Map([
    ...[...was.units].filter(([unit]) => !isCovered(unit)),
    ...[...written.units].filter(([unit]) => isCovered(unit)),
  ]);
  const list = new Map([
    ...[...(was.list ?? [])].filter(([key]) => !covers(key, true)),
    ...[...(written.list ?? [])].filter(([key]) => covers(key, true)),
  ]);
  if (!hasVariants) return { ...was, units };
  return { ...was, units, list: written.list && list };
}

const FLEX = { tier: "flex" };
const NIGHT = { hours: "01:00-04:00" };
const price = fc.integer({ min: 0, max: 9 });
const alias = fc.constantFrom("a", "b", "c", "u");
const upstream = fc.constantFrom("u", "v");
const arbitraryPricing = fc.record({ input_tokens: price, output_tokens: price }, { requiredKeys: [] });
const variants = fc
  .subarray([FLEX, NIGHT])
  .chain((list) =>
    fc.tuple(...list.map((when) => price.map((input_tokens) => ({ when, pricing: { input_tokens } })))),
  );
/** Hours before now; null: no date. */
const ago = fc.option(fc.integer({ min: 1, max: 30 }), { freq: 2 });

type Pointed<Kind> = Kind extends string
  ? { readonly kind: Kind; readonly alias: string; readonly to: string }
  : never;
type Step =
  | Pointed<"bind" | "name" | "retarget" | "reroute" | "rename">
  | { readonly kind: "delete"; readonly alias: string }
  | {
      readonly kind: "price";
      readonly alias: string;
      readonly pricing: PricingDraft | undefined;
      readonly variants: VariantsDraft | undefined;
      readonly ago: number | null;
    }
  | { readonly kind: "feed"; readonly lines: readonly FeedLine[] };

interface FeedLine {
  readonly model: string;
  readonly unit: Unit;
  readonly when: object | undefined;
  readonly price: number;
  readonly ago: number | null;
}

const arbitraryLine = fc.record({
  model: fc.constantFrom("a", "b", "c", "u", "v"),
  unit: fc.constantFrom<Unit>("input_tokens", "output_tokens"),
  when: fc.constantFrom(undefined, undefined, FLEX, NIGHT),
  price,
  ago,
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("bind"), alias, to: upstream }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("name"), alias, to: alias }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("retarget"), alias, to: alias }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reroute"), alias, to: upstream }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rename"), alias, to: alias }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete"), alias }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("price"),
      alias,
      pricing: fc.option(arbitraryPricing, { nil: undefined }),
      variants: fc.option(variants, { nil: undefined }),
      ago,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("feed"),
      lines: fc.uniqueArray(arbitraryLine, {
        selector: ({ model, unit, when }) => `${model} ${unit} ${JSON.stringify(when)}`,
        minLength: 1,
        maxLength: 3,
      }),
    }),
  },
);

const toMoment = (nowUs: number, hours: number) => nowUs - hours * HOUR_US;

function carryOut(catalog: Catalog, next: Step, nowUs: number): Promise<unknown> {
  if (next.kind === "bind")
    return catalog.createModel({ alias: next.alias, provider: "up", upstreamName: next.to }, null);
  if (next.kind === "name") return catalog.createModel({ alias: next.alias, target: next.to }, null);
  if (next.kind === "delete") return catalog.deleteModel(next.alias, null);
  if (next.kind === "feed") {
    const entries = next.lines.map(({ model, unit, when, price: price_per_million, ago: hours }) =>
      Object.assign(
        { model, unit, price_per_million },
        when !== undefined && { when },
        hours !== null && { effective_from: formatInstant(toMoment(nowUs, hours)) },
      ),
    );
    return catalog.loadFeed({ version: "v", entries }, null);
  }
  return catalog.updateModel(next.alias, toPatch(next, nowUs), null);
}

function toPatch(
  next: Extract<Step, { kind: "retarget" | "reroute" | "rename" | "price" }>,
  nowUs: number,
): ModelPatch {
  if (next.kind === "retarget") return { target: next.to };
  if (next.kind === "reroute") return { upstreamName: next.to };
  if (next.kind === "rename") return { alias: next.to };
  const effectiveFrom = next.ago === null ? undefined : formatInstant(toMoment(nowUs, next.ago));
  return { pricing: next.pricing, priceVariants: next.variants, effectiveFrom };
}

/** Does a step and follows it; a step that is refused is none. */
async function take(one: TestCatalog, past: Past, next: Step): Promise<void> {
  one.goTo(one.nowUs() + HOUR_US);
  const nowUs = one.nowUs();
  try {
    await carryOut(one.catalog, next, nowUs);
  } catch (error) {
    if (error instanceof ProxyError) return;
    throw error;
  }
  const moment = readMoment(await one.catalog.snapshot());
  past.add(one.nowUs(), moment);
  if (next.kind === "price" && next.ago !== null) {
    past.dateBack(toMoment(nowUs, next.ago), {
      name: next.alias,
      modelId: moment.get(next.alias)?.modelId ?? null,
      covers: (_, isVariant) => (isVariant ? next.variants : next.pricing) !== undefined,
      hasVariants: next.variants !== undefined,
    });
  }
  if (next.kind !== "feed") return;
  for (const { model, unit, when, ago: hours } of next.lines) {
    if (hours === null) continue;
    const key = toPriceKey(unit, when ?? null);
    past.dateBack(toMoment(nowUs, hours), {
      name: model,
      modelId: null,
      covers: (each) => each === key,
      hasVariants: when !== undefined,
    });
  }
}

test(
  "the history at every moment has what each name inherited then, whatever dates prices have and however models were made, renamed, pointed elsewhere and deleted since",
  () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
        const one = await openTestCatalog();
        try {
          await one.catalog.createProvider({ name: "up", base_url: "http://10.0.0.1/v1" }, null);
          const past = new Past();
          const began = new Map<string, number>();
          for (const next of [{ kind: "bind", alias: "a", to: "u" } as const, ...steps]) {
            await take(one, past, next);
            const nowUs = one.nowUs();
            for (const name of past.at(nowUs).keys()) if (!began.has(name)) began.set(name, nowUs);
          }
          const spans = await one.store.readPriceSpans(null);
          for (const atUs of past.times) {
            for (const [name, beganAtUs] of began) {
              // A name has no price before it is one.
              if (atUs < beganAtUs) continue;
              const held = spans.get(name)?.findLast(({ fromUs }) => fromUs <= atUs)?.prices;
              const units = UNITS.flatMap((unit) => {
                const pico = held?.prices[unit];
                return typeof pico === "number" ? [[toPriceKey(unit, null), pico] as const] : [];
              });
              const known = [...units, ...toList(held?.variants ?? [])];
              expect({ name, atUs, held: new Map(known) }).toEqual({
                name,
                atUs,
                held: new Map(resolve(past.at(atUs), name)),
              });
            }
          }
        } finally {
          await one.close();
        }
      }),
      { numRuns: RUNS },
    ),
  120_000 * scale,
);

/** A catalog with `m` for the upstream `u`, which has a price. */
async function openPriced(): Promise<TestCatalog & { readonly beganAtUs: number }> {
  const one = await openTestCatalog();
  await one.catalog.createProvider({ name: "up", base_url: "http://10.0.0.1/v1" }, null);
  const pricing = { input_tokens: 1 };
  await one.catalog.createModel({ alias: "m", provider: "up", upstreamName: "u", pricing }, null);
  return { ...one, beganAtUs: one.nowUs() };
}

/** The price of input at some hours after the catalog began, with that of the tier `flex` behind it. */
async function readHours(
  one: TestCatalog & { readonly beganAtUs: number },
  name: string,
  hours: readonly number[],
) {
  const spans = (await one.store.readPriceSpans([name])).get(name) ?? [];
  return hours.map((hour) => {
    const { prices } = spans.findLast(({ fromUs }) => fromUs <= one.beganAtUs + hour * HOUR_US) ?? {};
    const flex = prices?.variants.map(({ input_tokens: pico }) => ` ${(pico ?? 0) / 1e6}`) ?? [];
    return `${(prices?.prices.input_tokens ?? 0) / 1e6}${flex.join("")}`;
  });
}

const at = (one: { readonly beganAtUs: number }, hour: number) => one.beganAtUs + hour * HOUR_US;
const from = (one: { readonly beganAtUs: number }, hour: number) => ({
  effectiveFrom: formatInstant(at(one, hour)),
});
const flexAt = (input_tokens: number) => [{ when: FLEX, pricing: { input_tokens } }];

test("a past date reaches a name until it got variants of its own, and from when it lost them on", async () => {
  const one = await openPriced();
  try {
    const { catalog } = one;
    await catalog.createModel({ alias: "n", target: "m" }, null);
    one.goTo(at(one, 2));
    await catalog.updateModel("n", { priceVariants: flexAt(9) }, null);
    one.goTo(at(one, 4));
    await catalog.updateModel("n", { priceVariants: [] }, null);
    one.goTo(at(one, 6));
    await catalog.updateModel("m", { priceVariants: flexAt(5), ...from(one, 1) }, null);
    // Not over its own, which it had then and has no more.
    expect(await readHours(one, "n", [0.5, 1, 1.5, 3, 5, 7])).toEqual([
      "1",
      "1 5",
      "1 5",
      "1 9",
      "1 5",
      "1 5",
    ]);
    one.goTo(at(one, 8));
    await catalog.updateModel("n", { priceVariants: flexAt(8) }, null);
    one.goTo(at(one, 9));
    await catalog.updateModel("m", { priceVariants: flexAt(6), ...from(one, 1) }, null);
    expect(await readHours(one, "n", [1.5, 3, 5, 10])).toEqual(["1 6", "1 9", "1 6", "1 8"]);
    expect(await readHours(one, "m", [0.5, 1.5, 3, 10])).toEqual(["1", "1 6", "1 6", "1 6"]);
  } finally {
    await one.close();
  }
});

test("a past date of a target reaches a name for as long as it was its target, and one of the other since then", async () => {
  const one = await openPriced();
  try {
    const { catalog } = one;
    const other = { alias: "o", provider: "up", upstreamName: "u", pricing: { input_tokens: 2 } };
    await catalog.createModel(other, null);
    await catalog.createModel({ alias: "n", target: "m" }, null);
    one.goTo(at(one, 4));
    await catalog.updateModel("n", { target: "o" }, null);
    one.goTo(at(one, 6));
    await catalog.updateModel("m", { pricing: { input_tokens: 3 }, ...from(one, 1) }, null);
    expect(await readHours(one, "n", [0.5, 2, 5, 7])).toEqual(["1", "3", "2", "2"]);
    await catalog.updateModel("o", { pricing: { input_tokens: 7 }, ...from(one, 2) }, null);
    expect(await readHours(one, "n", [0.5, 2, 3, 5, 7])).toEqual(["1", "3", "3", "7", "7"]);
  } finally {
    await one.close();
  }
});

test("own prices of a name that are taken back as of a past date leave it what its target had then", async () => {
  const one = await openPriced();
  try {
    const { catalog } = one;
    await catalog.createModel({ alias: "n", target: "m", pricing: { input_tokens: 9 } }, null);
    one.goTo(at(one, 3));
    await catalog.updateModel("m", { pricing: { input_tokens: 2 } }, null);
    one.goTo(at(one, 6));
    await catalog.updateModel("n", { pricing: {}, ...from(one, 1) }, null);
    expect(await readHours(one, "n", [0.5, 2, 5, 7])).toEqual(["9", "1", "2", "2"]);
  } finally {
    await one.close();
  }
});

test("a past date reaches a model under the name that it had then, and names of before they were deleted", async () => {
  const one = await openPriced();
  try {
    const { catalog } = one;
    await catalog.createModel({ alias: "gone", target: "m" }, null);
    one.goTo(at(one, 2));
    await catalog.updateModel("m", { alias: "renamed" }, null);
    one.goTo(at(one, 3));
    await catalog.deleteModel("gone", null);
    // Another one takes the name over.
    const pricing = { input_tokens: 4 };
    await catalog.createModel({ alias: "m", provider: "up", upstreamName: "u", pricing }, null);
    one.goTo(at(one, 4));
    await catalog.createModel({ alias: "late", target: "renamed" }, null);
    one.goTo(at(one, 6));
    const { effectiveFrom } = from(one, 1);
    await catalog.updateModel("renamed", { pricing: { input_tokens: 8 }, effectiveFrom }, null);
    expect(await readHours(one, "renamed", [1.5, 2.5, 7])).toEqual(["0", "8", "8"]);
    expect(await readHours(one, "gone", [0.5, 1.5, 2.5, 5])).toEqual(["1", "8", "8", "0"]);
    expect(await readHours(one, "late", [4.5, 7])).toEqual(["8", "8"]);
    // Neither the model that has the old name now, nor the time between them.
    expect(await readHours(one, "m", [0.5, 1.5, 2.5, 3.5, 7])).toEqual(["1", "8", "0", "4", "4"]);
    const dated = { name: "renamed", fromUs: at(one, 1), covers: () => true, hasVariants: true };
    const { id } = (await catalog.snapshot()).findModel("renamed")?.model ?? {};
    const reached = await one.store.listRepriced(
      [{ ...dated, ...(id !== undefined && { modelId: id }) }],
      one.nowUs(),
    );
    expect(new Set(reached.map(({ name }) => name))).toEqual(new Set(["renamed", "m", "gone", "late"]));
  } finally {
    await one.close();
  }
});

test("a line of a feed with a past date is of its name, whichever model had it then", async () => {
  const one = await openPriced();
  try {
    const { catalog } = one;
    one.goTo(at(one, 2));
    await catalog.updateModel("m", { alias: "renamed" }, null);
    one.goTo(at(one, 6));
    const line = {
      model: "m",
      unit: "input_tokens",
      price_per_million: 5,
      effective_from: from(one, 1).effectiveFrom,
    };
    await catalog.loadFeed({ version: "v", entries: [line] }, null);
    expect(await readHours(one, "m", [0.5, 1.5, 3, 7])).toEqual(["1", "5", "5", "5"]);
    expect(await readHours(one, "renamed", [1.5, 3, 7])).toEqual(["0", "1", "1"]);
    // The price is the same, and its date another one.
    await catalog.loadFeed(
      { version: "v", entries: [{ ...line, effective_from: from(one, 0.25).effectiveFrom }] },
      null,
    );
    expect(await readHours(one, "m", [0.1, 0.5, 3])).toEqual(["1", "5", "5"]);
  } finally {
    await one.close();
  }
});

test("a catalog of before inheritance was kept has names inherit what they inherit now, and loses nothing of its history", async () => {
  const one = await openPriced();
  try {
    const { catalog, store } = one;
    await catalog.createModel({ alias: "n", target: "m" }, null);
    one.goTo(at(one, 3));
    await catalog.updateModel("m", { pricing: { input_tokens: 2 } }, null);
    const page = { limit: 50, offset: 0 };
    const before = await store.listHeldPrices(null, page);
    one.tamper("DELETE FROM price_inheritance");
    one.goTo(at(one, 4));
    await catalog.updateModel("n", { hidden: true }, null);
    expect(await store.listHeldPrices(null, page)).toEqual(before);
    one.goTo(at(one, 6));
    await catalog.updateModel("m", { pricing: { input_tokens: 3 }, ...from(one, 1) }, null);
    expect(await readHours(one, "n", [0.5, 2, 5, 7])).toEqual(["1", "3", "3", "3"]);
    const { total } = await store.listHeldPrices(null, page, { hasSuperseded: true });
    expect(total).toBe(8);
  } finally {
    await one.close();
  }
});

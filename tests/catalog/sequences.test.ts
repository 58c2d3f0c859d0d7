import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ModelDraft, ModelPatch, PricingDraft } from "#catalog/model.ts";
import type { Unit } from "#kernel/units.ts";
import { scale } from "../support/scale.ts";
import { ADMIN, openTestCatalog, refusalOf, type TestCatalog } from "./support.ts";

/**
 * The rules of sections 3 and 4.6 once more, in the plainest way: models are objects that hold their prices themselves,
 * names hold a reference to their target. Nothing here is shared with the product.
 */
class PlainCatalog {
  readonly providers = new Map<string, boolean>();
  readonly models = new Map<string, PlainModel>();

  /** The code of the refusal, or `ok`. */
  apply(step: Step): string {
    switch (step.kind) {
      case "create_provider":
        if (this.providers.has(step.name)) return "provider_exists";
        this.providers.set(step.name, true);
        return "ok";
      case "enable_provider":
        if (!this.providers.has(step.name)) return "provider_not_found";
        this.providers.set(step.name, step.enabled);
        return "ok";
      case "delete_provider":
        if (!this.providers.delete(step.name)) return "provider_not_found";
        for (const [alias, model] of this.models) {
          if ((model.target ?? model).provider === step.name) this.models.delete(alias);
        }
        return "ok";
      case "create_model":
        return this.create(step.draft);
      case "update_model":
        return this.update(step.alias, step.patch);
      default:
        return this.delete(step.alias);
    }
  }

  private delete(alias: string): string {
    const model = this.models.get(alias);
    if (model === undefined) return "model_not_found";
    if (this.isTarget(model)) return "model_in_use";
    this.models.delete(alias);
    return "ok";
  }

  private create(draft: ModelDraft): string {
    const model: PlainModel = { hidden: draft.hidden ?? false, prices: new Map() };
    if (draft.target !== undefined) {
      if (draft.provider !== undefined || draft.upstreamName !== undefined) return "invalid_target";
      if (draft.alias === undefined) return "invalid_request";
      if (draft.target === draft.alias) return "invalid_target";
      const target = this.models.get(draft.target);
      if (target === undefined || target.target !== undefined) return "invalid_target";
      model.target = target;
    } else {
      if (draft.provider === undefined || draft.upstreamName === undefined) return "invalid_request";
      if (!this.providers.has(draft.provider)) return "provider_not_found";
      model.provider = draft.provider;
      model.upstream = draft.upstreamName;
      model.capabilities = [...(draft.capabilities ?? ["chat", "chat_stream"])];
    }
    const alias = draft.alias ?? draft.upstreamName ?? "";
    if (this.models.has(alias)) return "alias_exists";
    this.models.set(alias, model);
    if (draft.pricing !== undefined) setPrices(model, draft.pricing);
    return "ok";
  }

  private update(alias: string, patch: ModelPatch): string {
    const model = this.models.get(alias);
    if (model === undefined) return "model_not_found";
    const next: PlainModel = { ...model, prices: new Map(model.prices) };
    const own = [patch.provider, patch.upstreamName, patch.capabilities].some((field) => field !== undefined);
    if (patch.target === "") {
      if (patch.provider === undefined || patch.upstreamName === undefined) return "invalid_target";
      next.capabilities = model.target?.capabilities ?? model.capabilities;
      delete next.target;
    } else if (patch.target !== undefined) {
      if (own || this.isTarget(model) || patch.target === (patch.alias ?? alias)) return "invalid_target";
      const target = this.models.get(patch.target);
      if (target === undefined || target === model || target.target !== undefined) return "invalid_target";
      next.target = target;
      for (const [unit, price] of next.prices) if (price === null) next.prices.delete(unit);
    } else if (model.target !== undefined && own) {
      return "invalid_target";
    }
    if (patch.provider !== undefined && !this.providers.has(patch.provider)) return "provider_not_found";
    if (patch.alias !== undefined && patch.alias !== alias && this.models.has(patch.alias))
      return "alias_exists";
    if (patch.provider !== undefined) next.provider = patch.provider;
    if (patch.upstreamName !== undefined) next.upstream = patch.upstreamName;
    if (patch.capabilities !== undefined) next.capabilities = [...patch.capabilities];
    if (patch.hidden !== undefined) next.hidden = patch.hidden;
    if (patch.pricing !== undefined) setPrices(next, patch.pricing);
    if (next.target === undefined) delete model.target;
    Object.assign(model, next);
    if (patch.alias !== undefined) {
      this.models.delete(alias);
      this.models.set(patch.alias, model);
    }
    return "ok";
  }

  private isTarget(model: PlainModel): boolean {
    return [...this.models.values()].some((other) => other.target === model);
  }

  view(): unknown {
    return [...this.models.entries()]
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([alias, model]) => {
        const bound = model.target ?? model;
        const boundAlias = [...this.models].find(([, other]) => other === bound)?.[0];
        const prices: Record<string, number> = {};
        for (const unit of TRIED_UNITS) {
          const feed = bound.upstream === FEED_NAME && unit === "input_tokens" ? FEED_PRICE : null;
          const price = firstGiven(model.prices.get(unit), bound.prices.get(unit), feed);
          if (price !== null) prices[unit] = price;
        }
        return {
          alias,
          bound: boundAlias,
          provider: bound.provider,
          enabled: this.providers.get(bound.provider ?? ""),
          upstream: bound.upstream,
          capabilities: bound.capabilities,
          hidden: model.hidden,
          prices,
        };
      });
  }
}

interface PlainModel {
  target?: PlainModel | undefined;
  provider?: string | undefined;
  upstream?: string | undefined;
  capabilities?: string[] | undefined;
  hidden: boolean;
  /** Null is the mark "no price"; an absent unit says nothing. */
  prices: Map<Unit, number | null>;
}

const TRIED_UNITS: readonly Unit[] = ["input_tokens", "output_tokens"];
const FEED_NAME = "up-1";
const FEED_PRICE = 99;

function setPrices(model: PlainModel, pricing: PricingDraft): void {
  model.prices.clear();
  for (const unit of TRIED_UNITS) {
    const written = pricing[unit];
    const price = typeof written === "number" ? written : null;
    if (price !== null || model.target === undefined) model.prices.set(unit, price);
  }
}

function firstGiven(...prices: (number | null | undefined)[]): number | null {
  return prices.find((price) => price !== undefined) ?? null;
}

type Step =
  | { kind: "create_provider"; name: string }
  | { kind: "enable_provider"; name: string; enabled: boolean }
  | { kind: "delete_provider"; name: string }
  | { kind: "create_model"; draft: ModelDraft }
  | { kind: "update_model"; alias: string; patch: ModelPatch }
  | { kind: "delete_model"; alias: string };

async function run({ catalog }: TestCatalog, step: Step): Promise<void> {
  switch (step.kind) {
    case "create_provider":
      await catalog.createProvider({ name: step.name, base_url: "http://a.example/v1" }, ADMIN);
      return;
    case "enable_provider":
      await catalog.updateProvider(step.name, { enabled: step.enabled }, ADMIN);
      return;
    case "delete_provider":
      await catalog.deleteProvider(step.name, ADMIN);
      return;
    case "create_model":
      await catalog.createModel(step.draft, ADMIN);
      return;
    case "update_model":
      await catalog.updateModel(step.alias, step.patch, ADMIN);
      return;
    case "delete_model":
      await catalog.deleteModel(step.alias, ADMIN);
  }
}

async function view({ store }: TestCatalog): Promise<unknown> {
  const { models } = await store.snapshot();
  return models.map(({ model, bound, provider, upstreamName, capabilities, prices }) => ({
    alias: model.alias,
    bound: bound.alias,
    provider: provider.name,
    enabled: provider.enabled,
    upstream: upstreamName,
    capabilities: [...capabilities],
    hidden: model.hidden,
    prices: Object.fromEntries(Object.entries(prices).map(([unit, pico]) => [unit, (pico ?? 0) / 1e6])),
  }));
}

const alias = fc.constantFrom("a", "b", "c");
const provider = fc.constantFrom("one", "two");
const upstreamName = fc.constantFrom("up-1", "up-2");
const capabilities = fc.uniqueArray(fc.constantFrom("chat", "embeddings", "vision"));
const price = fc.oneof(fc.constantFrom(0, 1, 2.5), fc.constant(null));
const pricing = fc.record({ input_tokens: price, output_tokens: price }, { requiredKeys: [] });
const binding = fc.record(
  { alias, provider, upstreamName, capabilities, pricing, hidden: fc.boolean() },
  { requiredKeys: ["alias", "provider", "upstreamName"] },
);
const name = fc.record(
  { alias, target: alias, pricing, capabilities },
  { requiredKeys: ["alias", "target"] },
);
const anyDraft = fc.record({ alias, provider, upstreamName, target: alias }, { requiredKeys: ["alias"] });
const patch = fc.oneof(
  fc.record({ alias, pricing, hidden: fc.boolean() }, { requiredKeys: [] }),
  fc.record({ target: alias }),
  fc.record({ target: alias, pricing, alias }, { requiredKeys: ["target"] }),
  fc.record(
    { target: fc.constant(""), provider, upstreamName, capabilities, pricing },
    { requiredKeys: ["target", "provider", "upstreamName"] },
  ),
  fc.record(
    { alias, provider, upstreamName, capabilities, target: fc.oneof(alias, fc.constant("")), pricing },
    { requiredKeys: [] },
  ),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("create_provider" as const), name: provider }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("enable_provider" as const),
      name: provider,
      enabled: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete_provider" as const), name: provider }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("create_model" as const),
      draft: fc.oneof(binding, name, anyDraft),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("update_model" as const), alias, patch }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete_model" as const), alias }) },
);

/** So that few steps already meet each other: a binding, a marked price, and a name. */
const FIRST_STEPS: readonly Step[] = [
  { kind: "create_provider", name: "one" },
  {
    kind: "create_model",
    draft: { alias: "a", provider: "one", upstreamName: "up-2", pricing: { output_tokens: 1 } },
  },
  {
    kind: "create_model",
    draft: { alias: "b", provider: "one", upstreamName: "up-1", pricing: { output_tokens: 2 } },
  },
  { kind: "create_model", draft: { alias: "c", target: "a" } },
];

test("whatever admins do in whatever order, the catalog is what the plain rules say, and a refusal changes nothing", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: "max" }), async (steps) => {
      const fixture = await openTestCatalog();
      try {
        const plain = new PlainCatalog();
        for (const first of FIRST_STEPS) {
          expect(plain.apply(first)).toBe("ok");
          await run(fixture, first);
        }
        await loadFeed(fixture);
        let audited = FIRST_STEPS.length;
        for (const next of steps) {
          const expected = plain.apply(next);
          const given =
            expected === "ok"
              ? await run(fixture, next).then(() => "ok")
              : (await refusalOf(() => run(fixture, next))).code;
          expect(given).toBe(expected);
          expect(await view(fixture)).toEqual(plain.view());
          const entries = (await fixture.audited()).length;
          expect(entries > audited).toBe(expected === "ok");
          audited = entries;
        }
        await expectNoOrphanPrices(fixture);
      } finally {
        await fixture.close();
      }
    }),
    { numRuns: 20 * scale },
  );
}, 60_000);

async function loadFeed({ catalog }: TestCatalog): Promise<void> {
  const entry = { model: FEED_NAME, unit: "input_tokens", price_per_million: FEED_PRICE };
  await catalog.loadFeed({ version: "feed", entries: [entry] }, null);
}

/** A price that a model's write left behind would come into force for the next model of that name. */
async function expectNoOrphanPrices({ store }: TestCatalog): Promise<void> {
  const snapshot = await store.snapshot();
  const own = snapshot.prices.filter(({ feedVersion }) => feedVersion === null);
  expect(own.filter((row) => snapshot.findModel(row.name) === null)).toEqual([]);
}

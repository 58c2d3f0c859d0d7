import fc from "fast-check";
import { AUTH_STYLES } from "#catalog/provider-fields.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { ProxyError } from "#kernel/errors.ts";
import { UNITS } from "#kernel/units.ts";

const PROVIDERS = ["up", "a.b", "a-b", "0x"] as const;
const ALIASES = ["one", "two", "org/three", "Four:4", "on", "12"] as const;
const UPSTREAMS = ["one", "two", "u/1", "yes", "1e3", "日本", "# x: [y", "u‮x"] as const;

const price = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 4_000_000 }).map((micro) => micro / 1e6),
);
const pricing = fc.oneof(
  // No prices at all, written as such.
  fc.constant<Record<string, number>>({}),
  fc
    .dictionary(fc.constantFrom(...UNITS), price, { maxKeys: UNITS.length })
    .map((prices): Record<string, number> => Object.assign({}, prices)),
);
/** Some alike but for how they are written, such as the end of the day. */
const conditions = fc.constantFrom(
  { tier: "flex" },
  { tier: "FLEX" },
  { tier: "priority", input_over: 200_000 },
  { input_over: 200_000 },
  { geo: "us" },
  { hours: "22:00-24:00" },
  { hours: "22:00-00:00" },
);
const variants = fc.uniqueArray(
  fc.record({
    when: conditions,
    pricing: fc.dictionary(fc.constantFrom(...UNITS), price, { minKeys: 1, maxKeys: 3 }),
  }),
  { selector: ({ when }) => JSON.stringify(when).toLowerCase().replace("24:00", "00:00"), maxLength: 3 },
);
const optionalVariants = fc.option(variants, { nil: undefined });
/** Some are met often, so that prices meet the models that inherit them. */
const upstreamName = fc.oneof(fc.constantFrom("one", "u/1"), fc.constantFrom(...UPSTREAMS));
const entries = fc.uniqueArray(
  fc.record({
    model: fc.oneof(upstreamName, fc.constantFrom(...ALIASES)),
    unit: fc.constantFrom(...UNITS),
    when: fc.option(conditions, { nil: undefined }),
    price_per_million: price,
    effective_from: fc.option(fc.constantFrom("2999-01-01", "2999-02-01"), { nil: undefined, freq: 3 }),
  }),
  { selector: ({ model, unit, when }) => `${unit} ${model} ${JSON.stringify(when)}`, maxLength: 5 },
);
const toCome = fc.constantFrom("2999-01-01", "2999-01-02T03:04:05.000006Z");
const capabilities = fc.subarray(["chat", "chat_stream", "completions", "embeddings", "vision"] as const);
const alias = fc.constantFrom(...ALIASES);

type Operation = (catalog: Catalog) => Promise<unknown>;

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .record(
      {
        name: fc.constantFrom(...PROVIDERS),
        host: fc.constantFrom("10.0.0.1", "models.example.org"),
        api_key: fc.constantFrom("sk-1"),
        auth_style: fc.constantFrom(...AUTH_STYLES),
        verify_tls: fc.boolean(),
        timeout_read: fc.constantFrom(20.5, 300),
        max_concurrency: fc.constantFrom(4),
        endpoints: fc.constantFrom({
          embeddings: "http://10.0.0.2/e?v=1",
          chat: "http://10.0.0.2/c",
        }),
        enabled: fc.boolean(),
      },
      { requiredKeys: ["name", "host", "verify_tls", "enabled"] },
    )
    .map(({ host, enabled, ...rest }): Operation => async (to) => {
      await to.createProvider({ ...rest, base_url: `http://${host}/v1` }, null);
      if (!enabled) await to.updateProvider(rest.name, { enabled }, null);
    }),
  fc
    .record({
      alias,
      provider: fc.constantFrom(...PROVIDERS),
      upstreamName,
      capabilities,
      hidden: fc.boolean(),
      origin: fc.constantFrom("declared", "discovered"),
      pricing: fc.option(pricing, { nil: undefined }),
      priceVariants: optionalVariants,
    })
    .map(
      (draft): Operation =>
        (to) =>
          to.createModel(draft, null),
    ),
  fc
    .record({
      alias,
      target: alias,
      pricing: fc.option(pricing, { nil: undefined }),
      priceVariants: optionalVariants,
      hidden: fc.boolean(),
    })
    .map(
      (draft): Operation =>
        (to) =>
          to.createModel(draft, null),
    ),
  fc.tuple(alias, pricing).map(
    ([name, prices]): Operation =>
      (to) =>
        to.updateModel(name, { pricing: prices }, null),
  ),
  // Some at one moment, where the later one wins.
  fc.tuple(alias, fc.option(pricing, { nil: undefined }), optionalVariants, toCome).map(
    ([name, prices, priceVariants, effectiveFrom]): Operation =>
      (to) =>
        to.updateModel(name, { pricing: prices, priceVariants, effectiveFrom }, null),
  ),
  fc.tuple(alias, fc.option(variants)).map(
    ([name, priceVariants]): Operation =>
      (to) =>
        to.updateModel(name, { priceVariants }, null),
  ),
  fc.tuple(alias, alias).map(
    ([name, next]): Operation =>
      (to) =>
        to.updateModel(name, { alias: next }, null),
  ),
  fc.tuple(alias, alias).map(
    ([name, target]): Operation =>
      (to) =>
        to.updateModel(name, { target }, null),
  ),
  fc.tuple(alias, fc.constantFrom(...PROVIDERS), upstreamName).map(
    ([name, provider, theirs]): Operation =>
      (to) =>
        to.updateModel(name, { target: "", provider, upstreamName: theirs }, null),
  ),
  alias.map(
    (name): Operation =>
      (to) =>
        to.deleteModel(name, null),
  ),
  fc.record({ version: fc.constantFrom("2026-03", "v1", "2.10", "null"), entries }).map(
    (feed): Operation =>
      (to) =>
        to.loadFeed(feed, null),
  ),
);

const BEGINNING: readonly Operation[] = [
  (to) => to.createProvider({ name: "up", base_url: "http://10.0.0.1/v1" }, null),
  (to) => to.createModel({ alias: "one", provider: "up", upstreamName: "u/1" }, null),
];

/** A life of a catalog; what a catalog refuses is left out of it. Its first provider and model are always there. */
export const life: fc.Arbitrary<readonly Operation[]> = fc
  .array(operation, { maxLength: 24 })
  .map((operations) => BEGINNING.concat(operations));

export async function live(catalog: Catalog, operations: readonly Operation[]): Promise<void> {
  for (const run of operations) {
    try {
      await run(catalog);
    } catch (cause) {
      if (!(cause instanceof ProxyError)) throw cause;
    }
  }
}

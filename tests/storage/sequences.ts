import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CAPABILITIES } from "#catalog/capability.ts";
import type { Model, Route } from "#catalog/model.ts";
import type { Provider } from "#catalog/provider.ts";
import type { CatalogPicture } from "#catalog/snapshot.ts";
import type { CatalogWrite } from "#catalog/store.ts";
import { UNITS } from "#kernel/units.ts";
import { identityOperation, requireSame } from "./identity-operations.ts";
import { scale } from "../support/scale.ts";
import { CatalogModel, IdentityModel } from "./model.ts";
import { AUDIT, codeOf, PAGE, provider, type CatalogEngine } from "./support.ts";

const CONNECTIONS = 2;
const TEST_TIMEOUT_MS = 60_000;
/** Time left of the limit in which a failure is told as far as it was made small: a test that is cut off tells none. */
const SHOWN_MS = 15_000;

const UNSEEN_ROW_CODES: readonly (string | null)[] = ["provider_exists", "alias_exists", "model_in_use"];

/** Random histories over two connections, compared with the plain model after every step. */
export function testStorageSequences(
  engineName: string,
  createEngine: () => CatalogEngine,
  { runs }: { readonly runs: number },
): void {
  describe(`${engineName}: any history`, () => {
    test(
      "of catalog changes leaves exactly the rows and audit entries of those that succeeded",
      async () => {
        const history = fc.array(
          fc.record({
            on: connection,
            steps: fc.array(catalogWrite, { minLength: 1, maxLength: 3 }),
            audited: fc.boolean(),
          }),
          {
            minLength: 5,
            maxLength: 25,
          },
        );
        await fc.assert(
          fc.asyncProperty(history, async (changes) => {
            await using engine = createEngine();
            const databases = [await engine.open(), await engine.open()];
            const model = new CatalogModel();
            let audited = 0;
            for (const { on, steps, audited: isAudited } of changes) {
              const change = databases[on]!.catalog.change(() => ({
                writes: steps,
                audit: isAudited ? [AUDIT] : [],
                result: (after) => toRows(after),
              }));
              if (model.apply(steps)) {
                expect(await change).toEqual(toRows(model.snapshot()));
                if (isAudited) audited += 1;
              } else {
                // A name that leads to a name is out of force, and holds what it has against the next.
                expect(["bug", ...UNSEEN_ROW_CODES]).toContain(await codeOf(change));
              }
              for (const database of databases) {
                expect(toRows(await database.catalog.snapshot())).toEqual(toRows(model.snapshot()));
                expect((await database.audit.listEvents(PAGE)).total).toBe(audited);
              }
            }
          }),
          { numRuns: runs * scale, interruptAfterTimeLimit: TEST_TIMEOUT_MS - SHOWN_MS },
        );
      },
      TEST_TIMEOUT_MS,
    );

    test(
      "of identity changes answers, refuses and remembers as the plain model does",
      async () => {
        const history = fc.array(fc.record({ on: connection, operation: identityOperation }), {
          minLength: 10,
          maxLength: 40,
        });
        await fc.assert(
          fc.asyncProperty(history, async (operations) => {
            await using engine = createEngine();
            const databases = [await engine.open(), await engine.open()];
            const model = new IdentityModel();
            let audited = 0;
            for (const { on, operation: step } of operations) {
              const expected = step.expect(model);
              expect(await codeOf(step.run(databases[on]!.identity))).toBe(expected);
              if (step.audited && expected === null) audited += 1;
              for (const database of databases) await requireSame(database.identity, model);
              expect((await databases[0]!.audit.listEvents(PAGE)).total).toBe(audited);
            }
          }),
          { numRuns: runs * scale, interruptAfterTimeLimit: TEST_TIMEOUT_MS - SHOWN_MS },
        );
      },
      TEST_TIMEOUT_MS,
    );
  });
}

const connection = fc.nat(CONNECTIONS - 1);
const someOf = (prefix: string, count: number) => fc.nat(count - 1).map((index) => `${prefix}${index}`);

function toRows(snapshot: CatalogPicture) {
  const { providers, models, prices, variantRows, priceCount, feed } = snapshot;
  return { providers, models, prices, variantRows, priceCount, feed };
}

const providerId = someOf("provider-p", 3);
const modelId = someOf("model-m", 4);
const unit = fc.constantFrom(...UNITS);
const priceName = someOf("a", 4);

const someProvider: fc.Arbitrary<Provider> = fc
  .record({
    id: providerId,
    enabled: fc.boolean(),
    sealedCredential: fc.option(fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes))),
    maxConcurrency: fc.option(fc.integer({ min: 1, max: 9 })),
    timeoutReadSeconds: fc.double({ min: 0.001, max: 900, noNaN: true }),
  })
  .chain((fields) => someOf("p", 3).map((name) => provider(name, fields)));

const route: fc.Arbitrary<Route> = fc.oneof(
  fc.record({
    kind: fc.constant("binding" as const),
    providerId,
    upstreamName: fc
      .string({ minLength: 1, maxLength: 6, unit: "grapheme" })
      .filter((text) => !text.includes("\0")),
    capabilities: fc.uniqueArray(fc.constantFrom(...CAPABILITIES)),
  }),
  fc.record({ kind: fc.constant("name" as const), targetId: modelId }),
);
const someModel: fc.Arbitrary<Model> = fc.record({
  id: modelId,
  alias: priceName,
  route,
  origin: fc.constantFrom("declared" as const, "discovered" as const),
  hidden: fc.boolean(),
  createdAtUs: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
});
const somePrice = fc.record({
  name: priceName,
  unit,
  pricePico: fc.option(fc.maxSafeNat()),
  feedVersion: fc.option(fc.string({ maxLength: 4 })),
});

const conditions = fc.record(
  {
    tier: someOf("t", 2),
    inputOver: fc.integer({ min: 1, max: 9 }),
    geo: someOf("g", 2),
    hours: someOf("h", 2),
  },
  { requiredKeys: ["tier"] },
);
const someList = fc.record({
  name: priceName,
  variants: fc.array(
    fc
      .tuple(conditions, fc.dictionary(unit, fc.maxSafeNat(), { maxKeys: 3 }))
      .map(([when, prices]) => Object.assign({ when }, prices)),
    { maxLength: 3 },
  ),
  feedVersion: fc.option(fc.string({ maxLength: 4 })),
});

const someFeed = fc.record({ version: someOf("v", 3), loadedAtUs: fc.maxSafeNat() });

const catalogWrite: fc.Arbitrary<CatalogWrite> = fc.oneof(
  { weight: 4, arbitrary: someProvider.map((row) => ({ kind: "put_provider" as const, provider: row })) },
  { weight: 1, arbitrary: providerId.map((id) => ({ kind: "delete_provider" as const, id })) },
  { weight: 6, arbitrary: someModel.map((row) => ({ kind: "put_model" as const, model: row })) },
  { weight: 2, arbitrary: modelId.map((id) => ({ kind: "delete_model" as const, id })) },
  { weight: 3, arbitrary: somePrice.map((price) => ({ kind: "put_price" as const, price })) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete_price" as const), name: priceName, unit }) },
  { weight: 2, arbitrary: someList.map((list) => ({ kind: "put_variants" as const, list })) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("delete_variants" as const), name: priceName }),
  },
  { weight: 1, arbitrary: fc.option(someFeed).map((feed) => ({ kind: "put_feed" as const, feed })) },
);

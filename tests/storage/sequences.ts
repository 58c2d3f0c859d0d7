import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CAPABILITIES } from "#catalog/capability.ts";
import type { Model, Route } from "#catalog/model.ts";
import type { Provider } from "#catalog/provider.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogWrite } from "#catalog/store.ts";
import type { IdentityStore } from "#identity/store.ts";
import { UNITS } from "#kernel/units.ts";
import { CatalogModel, IdentityModel } from "./model.ts";
import { apiKey, AUDIT, codeOf, PAGE, principal, provider, START_US, type Engine } from "./support.ts";

const RUNS = 30;
const CONNECTIONS = 2;
const TEST_TIMEOUT_MS = 60_000;

/** Random histories over two connections, compared with the plain model after every step. */
export function testStorageSequences(engineName: string, createEngine: () => Engine): void {
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
                expect(await codeOf(change)).toBe("bug");
              }
              for (const database of databases) {
                expect(toRows(await database.catalog.snapshot())).toEqual(toRows(model.snapshot()));
                expect((await database.audit.listEvents(PAGE)).total).toBe(audited);
              }
            }
          }),
          { numRuns: RUNS },
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
          { numRuns: RUNS },
        );
      },
      TEST_TIMEOUT_MS,
    );
  });
}

const connection = fc.nat(CONNECTIONS - 1);
const someOf = (prefix: string, count: number) => fc.nat(count - 1).map((index) => `${prefix}${index}`);

function toRows(snapshot: CatalogSnapshot) {
  return { providers: snapshot.providers, models: snapshot.models, prices: snapshot.prices };
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

const catalogWrite: fc.Arbitrary<CatalogWrite> = fc.oneof(
  { weight: 4, arbitrary: someProvider.map((row) => ({ kind: "put_provider" as const, provider: row })) },
  { weight: 1, arbitrary: providerId.map((id) => ({ kind: "delete_provider" as const, id })) },
  { weight: 6, arbitrary: someModel.map((row) => ({ kind: "put_model" as const, model: row })) },
  { weight: 2, arbitrary: modelId.map((id) => ({ kind: "delete_model" as const, id })) },
  { weight: 3, arbitrary: somePrice.map((price) => ({ kind: "put_price" as const, price })) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete_price" as const), name: priceName, unit }) },
);

interface IdentityOperation {
  readonly name: string;
  readonly audited: boolean;
  expect(model: IdentityModel): string | null;
  run(store: IdentityStore): Promise<unknown>;
}

const PRINCIPALS = ["a", "b", "c"];
const KEYS = ["k0", "k1", "k2", "k3"];
const SESSIONS = ["s0", "s1", "s2"];
const NOW_US = START_US + 1_000;

const name = fc.constantFrom(...PRINCIPALS);
const ownerId = name.map((owner) => `principal-${owner}`);
const role = fc.constantFrom("member" as const, "admin" as const);
const audit = fc.constantFrom(AUDIT, null);

const identityOperation: fc.Arbitrary<IdentityOperation> = fc.oneof(
  fc
    .record({ name, role, enabled: fc.boolean(), audit })
    .map(({ name: given, role: as, enabled, audit: entry }) => {
      const row = principal(given, { role: as, enabled });
      return operation(
        `create ${given}`,
        entry !== null,
        (model) => model.createPrincipal(row),
        (store) => store.createPrincipal(row, entry),
      );
    }),
  fc.record({ name, role }).map(({ name: given, role: as }) => {
    const row = principal(given, { role: as });
    return operation(
      `ensure ${given}`,
      false,
      (model) => model.ensurePrincipal(row),
      (store) => store.ensurePrincipal(row),
    );
  }),
  fc
    .record({ id: ownerId, change: fc.record({ role, enabled: fc.boolean() }, { requiredKeys: [] }), audit })
    .map(({ id, change, audit: entry }) =>
      operation(
        `update ${id}`,
        entry !== null,
        (model) => model.updatePrincipal(id, change),
        (store) => store.updatePrincipal(id, change, entry),
      ),
    ),
  fc.record({ id: ownerId, audit }).map(({ id, audit: entry }) =>
    operation(
      `delete ${id}`,
      entry !== null,
      (model) => model.deletePrincipal(id),
      (store) => store.deletePrincipal(id, entry),
    ),
  ),
  fc.record({ key: fc.constantFrom(...KEYS), id: ownerId, audit }).map(({ key, id, audit: entry }) => {
    const row = apiKey(key, id);
    return operation(
      `create key ${key}`,
      entry !== null,
      (model) => model.createKey(row),
      (store) => store.createKey(row, entry),
    );
  }),
  fc
    .record({ key: fc.constantFrom(...KEYS), principalId: fc.option(ownerId, { nil: undefined }), audit })
    .map(({ key, principalId, audit: entry }) =>
      operation(
        `delete key ${key}`,
        entry !== null,
        (model) => model.deleteKey(`key-${key}`, principalId),
        (store) =>
          store.deleteKey(
            principalId === undefined ? { id: `key-${key}` } : { id: `key-${key}`, principalId },
            entry,
          ),
      ),
    ),
  fc
    .record({
      token: fc.constantFrom(...SESSIONS),
      principalId: ownerId,
      ttlUs: fc.constantFrom(500, 1_000, 2_000),
    })
    .map(({ token, principalId, ttlUs }) => {
      const row = { tokenHash: token, principalId, createdAtUs: START_US, expiresAtUs: START_US + ttlUs };
      return operation(
        `create session ${token}`,
        false,
        (model) => model.createSession(row, NOW_US),
        (store) => store.createSession(row, NOW_US),
      );
    }),
  fc.record({ principalId: ownerId, audit }).map(({ principalId, audit: entry }) =>
    operation(
      `revoke ${principalId}`,
      entry !== null,
      (model) => model.revokeSessions(principalId),
      (store) => store.revokeSessions(principalId, entry),
    ),
  ),
  fc.constantFrom(...SESSIONS).map((token) =>
    operation(
      `sign out ${token}`,
      false,
      (model) => (model.sessions.delete(token), null),
      (store) => store.deleteSession(token),
    ),
  ),
);

function operation(
  label: string,
  audited: boolean,
  expected: IdentityOperation["expect"],
  run: IdentityOperation["run"],
): IdentityOperation {
  return { name: label, audited, expect: expected, run };
}

async function requireSame(store: IdentityStore, model: IdentityModel): Promise<void> {
  for (const key of KEYS)
    expect(await store.findKeyByHash(`hash-${key}`)).toEqual(model.findKeyByHash(`hash-${key}`));
  for (const token of SESSIONS) {
    for (const nowUs of [START_US, NOW_US])
      expect(await store.findSession(token, nowUs)).toEqual(model.findSession(token, nowUs));
  }
  const byName = [...model.principals.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
  expect(await store.listPrincipals(PAGE)).toEqual({ rows: byName, total: byName.length });
  expect((await store.listKeys({}, PAGE)).rows.map((row) => row.id)).toEqual(
    [...model.keys.keys()].toSorted(),
  );
}

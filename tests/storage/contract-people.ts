import { describe, expect } from "bun:test";
import { NO_TERMS } from "#identity/secret.ts";
import type { PeopleWrite } from "#people/store.ts";
import type { CatalogStores } from "#storage/engine.ts";
import { toPromises } from "./promises.ts";
import {
  apiKey,
  AUDIT,
  type CatalogEngine,
  newLimit,
  PAGE,
  principal,
  provider,
  relayToken,
  START_US,
} from "./support.ts";

const ANN = principal("ann");
const KEY = apiKey("one", ANN.id);
const LIMIT = newLimit("l", { subject: { kind: "key", id: KEY.id } });
const MADE: readonly PeopleWrite[] = [
  { kind: "create_principal", principal: ANN },
  { kind: "create_key", key: KEY },
  { kind: "create_limit", limit: LIMIT, subjectId: KEY.id },
];

/** A change of people beside one of the catalog, which puts a provider. */
function write({ people }: Pick<CatalogStores, "people">, writes: readonly PeopleWrite[], name = "up") {
  return people.change(
    () => ({
      writes: [{ kind: "put_provider", provider: provider(name) }],
      audit: [AUDIT],
      result: (after) => after.findProvider(name)?.name,
    }),
    ({ principals }) => ({ writes, audit: [AUDIT], result: principals.length }),
  );
}

/** Principals, keys and limits that are changed together with the catalog. */
export function testPeopleContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine);
  describe(`${engineName}: people`, () => {
    it("that are made, changed and removed are so on every connection when the change returns, with the catalog's part", async (left) => {
      const right = await left.open();
      await right.identity.keys.findByHash(KEY.hash);
      expect(await write(left, MADE)).toEqual({ catalog: "up", people: 0 });
      expect((await right.catalog.snapshot()).findProvider("up")?.name).toBe("up");
      expect((await right.identity.keys.findByHash(KEY.hash))?.principal.name).toBe("ann");
      expect((await right.limits.snapshot()).limits).toMatchObject([{ id: LIMIT.id, amount: LIMIT.amount }]);

      const terms = { ...NO_TERMS, models: new Set(["m"]) };
      const rotation = { hash: "hash-new", suffix: "new", formerUntilUs: null };
      const changes: readonly PeopleWrite[] = [
        { kind: "update_principal", id: ANN.id, change: { tags: ["a:b"] } },
        { kind: "update_key", id: KEY.id, change: { label: "two", terms, rotation } },
        { kind: "update_limit", id: LIMIT.id, change: { amount: 9n } },
      ];
      await write(left, changes);
      expect(await right.identity.keys.findByHash(KEY.hash)).toBeNull();
      expect(await right.identity.keys.findByHash("hash-new")).toMatchObject({
        secret: { id: KEY.id, label: "two", suffix: "new", terms },
        fixedTags: ["a:b"],
      });
      expect((await right.limits.snapshot()).limits).toMatchObject([{ id: LIMIT.id, amount: 9n }]);
      const { people } = await right.people.snapshot();
      expect(people.keys).toMatchObject([{ hash: "hash-new", formerHash: KEY.hash, principalName: "ann" }]);

      await write(left, [
        { kind: "delete_limit", id: LIMIT.id },
        { kind: "delete_key", id: KEY.id },
        { kind: "delete_principal", id: ANN.id },
      ]);
      expect(await right.identity.keys.findByHash("hash-new")).toBeNull();
      expect((await right.people.snapshot()).people).toMatchObject({ principals: [], keys: [], limits: [] });
      expect((await right.audit.listEvents(PAGE)).total).toBe(6);
    });

    it("are read as the lock has found them, whatever another connection has made meanwhile", async (left) => {
      const right = await left.open();
      await left.people.snapshot();
      await right.identity.createPrincipal(ANN, null);
      await right.identity.createPrincipalForSubject(principal("sso"), { issuer: "i", subject: "s" });
      await right.identity.relayTokens.create(relayToken("t", ANN.id), null);
      expect(await write(left, [])).toMatchObject({ people: 2 });
      const { people } = await left.people.snapshot();
      expect(people.principals.map(({ name }) => name)).toEqual(["ann", "sso"]);
      expect([...people.ssoIds]).toEqual(["principal-sso"]);
      expect(people.relayTokens).toEqual([{ id: "token-t", principalId: ANN.id, label: "t" }]);
    });

    it("whose last step breaks a rule leave nothing of the first, nor of the catalog's part", async (left) => {
      const right = await left.open();
      await write(left, MADE);
      const before = await left.people.snapshot();
      const twice = apiKey("two", "principal-bob", { hash: KEY.hash, createdAtUs: START_US + 1 });
      const broken: readonly PeopleWrite[] = [
        { kind: "create_principal", principal: principal("bob") },
        { kind: "update_principal", id: ANN.id, change: { enabled: false } },
        { kind: "delete_limit", id: LIMIT.id },
        { kind: "create_key", key: twice },
      ];
      expect(await write(left, broken, "other").then(Boolean, () => "failed")).toBe("failed");
      for (const stores of [left, right]) {
        const { catalog, people } = await stores.people.snapshot();
        expect(people).toEqual(before.people);
        expect(catalog.providers.map(({ name }) => name)).toEqual(["up"]);
        expect((await stores.identity.keys.findByHash(KEY.hash))?.principal.enabled).toBe(true);
        expect((await stores.audit.listEvents(PAGE)).total).toBe(2);
      }
    });
  });
}

import { describe, expect } from "bun:test";
import { type OwnedSecret, NO_TERMS } from "#identity/secret.ts";
import type { IdentityStore, SecretChange } from "#identity/store.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toPromises } from "./promises.ts";
import {
  apiKey,
  AUDIT,
  codeOf,
  insist,
  PAGE,
  principal,
  relayToken,
  START_US,
  type CatalogEngine,
} from "./support.ts";

const KINDS = [
  {
    noun: "key",
    of: ({ identity }: Identities) => identity.keys,
    make: apiKey,
    id: "key-one",
    missing: "key_not_found",
    full: "too_many_keys",
  },
  {
    noun: "relay token",
    of: ({ identity }: Identities) => identity.relayTokens,
    make: relayToken,
    id: "token-one",
    missing: "relay_token_not_found",
    full: "too_many_relay_tokens",
  },
] as const;

interface Identities {
  readonly identity: IdentityStore;
}

/** Keys and relay tokens. */
export function testSecretsContract(engineName: string, createEngine: () => CatalogEngine): void {
  const it = toPromises(createEngine, "ann", "bob");

  describe.each(KINDS)(`${engineName}: a $noun`, ({ of, make, id, missing, full }) => {
    const find = (stores: Identities, hash = "hash-one") => of(stores).findByHash(hash);

    it("is found by its hash with its owner, enabled or not, and its hash is never handed out", async (left) => {
      const right = await left.open();
      const { hash, ...secret } = make("one", "principal-ann");
      await of(left).create({ ...secret, hash }, null);
      const found = { secret, fixedTags: [], endsAtUs: Infinity, formerUntilUs: null };
      expect(await find(right)).toEqual({ ...found, principal: principal("ann") });
      for (const enabled of [false, true]) {
        await left.identity.updatePrincipal("principal-ann", { enabled }, null);
        expect(await find(right)).toEqual({ ...found, principal: principal("ann", { enabled }) });
      }
      expect(await find(left, id)).toBeNull();
      await left.identity.deletePrincipal("principal-ann", null);
      for (const stores of [left, right]) expect(await find(stores)).toBeNull();
      expect((await of(left).list({}, PAGE)).total).toBe(0);
    });

    it("of an unknown owner is principal_not_found; one with the hash of another is a bug; neither is written", async (stores) => {
      expect(await codeOf(of(stores).create(make("two", "nobody"), AUDIT))).toBe("principal_not_found");
      await of(stores).create(make("one", "principal-ann"), null);
      const twin = make("two", "principal-ann", { hash: "hash-one" });
      expect(await codeOf(of(stores).create(twin, AUDIT))).toBe("bug");
      expect((await of(stores).list({}, PAGE)).rows.map((row) => row.id)).toEqual([id]);
      expect((await stores.audit.listEvents(PAGE)).total).toBe(0);
    });

    it("is gone at the very next look-up once it is deleted, on every connection, and only its owner's deletion or an admin's does so", async (left) => {
      const right = await left.open();
      await of(left).create(make("one", "principal-ann"), null);
      for (const stores of [left, right]) expect(await find(stores)).not.toBeNull();
      expect(await codeOf(of(right).delete({ id, principalId: "principal-bob" }, AUDIT))).toBe(missing);
      expect(await find(left)).not.toBeNull();
      await of(left).delete({ id, principalId: "principal-ann" }, { ...AUDIT, targetRef: id });
      for (const stores of [left, right]) expect(await find(stores)).toBeNull();
      expect(await codeOf(of(right).delete({ id }, AUDIT))).toBe(missing);
      expect((await right.audit.listEvents(PAGE)).rows.map(({ targetRef }) => targetRef)).toEqual([id]);
    });

    it("that is changed is seen so at the very next look-up, on every connection; a plan that throws writes nothing", async (left) => {
      const right = await left.open();
      const terms = { ...NO_TERMS, expiresAtUs: START_US + 5, models: new Set(["b", "a"]) };
      await of(left).create(make("one", "principal-ann", { terms }), null);
      for (const stores of [left, right])
        expect(await find(stores)).toMatchObject({ secret: { terms }, endsAtUs: START_US + 5 });

      const held = {
        ...terms,
        pausedBy: "admin",
        scopedBy: "owner",
        adminExpiresAtUs: 7,
        adminModels: new Set(["a"]),
      } as const;
      const plan = (before: OwnedSecret) => ({ label: `${before.label} more`, terms: held });
      const after = await of(right).change({ id }, plan, AUDIT);
      expect(after).toMatchObject({ label: "one more", principalName: "ann", terms: held });
      const third = await left.open();
      for (const stores of [left, right, third])
        expect(await find(stores)).toMatchObject({
          secret: { label: "one more", terms: held },
          endsAtUs: -Infinity,
        });
      expect((await of(left).list({}, PAGE)).rows[0]).toEqual(after);

      const refuse = () => {
        throw new ProxyError("admin_required", "no");
      };
      expect(await codeOf(of(left).change({ id }, refuse, AUDIT))).toBe("admin_required");
      for (const filter of [{ id: "two" }, { id, principalId: "principal-bob" }])
        expect(await codeOf(of(left).change(filter, () => ({ terms: NO_TERMS }), AUDIT))).toBe(missing);
      expect(await find(third)).toMatchObject({ secret: { terms: held } });
      expect((await left.audit.listEvents(PAGE)).total).toBe(1);
    });

    it("has its fixed tags as they were written, and its end also in the year 9999, on every connection; a change of something else keeps them", async (left) => {
      const right = await left.open();
      const endsAtUs = Date.UTC(9999, 11, 31, 23, 59, 59, 999) * 1000;
      const terms = { ...NO_TERMS, expiresAtUs: endsAtUs, adminExpiresAtUs: endsAtUs };
      const tags = ["team:search"];
      await of(left).create(make("one", "principal-ann", { tags, terms }), null);
      const change = (made: SecretChange) => of(right).change({ id }, () => made, null);
      expect(await change({ label: "uno" })).toMatchObject({ label: "uno", tags });
      for (const stores of [left, right, await left.open()]) {
        expect(await find(stores)).toMatchObject({ secret: { tags, terms }, endsAtUs });
        expect((await of(stores).list({}, PAGE)).rows).toMatchObject([{ tags, terms }]);
      }
      expect(await change({ tags: [] })).toMatchObject({ label: "uno", tags: [] });
      expect(await find(left)).toMatchObject({ secret: { tags: [] } });
    });

    it("that is rotated is found by both hashes, on every connection and after a restart; the next rotation forgets the older one", async (left) => {
      const right = await left.open();
      await of(left).create(make("one", "principal-ann"), null);
      const rotate = (stores: Identities, hash: string, formerUntilUs: number | null) => {
        const rotation = { hash, suffix: hash.slice(-4), formerUntilUs };
        return of(stores).change({ id }, () => ({ rotation }), null);
      };
      const look = async (stores: Identities, hash: string) => {
        const found = await find(stores, hash);
        return found === null ? null : [found.secret.suffix, found.endsAtUs, found.formerUntilUs];
      };
      expect(await look(right, "hash-one")).toEqual(["abcd", Infinity, null]);
      expect(await rotate(left, "hash-2222", START_US + 7)).toMatchObject({ id, suffix: "2222" });
      for (const stores of [left, right, await left.open()]) {
        expect(await look(stores, "hash-one")).toEqual(["2222", START_US + 7, START_US + 7]);
        expect(await look(stores, "hash-2222")).toEqual(["2222", Infinity, null]);
      }
      const soon = { ...NO_TERMS, expiresAtUs: START_US + 3 };
      await of(right).change({ id }, () => ({ terms: soon }), null);
      expect(await look(left, "hash-one")).toEqual(["2222", START_US + 3, START_US + 7]);

      await rotate(right, "hash-3333", START_US + 9);
      for (const stores of [left, right]) {
        expect(await look(stores, "hash-one")).toBeNull();
        expect(await look(stores, "hash-2222")).toEqual(["3333", START_US + 3, START_US + 9]);
      }
      await rotate(left, "hash-4444", null);
      for (const hash of ["hash-one", "hash-2222", "hash-3333"]) expect(await look(right, hash)).toBeNull();
      expect(await look(right, "hash-4444")).toEqual(["4444", START_US + 3, null]);
    });

    it("is one of 500 at most that a principal has; one more is refused and not written, and one deleted makes room", async (stores) => {
      const [first, ...rest] = Array.from({ length: 500 }, (_, at) => make(`${at}`, "principal-ann"));
      const { engine } = stores;
      await of(stores).create(first!, null);
      if (engine.copySecrets === undefined) for (const one of rest) await of(stores).create(one, null);
      else await engine.copySecrets(first!, rest);
      expect(await codeOf(of(stores).create(make("more", "principal-ann"), AUDIT))).toBe(full);
      expect(await find(stores, "hash-more")).toBeNull();
      expect((await of(stores).list({ principalId: "principal-ann" }, PAGE)).total).toBe(500);
      await of(stores).create(make("bob", "principal-bob"), null);
      await of(stores).delete({ id: rest[6]!.id }, null);
      await of(stores).create(make("more", "principal-ann"), null);
      expect(await codeOf(of(stores).create(make("again", "principal-ann"), AUDIT))).toBe(full);
      expect((await stores.audit.listEvents(PAGE)).total).toBe(0);
    });

    it("is listed by creation time, of one owner or of all, with the owner's name and the exact total", async (stores) => {
      for (const [name, owner, createdAtUs] of [
        ["late", "principal-ann", START_US + 9],
        ["mid", "principal-bob", START_US + 5],
        ["early", "principal-ann", START_US + 1],
      ] as const)
        await of(stores).create(make(name, owner, { createdAtUs }), null);
      const all = await of(stores).list({}, PAGE);
      expect(all.rows.map((row) => [row.label, row.principalName])).toEqual([
        ["early", "ann"],
        ["mid", "bob"],
        ["late", "ann"],
      ]);
      expect(all.rows.some((row) => "hash" in row)).toBe(false);
      const own = await of(stores).list({ principalId: "principal-ann" }, { limit: 1, offset: 1 });
      expect(own.rows.map((row) => row.label)).toEqual(["late"]);
      expect(own.total).toBe(2);
    });

    it("that is made beside others at once is found on every connection, and audited once", async (left) => {
      const both = [left, await left.open()] as const;
      const names = Array.from({ length: 12 }, (_, at) => `k${at}`);
      await Promise.all(
        names.map((name, at) =>
          insist(() => of(both[at % 2]!).create(make(name, "principal-ann"), { ...AUDIT, targetRef: name })),
        ),
      );
      for (const stores of both) {
        for (const name of names) expect(await find(stores, `hash-${name}`)).not.toBeNull();
        const refs = (await stores.audit.listEvents(PAGE)).rows.map(({ targetRef }) => targetRef);
        expect(refs.toSorted()).toEqual(names.toSorted());
      }
    });
  });

  describe(`${engineName}: keys and relay tokens`, () => {
    it("are never found, listed or deleted as the other, under one hash and id", async ({ identity }) => {
      const { keys, relayTokens } = identity;
      const twin = apiKey("twin", "principal-ann", { id: "twin" });
      await keys.create(twin, null);
      expect(await relayTokens.findByHash(twin.hash)).toBeNull();
      expect((await relayTokens.list({}, PAGE)).total).toBe(0);
      expect(await codeOf(relayTokens.delete({ id: "twin" }, null))).toBe("relay_token_not_found");
      await relayTokens.create(twin, null);
      await keys.delete({ id: "twin" }, null);
      expect(await keys.findByHash(twin.hash)).toBeNull();
      expect((await keys.list({}, PAGE)).total).toBe(0);
      expect(await keys.findNames(["twin"])).toEqual(new Map());
      expect(await codeOf(keys.delete({ id: "twin" }, null))).toBe("key_not_found");
      expect(await relayTokens.findByHash(twin.hash)).not.toBeNull();
    });

    it("labels and suffixes are found for living keys among the ids that are asked for, and for no other key", async (stores) => {
      const { keys } = stores.identity;
      for (const name of ["one", "two", "three", "gone"])
        await keys.create(apiKey(name, "principal-ann"), null);
      await keys.create(apiKey("unlabelled", "principal-ann", { label: "" }), null);
      await keys.delete({ id: "key-gone" }, null);
      const asked = ["key-two", "key-gone", "key-one", "key-unlabelled", "key-one", `"'], --`, ""];
      expect(await keys.findNames(asked)).toEqual(
        new Map([
          ["key-one", { label: "one", suffix: "abcd" }],
          ["key-two", { label: "two", suffix: "abcd" }],
          ["key-unlabelled", { label: "", suffix: "abcd" }],
        ]),
      );
      expect(await keys.findNames([])).toEqual(new Map());
      const many = Array.from({ length: 2000 }, (_, index) => `key-${index}`);
      expect(await keys.findNames([...many, "key-three"])).toEqual(
        new Map([["key-three", { label: "three", suffix: "abcd" }]]),
      );
    });
  });
}

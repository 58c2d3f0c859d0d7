import { describe, expect, test } from "bun:test";
import type { OwnedSecret } from "#identity/secret.ts";
import { NO_TERMS } from "#identity/secret-terms.ts";
import type { SecretChange } from "#identity/store.ts";
import { ProxyError } from "#kernel/errors.ts";
import { apiKey, AUDIT, codeOf, PAGE, principal, START_US, type CatalogEngine } from "./support.ts";

/** Keys and sessions. */
export function testKeysContract(engineName: string, createEngine: () => CatalogEngine): void {
  describe(`${engineName}: keys`, () => {
    test("a key is found by its hash with its owner, enabled or not, and its hash is never handed out", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      const { hash, ...key } = apiKey("one", "principal-ann");
      await identity.keys.create({ ...key, hash }, null);
      expect(await identity.keys.findByHash(hash)).toEqual({
        secret: key,
        principal: principal("ann"),
        fixedTags: [],
        endsAtUs: Infinity,
        formerUntilUs: null,
      });
      await identity.updatePrincipal("principal-ann", { enabled: false }, null);
      expect(await identity.keys.findByHash(hash)).toEqual({
        secret: key,
        principal: principal("ann", { enabled: false }),
        fixedTags: [],
        endsAtUs: Infinity,
        formerUntilUs: null,
      });
      expect(await identity.keys.findByHash(key.id)).toBeNull();
    });

    test("a key of an unknown owner is principal_not_found and is not written", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      expect(await codeOf(identity.keys.create(apiKey("one", "nobody"), AUDIT))).toBe("principal_not_found");
      expect(await identity.keys.findByHash("hash-one")).toBeNull();
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    test("a deleted key is gone at the very next look-up, on every connection", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      expect(await left.identity.keys.findByHash("hash-one")).not.toBeNull();
      expect(await right.identity.keys.findByHash("hash-one")).not.toBeNull();
      await left.identity.keys.delete({ id: "key-one" }, AUDIT);
      expect(await left.identity.keys.findByHash("hash-one")).toBeNull();
      expect(await right.identity.keys.findByHash("hash-one")).toBeNull();
      expect(await codeOf(right.identity.keys.delete({ id: "key-one" }, AUDIT))).toBe("key_not_found");
    });

    test("a change of a principal is seen with its keys at the very next look-up, on every connection", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("root", { role: "admin" }), null);
      await left.identity.createPrincipal(principal("ann", { role: "admin" }), null);
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      expect((await right.identity.keys.findByHash("hash-one"))?.principal.role).toBe("admin");
      await left.identity.updatePrincipal("principal-ann", { role: "member" }, null);
      expect((await right.identity.keys.findByHash("hash-one"))?.principal.role).toBe("member");
      await right.identity.deletePrincipal("principal-ann", null);
      expect(await right.identity.keys.findByHash("hash-one")).toBeNull();
      expect(await left.identity.keys.findByHash("hash-one")).toBeNull();
    });

    test("a change of a key is seen at the very next look-up, on every connection, and stays; a plan that throws writes nothing", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      const terms = { ...NO_TERMS, expiresAtUs: START_US + 5, models: new Set(["b", "a"]) };
      await left.identity.keys.create(apiKey("one", "principal-ann", { terms }), null);
      const find = (stores: typeof left) => stores.identity.keys.findByHash("hash-one");
      for (const stores of [left, right])
        expect(await find(stores)).toMatchObject({ secret: { terms }, endsAtUs: START_US + 5 });

      const held = { ...terms, pausedBy: "admin", adminExpiresAtUs: 7, adminModels: new Set(["a"]) } as const;
      const plan = (before: OwnedSecret) => ({ label: `${before.label} more`, terms: held });
      const after = await right.identity.keys.change({ id: "key-one" }, plan, AUDIT);
      expect(after).toMatchObject({ label: "one more", principalName: "ann", terms: held });
      const third = await engine.open();
      for (const stores of [left, right, third])
        expect(await find(stores)).toMatchObject({
          secret: { label: "one more", terms: held },
          endsAtUs: -Infinity,
        });
      expect((await left.identity.keys.list({}, PAGE)).rows[0]).toEqual(after);

      const refuse = () => {
        throw new ProxyError("admin_required", "no");
      };
      expect(await codeOf(left.identity.keys.change({ id: "key-one" }, refuse, AUDIT))).toBe(
        "admin_required",
      );
      for (const filter of [{ id: "key-two" }, { id: "key-one", principalId: "principal-bob" }]) {
        expect(await codeOf(left.identity.keys.change(filter, () => ({ terms: NO_TERMS }), AUDIT))).toBe(
          "key_not_found",
        );
      }
      expect(await find(third)).toMatchObject({ secret: { terms: held } });
      expect((await left.audit.listEvents(PAGE)).total).toBe(1);
    });

    test("fixed tags of a key are read as they were written on every connection, and a change of something else keeps them", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      const tags = ["team:search"];
      await left.identity.keys.create(apiKey("one", "principal-ann", { tags }), null);
      const change = (stores: typeof left, made: SecretChange) =>
        stores.identity.keys.change({ id: "key-one" }, () => made, null);
      expect(await change(right, { label: "uno" })).toMatchObject({ label: "uno", tags });
      for (const { identity } of [left, right, await engine.open()]) {
        expect(await identity.keys.findByHash("hash-one")).toMatchObject({ secret: { tags } });
        expect((await identity.keys.list({}, PAGE)).rows).toMatchObject([{ tags }]);
      }
      expect(await change(right, { tags: [] })).toMatchObject({ label: "uno", tags: [] });
      expect(await left.identity.keys.findByHash("hash-one")).toMatchObject({ secret: { tags: [] } });
    });

    test("a key that ends in the year 9999 is read on every connection and after a restart", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      const endsAtUs = Date.UTC(9999, 11, 31, 23, 59, 59, 999) * 1000;
      const terms = { ...NO_TERMS, expiresAtUs: endsAtUs, adminExpiresAtUs: endsAtUs };
      const key = apiKey("one", "principal-ann", { terms });
      await left.identity.keys.create(key, null);
      for (const stores of [left, right, await engine.open()]) {
        expect(await stores.identity.keys.findByHash("hash-one")).toMatchObject({ endsAtUs });
        expect((await stores.identity.keys.list({}, PAGE)).rows).toMatchObject([{ terms }]);
      }
    });

    test("a rotated key is found by both hashes, on every connection and after a restart; the next rotation forgets the older one", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.keys.create(apiKey("one", "principal-ann"), null);
      const rotate = (stores: typeof left, hash: string, formerUntilUs: number | null) =>
        stores.identity.keys.change(
          { id: "key-one" },
          () => ({ rotation: { hash, suffix: hash.slice(-4), formerUntilUs } }),
          null,
        );
      const find = async (stores: typeof left, hash: string) => {
        const found = await stores.identity.keys.findByHash(hash);
        return found === null ? null : [found.secret.suffix, found.endsAtUs, found.formerUntilUs];
      };
      expect(await find(right, "hash-one")).toEqual(["abcd", Infinity, null]);
      expect(await rotate(left, "hash-2222", START_US + 7)).toMatchObject({ id: "key-one", suffix: "2222" });
      for (const stores of [left, right, await engine.open()]) {
        expect(await find(stores, "hash-one")).toEqual(["2222", START_US + 7, START_US + 7]);
        expect(await find(stores, "hash-2222")).toEqual(["2222", Infinity, null]);
      }
      const soon = { ...NO_TERMS, expiresAtUs: START_US + 3 };
      await right.identity.keys.change({ id: "key-one" }, () => ({ terms: soon }), null);
      expect(await find(left, "hash-one")).toEqual(["2222", START_US + 3, START_US + 7]);

      await rotate(right, "hash-3333", START_US + 9);
      for (const stores of [left, right]) {
        expect(await find(stores, "hash-one")).toBeNull();
        expect(await find(stores, "hash-2222")).toEqual(["3333", START_US + 3, START_US + 9]);
      }
      await rotate(left, "hash-4444", null);
      for (const hash of ["hash-one", "hash-2222", "hash-3333"]) expect(await find(right, hash)).toBeNull();
      expect(await find(right, "hash-4444")).toEqual(["4444", START_US + 3, null]);
    });

    test("a principal has 500 keys and 500 relay tokens at most; one more is refused and not written, and one deleted makes room", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createPrincipal(principal("bob"), null);
      for (const [store, code] of [
        [identity.keys, "too_many_keys"],
        [identity.relayTokens, "too_many_relay_tokens"],
      ] as const) {
        const first = apiKey(`${code}-0`, "principal-ann");
        await store.create(first, null);
        const names = Array.from({ length: 499 }, (_, at) => `${code}-${at + 1}`);
        const rest = names.map((name) => apiKey(name, "principal-ann"));
        if (engine.copySecrets === undefined) for (const one of rest) await store.create(one, null);
        else await engine.copySecrets(first, rest);
        expect(await codeOf(store.create(apiKey(`${code}-more`, "principal-ann"), AUDIT))).toBe(code);
        expect(await store.findByHash(`hash-${code}-more`)).toBeNull();
        expect((await store.list({ principalId: "principal-ann" }, PAGE)).total).toBe(500);
        await store.create(apiKey(`${code}-bob`, "principal-bob"), null);
        await store.delete({ id: `key-${code}-7` }, null);
        await store.create(apiKey(`${code}-more`, "principal-ann"), null);
        expect(await codeOf(store.create(apiKey(`${code}-again`, "principal-ann"), AUDIT))).toBe(code);
      }
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    test("a principal deletes its own keys only; another's is key_not_found and stays", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createPrincipal(principal("bob"), null);
      await identity.keys.create(apiKey("one", "principal-ann"), null);
      expect(await codeOf(identity.keys.delete({ id: "key-one", principalId: "principal-bob" }, AUDIT))).toBe(
        "key_not_found",
      );
      expect(await identity.keys.findByHash("hash-one")).not.toBeNull();
      expect((await audit.listEvents(PAGE)).total).toBe(0);
      await identity.keys.delete({ id: "key-one", principalId: "principal-ann" }, null);
      expect(await identity.keys.findByHash("hash-one")).toBeNull();
    });

    test("keys are listed by creation time, of one owner or of all, with the owner's name and the exact total", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createPrincipal(principal("bob"), null);
      await identity.keys.create(apiKey("late", "principal-ann", { createdAtUs: START_US + 9 }), null);
      await identity.keys.create(apiKey("mid", "principal-bob", { createdAtUs: START_US + 5 }), null);
      await identity.keys.create(apiKey("early", "principal-ann", { createdAtUs: START_US + 1 }), null);
      const all = await identity.keys.list({}, PAGE);
      expect(all.rows.map((row) => [row.label, row.principalName])).toEqual([
        ["early", "ann"],
        ["mid", "bob"],
        ["late", "ann"],
      ]);
      expect(all.rows.some((row) => "hash" in row)).toBe(false);
      const own = await identity.keys.list({ principalId: "principal-ann" }, { limit: 1, offset: 1 });
      expect(own.rows.map((row) => row.label)).toEqual(["late"]);
      expect(own.total).toBe(2);
    });

    test("labels and suffixes are found for living keys among the ids that are asked for, and for no other key", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      for (const name of ["one", "two", "three", "gone"]) {
        await identity.keys.create(apiKey(name, "principal-ann"), null);
      }
      await identity.keys.create(apiKey("unlabelled", "principal-ann", { label: "" }), null);
      await identity.keys.delete({ id: "key-gone" }, null);
      const asked = ["key-two", "key-gone", "key-one", "key-unlabelled", "key-one", `"'], --`, ""];
      expect(await identity.keys.findNames(asked)).toEqual(
        new Map([
          ["key-one", { label: "one", suffix: "abcd" }],
          ["key-two", { label: "two", suffix: "abcd" }],
          ["key-unlabelled", { label: "", suffix: "abcd" }],
        ]),
      );
      expect(await identity.keys.findNames([])).toEqual(new Map());
      const many = Array.from({ length: 2000 }, (_, index) => `key-${index}`);
      expect(await identity.keys.findNames([...many, "key-three"])).toEqual(
        new Map([["key-three", { label: "three", suffix: "abcd" }]]),
      );
    });

    test("two keys with one hash are a bug that nothing survives of", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.keys.create(apiKey("one", "principal-ann"), null);
      expect(
        await codeOf(identity.keys.create(apiKey("two", "principal-ann", { hash: "hash-one" }), AUDIT)),
      ).toBe("bug");
      expect((await identity.keys.list({}, PAGE)).total).toBe(1);
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });
  });

  describe(`${engineName}: sessions`, () => {
    const session = (name: string, principalId: string, ttlUs: number) => ({
      tokenHash: `token-${name}`,
      principalId,
      cookieIssuedAtUs: START_US,
      expiresAtUs: START_US + ttlUs,
    });

    test("a session knows the newest of its cookies that was used: an older one, or that of another session, changes nothing", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      for (const name of ["one", "two"])
        await identity.createSession(session(name, "principal-ann", 100), START_US);
      await identity.advanceSession("token-one", START_US + 20);
      await identity.advanceSession("token-one", START_US + 10);
      await identity.advanceSession("token-unknown", START_US + 30);
      const found = async (name: string) => (await identity.findSession(`token-${name}`, START_US))?.session;
      expect(await found("one")).toEqual({
        ...session("one", "principal-ann", 100),
        cookieIssuedAtUs: START_US + 20,
      });
      expect(await found("two")).toEqual(session("two", "principal-ann", 100));
      expect(await found("unknown")).toBeUndefined();
    });

    test("a session is found with its principal until the moment it expires, and never afterwards", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      const created = session("one", "principal-ann", 100);
      await identity.createSession(created, START_US);
      expect(await identity.findSession("token-one", START_US + 99)).toEqual({
        session: created,
        principal: principal("ann"),
      });
      expect(await identity.findSession("token-one", START_US + 100)).toBeNull();
      expect(await identity.findSession("token-two", START_US)).toBeNull();
    });

    test("a new session clears expired ones away and leaves living ones", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createSession(session("dead", "principal-ann", 100), START_US);
      await identity.createSession(session("alive", "principal-ann", 101), START_US);
      await identity.createSession(session("new", "principal-ann", 900), START_US + 100);
      // Asked as of an earlier moment, so that only a removed row can be missing.
      expect(await identity.findSession("token-dead", START_US)).toBeNull();
      expect(await identity.findSession("token-alive", START_US)).not.toBeNull();
    });

    test("a session that is refused clears nothing away; a token is free again once its session has ended", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      for (const [token, ttlUs] of [
        ["ended", 100],
        ["living", 900],
      ] as const)
        await identity.createSession(session(token, "principal-ann", ttlUs), START_US);
      const later = START_US + 100;
      const refused = [
        [session("other", "principal-nobody", 900), "principal_not_found"],
        [session("living", "principal-ann", 900), "bug"],
      ] as const;
      for (const [row, code] of refused) {
        expect(await codeOf(identity.createSession(row, later))).toBe(code);
        expect(await identity.findSession("token-ended", START_US)).not.toBeNull();
      }
      await identity.createSession(session("ended", "principal-ann", 900), later);
      expect(await identity.findSession("token-ended", later)).not.toBeNull();
    });

    test("a deleted session is gone at the very next look-up, and deleting it again is no error", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.createSession(session("one", "principal-ann", 100), START_US);
      expect(await right.identity.findSession("token-one", START_US)).not.toBeNull();
      await left.identity.deleteSession("token-one");
      await left.identity.deleteSession("token-one");
      expect(await right.identity.findSession("token-one", START_US)).toBeNull();
    });

    test("revoking deletes every session of that principal, none of another's, and no key", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      for (const name of ["ann", "bob"]) await identity.createPrincipal(principal(name), null);
      await identity.keys.create(apiKey("one", "principal-ann"), null);
      await identity.createSession(session("a1", "principal-ann", 100), START_US);
      await identity.createSession(session("a2", "principal-ann", 100), START_US);
      await identity.createSession(session("b1", "principal-bob", 100), START_US);
      expect(await identity.revokeSessions("principal-ann", { ...AUDIT, action: "session.revoke" })).toBe(2);
      expect(await identity.revokeSessions("principal-ann", null)).toBe(0);
      expect(await identity.findSession("token-a1", START_US)).toBeNull();
      expect(await identity.findSession("token-b1", START_US)).not.toBeNull();
      expect(await identity.keys.findByHash("hash-one")).not.toBeNull();
      expect((await audit.listEvents(PAGE)).rows.map((event) => event.action)).toEqual(["session.revoke"]);
    });

    test("a deleted principal's sessions are gone, and none can be made for it", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createSession(session("one", "principal-ann", 100), START_US);
      await identity.deletePrincipal("principal-ann", null);
      expect(await identity.findSession("token-one", START_US)).toBeNull();
      expect(await codeOf(identity.createSession(session("two", "principal-ann", 100), START_US))).toBe(
        "principal_not_found",
      );
    });
  });
}

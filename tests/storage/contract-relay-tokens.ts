import { describe, expect, test } from "bun:test";
import {
  apiKey,
  AUDIT,
  codeOf,
  PAGE,
  principal,
  relayToken,
  START_US,
  type CatalogEngine,
} from "./support.ts";

/** Relay tokens: beside the keys, and never among them. */
export function testRelayTokensContract(engineName: string, createEngine: () => CatalogEngine): void {
  describe(`${engineName}: relay tokens`, () => {
    test("a token is found by its hash with its owner, enabled or not, and its hash is never handed out", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      const { hash, ...token } = relayToken("one", "principal-ann");
      await identity.relayTokens.create({ ...token, hash }, null);
      expect(await identity.relayTokens.findByHash(hash)).toEqual({
        secret: token,
        principal: principal("ann"),
        fixedTags: [],
        endsAtUs: Infinity,
        formerUntilUs: null,
      });
      await identity.updatePrincipal("principal-ann", { enabled: false }, null);
      expect(await identity.relayTokens.findByHash(hash)).toEqual({
        secret: token,
        principal: principal("ann", { enabled: false }),
        fixedTags: [],
        endsAtUs: Infinity,
        formerUntilUs: null,
      });
      expect(await identity.relayTokens.findByHash(token.id)).toBeNull();
    });

    test("a token is never found, listed or deleted as a key, nor a key as a token, under one hash and id", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      const twins = { id: "twin", hash: "hash-twin" };
      await identity.keys.create(apiKey("twin", "principal-ann", twins), null);
      expect(await identity.relayTokens.findByHash("hash-twin")).toBeNull();
      expect((await identity.relayTokens.list({}, PAGE)).total).toBe(0);
      expect(await codeOf(identity.relayTokens.delete({ id: "twin" }, null))).toBe("relay_token_not_found");

      await identity.relayTokens.create(relayToken("twin", "principal-ann", twins), null);
      await identity.keys.delete({ id: "twin" }, null);
      expect(await identity.keys.findByHash("hash-twin")).toBeNull();
      expect((await identity.keys.list({}, PAGE)).total).toBe(0);
      expect(await identity.keys.findNames(["twin"])).toEqual(new Map());
      expect(await codeOf(identity.keys.delete({ id: "twin" }, null))).toBe("key_not_found");
      expect(await identity.relayTokens.findByHash("hash-twin")).not.toBeNull();
    });

    test("a token of an unknown owner is principal_not_found and is not written", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      expect(await codeOf(identity.relayTokens.create(relayToken("one", "nobody"), AUDIT))).toBe(
        "principal_not_found",
      );
      expect(await identity.relayTokens.findByHash("hash-one")).toBeNull();
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    test("a deleted token is gone at the very next look-up, on every connection", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.relayTokens.create(relayToken("one", "principal-ann"), null);
      expect(await left.identity.relayTokens.findByHash("hash-one")).not.toBeNull();
      expect(await right.identity.relayTokens.findByHash("hash-one")).not.toBeNull();
      await left.identity.relayTokens.delete(
        { id: "token-one" },
        { ...AUDIT, action: "relay_token.delete", targetKind: "relay_token", targetRef: "token-one" },
      );
      expect(await left.identity.relayTokens.findByHash("hash-one")).toBeNull();
      expect(await right.identity.relayTokens.findByHash("hash-one")).toBeNull();
      expect(await codeOf(right.identity.relayTokens.delete({ id: "token-one" }, AUDIT))).toBe(
        "relay_token_not_found",
      );
      expect((await right.audit.listEvents(PAGE)).rows).toMatchObject([
        { action: "relay_token.delete", targetKind: "relay_token", targetRef: "token-one" },
      ]);
    });

    test("a change of a principal is seen with its tokens at the very next look-up, on every connection", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.relayTokens.create(relayToken("one", "principal-ann"), null);
      const enabled = async () =>
        (await right.identity.relayTokens.findByHash("hash-one"))?.principal.enabled ?? null;
      expect(await enabled()).toBe(true);
      await left.identity.updatePrincipal("principal-ann", { enabled: false }, null);
      expect(await enabled()).toBe(false);
      await left.identity.updatePrincipal("principal-ann", { enabled: true }, null);
      expect(await enabled()).toBe(true);
      await left.identity.deletePrincipal("principal-ann", null);
      expect(await enabled()).toBeNull();
      expect((await left.identity.relayTokens.list({}, PAGE)).total).toBe(0);
    });

    test("a principal deletes its own tokens only; another's is relay_token_not_found and stays", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createPrincipal(principal("bob"), null);
      await identity.relayTokens.create(relayToken("one", "principal-ann"), null);
      const bobs = { id: "token-one", principalId: "principal-bob" };
      expect(await codeOf(identity.relayTokens.delete(bobs, AUDIT))).toBe("relay_token_not_found");
      expect(await identity.relayTokens.findByHash("hash-one")).not.toBeNull();
      expect((await audit.listEvents(PAGE)).total).toBe(0);
      await identity.relayTokens.delete({ id: "token-one", principalId: "principal-ann" }, null);
      expect(await identity.relayTokens.findByHash("hash-one")).toBeNull();
    });

    test("tokens are listed by creation time, of one owner or of all, with the owner's name and the exact total", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createPrincipal(principal("bob"), null);
      for (const [name, owner, laterUs] of [
        ["late", "principal-ann", 9],
        ["mid", "principal-bob", 5],
        ["early", "principal-ann", 1],
      ] as const) {
        await identity.relayTokens.create(relayToken(name, owner, { createdAtUs: START_US + laterUs }), null);
      }
      const all = await identity.relayTokens.list({}, PAGE);
      expect(all.rows.map((row) => [row.label, row.principalName])).toEqual([
        ["early", "ann"],
        ["mid", "bob"],
        ["late", "ann"],
      ]);
      expect(all.rows.some((row) => "hash" in row)).toBe(false);
      const own = await identity.relayTokens.list({ principalId: "principal-ann" }, { limit: 1, offset: 1 });
      expect(own.rows.map((row) => row.label)).toEqual(["late"]);
      expect(own.total).toBe(2);
    });
  });
}

import { describe, expect, test } from "bun:test";
import { apiKey, AUDIT, codeOf, PAGE, principal, relayToken, START_US, type Engine } from "./support.ts";

/** Relay tokens: beside the keys, and never among them. */
export function testRelayTokensContract(engineName: string, createEngine: () => Engine): void {
  describe(`${engineName}: relay tokens`, () => {
    test("a token is found by its hash with its owner, enabled or not, and its hash is never handed out", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      const { hash, ...token } = relayToken("one", "principal-ann");
      await identity.createRelayToken({ ...token, hash }, null);
      expect(await identity.findRelayTokenByHash(hash)).toEqual({ token, principal: principal("ann") });
      await identity.updatePrincipal("principal-ann", { enabled: false }, null);
      expect(await identity.findRelayTokenByHash(hash)).toEqual({
        token,
        principal: principal("ann", { enabled: false }),
      });
      expect(await identity.findRelayTokenByHash(token.id)).toBeNull();
    });

    test("a token is never found, listed or deleted as a key, nor a key as a token, under one hash and id", async () => {
      await using engine = createEngine();
      const { identity } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      const twins = { id: "twin", hash: "hash-twin" };
      await identity.createKey(apiKey("twin", "principal-ann", twins), null);
      expect(await identity.findRelayTokenByHash("hash-twin")).toBeNull();
      expect((await identity.listRelayTokens({}, PAGE)).total).toBe(0);
      expect(await codeOf(identity.deleteRelayToken({ id: "twin" }, null))).toBe("relay_token_not_found");

      await identity.createRelayToken(relayToken("twin", "principal-ann", twins), null);
      await identity.deleteKey({ id: "twin" }, null);
      expect(await identity.findKeyByHash("hash-twin")).toBeNull();
      expect((await identity.listKeys({}, PAGE)).total).toBe(0);
      expect(await identity.findKeyNames(["twin"])).toEqual(new Map());
      expect(await codeOf(identity.deleteKey({ id: "twin" }, null))).toBe("key_not_found");
      expect(await identity.findRelayTokenByHash("hash-twin")).not.toBeNull();
    });

    test("a token of an unknown owner is principal_not_found and is not written", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      expect(await codeOf(identity.createRelayToken(relayToken("one", "nobody"), AUDIT))).toBe(
        "principal_not_found",
      );
      expect(await identity.findRelayTokenByHash("hash-one")).toBeNull();
      expect((await audit.listEvents(PAGE)).total).toBe(0);
    });

    test("a deleted token is gone at the very next look-up, on every connection", async () => {
      await using engine = createEngine();
      const [left, right] = [await engine.open(), await engine.open()];
      await left.identity.createPrincipal(principal("ann"), null);
      await left.identity.createRelayToken(relayToken("one", "principal-ann"), null);
      expect(await left.identity.findRelayTokenByHash("hash-one")).not.toBeNull();
      expect(await right.identity.findRelayTokenByHash("hash-one")).not.toBeNull();
      await left.identity.deleteRelayToken(
        { id: "token-one" },
        { ...AUDIT, action: "relay_token.delete", targetKind: "relay_token", targetRef: "token-one" },
      );
      expect(await left.identity.findRelayTokenByHash("hash-one")).toBeNull();
      expect(await right.identity.findRelayTokenByHash("hash-one")).toBeNull();
      expect(await codeOf(right.identity.deleteRelayToken({ id: "token-one" }, AUDIT))).toBe(
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
      await left.identity.createRelayToken(relayToken("one", "principal-ann"), null);
      const enabled = async () =>
        (await right.identity.findRelayTokenByHash("hash-one"))?.principal.enabled ?? null;
      expect(await enabled()).toBe(true);
      await left.identity.updatePrincipal("principal-ann", { enabled: false }, null);
      expect(await enabled()).toBe(false);
      await left.identity.updatePrincipal("principal-ann", { enabled: true }, null);
      expect(await enabled()).toBe(true);
      await left.identity.deletePrincipal("principal-ann", null);
      expect(await enabled()).toBeNull();
      expect((await left.identity.listRelayTokens({}, PAGE)).total).toBe(0);
    });

    test("a principal deletes its own tokens only; another's is relay_token_not_found and stays", async () => {
      await using engine = createEngine();
      const { identity, audit } = await engine.open();
      await identity.createPrincipal(principal("ann"), null);
      await identity.createPrincipal(principal("bob"), null);
      await identity.createRelayToken(relayToken("one", "principal-ann"), null);
      const bobs = { id: "token-one", principalId: "principal-bob" };
      expect(await codeOf(identity.deleteRelayToken(bobs, AUDIT))).toBe("relay_token_not_found");
      expect(await identity.findRelayTokenByHash("hash-one")).not.toBeNull();
      expect((await audit.listEvents(PAGE)).total).toBe(0);
      await identity.deleteRelayToken({ id: "token-one", principalId: "principal-ann" }, null);
      expect(await identity.findRelayTokenByHash("hash-one")).toBeNull();
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
        await identity.createRelayToken(relayToken(name, owner, { createdAtUs: START_US + laterUs }), null);
      }
      const all = await identity.listRelayTokens({}, PAGE);
      expect(all.rows.map((row) => [row.label, row.principalName])).toEqual([
        ["early", "ann"],
        ["mid", "bob"],
        ["late", "ann"],
      ]);
      expect(all.rows.some((row) => "hash" in row)).toBe(false);
      const own = await identity.listRelayTokens({ principalId: "principal-ann" }, { limit: 1, offset: 1 });
      expect(own.rows.map((row) => row.label)).toEqual(["late"]);
      expect(own.total).toBe(2);
    });
  });
}

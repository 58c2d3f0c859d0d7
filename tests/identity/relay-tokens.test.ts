import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { KEY_USE_REFRESH_US } from "#identity/key-use.ts";
import type { Principal } from "#identity/principal.ts";
import { issueSession } from "#identity/sessions.ts";
import { readWhole } from "../support/stored.ts";
import { ADMIN, ALL, openTestIdentity, refusalOf, type TestIdentity } from "./support.ts";

let fixture: TestIdentity;
let owner: Principal;
let token: { id: string; plaintext: string };
beforeEach(async () => {
  fixture = await openTestIdentity();
  owner = await fixture.principals.create({ name: "mia" }, null);
  const created = await fixture.relayTokens.create({ principalId: owner.id, label: "editor" }, null);
  token = { id: created.secret.id, plaintext: created.plaintext };
});
afterEach(() => fixture.close());

const authenticate = (text: string) => fixture.relayAuthenticator.authenticate(text);
const refusal = (text: string) => refusalOf(() => authenticate(text));

describe("a relay token's plaintext", () => {
  test("is lpt_ and 43 letters and digits, so that it stands in a path as it is", async () => {
    expect(token.plaintext).toMatch(/^lpt_[0-9A-Za-z]{43}$/);
    expect(encodeURIComponent(token.plaintext)).toBe(token.plaintext);
    const next = await fixture.relayTokens.create({ principalId: owner.id }, null);
    expect(next.plaintext).not.toBe(token.plaintext);
  });

  test("is shown once: the store keeps its last four characters and a hash, and not the rest", async () => {
    const { rows } = await fixture.relayTokens.list({}, ALL);
    expect(rows.map(({ suffix }) => suffix)).toEqual([token.plaintext.slice(-4)]);
    expect(JSON.stringify(rows)).not.toContain(token.plaintext.slice(0, -4));
    expect(await readWhole(fixture.path)).not.toContain(token.plaintext.slice(4));
  });
});

describe("relay tokens", () => {
  test("made or deleted by somebody who is named are audited by their id, and otherwise not", async () => {
    expect(await fixture.audited()).toEqual([]);
    const { secret: made } = await fixture.relayTokens.create({ principalId: owner.id }, ADMIN);
    await fixture.relayTokens.delete({ id: made.id }, ADMIN);
    await fixture.relayTokens.delete({ id: token.id, principalId: owner.id }, null);
    expect(await fixture.audited()).toEqual([
      `relay_token.create relay_token ${made.id}`,
      `relay_token.delete relay_token ${made.id}`,
    ]);
  });

  test.each(["x".repeat(121), "😀".repeat(121), "a\u001B[31mb", "a\nb"])(
    "with the label %p are invalid_label",
    async (label) => {
      expect(await refusalOf(() => fixture.relayTokens.create({ principalId: owner.id, label }, ADMIN))).toBe(
        "invalid_label label",
      );
      expect((await fixture.relayTokens.list({}, ALL)).total).toBe(1);
      expect(await fixture.audited()).toEqual([]);
    },
  );

  test("are not made for a principal that is not there, and are deleted by their owner alone", async () => {
    expect(await refusalOf(() => fixture.relayTokens.create({ principalId: "none" }, ADMIN))).toBe(
      "principal_not_found",
    );
    const other = await fixture.principals.create({ name: "bob" }, null);
    for (const filter of [{ id: token.id, principalId: other.id }, { id: "none" }]) {
      expect(await refusalOf(() => fixture.relayTokens.delete(filter, ADMIN))).toBe("relay_token_not_found");
    }
    await authenticate(token.plaintext);
    expect(await fixture.audited()).toEqual([]);
  });
});

describe("the caller of a relay path", () => {
  test("is the token's owner, with the token's id", async () => {
    expect(await authenticate(token.plaintext)).toEqual({
      principal: owner,
      relayTokenId: token.id,
      fixedTags: [],
    });
  });

  test("is unknown_relay_token by whatever is no relay token: a key, a session, a part of a token, its hash", async () => {
    const { plaintext: key } = await fixture.keys.create({ principalId: owner.id }, null);
    const { cookieValue } = await issueSession(fixture.sessions, owner);
    const { plaintext } = token;
    const hash = fixture.sessions.secrets.hashToken(plaintext);
    for (const text of [
      "",
      "lpt_",
      `lpt_${"a".repeat(43)}`,
      `lpt_${"x".repeat(10_000)}`,
      key,
      key.replace(/^lp_/, "lpt_"),
      cookieValue,
      plaintext.slice(0, -1),
      `${plaintext}x`,
      ` ${plaintext}`,
      `Bearer ${plaintext}`,
      plaintext.toUpperCase(),
      plaintext.slice(4),
      plaintext.replace(/^lpt_/, "lp_"),
      hash,
      `lpt_${hash}`,
      "\u00FC",
      "lpt_\u0000",
    ]) {
      const refused = authenticate(text).catch((error: Error) => error.message);
      expect(await refusal(text)).toBe("unknown_relay_token");
      if (text !== "") expect(await refused).not.toContain(text);
    }
  });

  test("is refused in one way, so that a deleted token looks like one that never was", async () => {
    const messages = new Set<unknown>();
    const note = async (text: string) => {
      const refused = await authenticate(text).catch((error: unknown) => error);
      messages.add(JSON.stringify([refused instanceof Error ? refused.message : refused, refused]));
    };
    await note(`lpt_${"a".repeat(43)}`);
    await fixture.principals.update(owner.id, { enabled: false }, null);
    await note(token.plaintext);
    await fixture.principals.update(owner.id, { enabled: true }, null);
    await fixture.relayTokens.delete({ id: token.id }, null);
    await note(token.plaintext);
    expect(messages.size).toBe(1);
  });

  test("that does not begin with lpt_ is told that tokens of this server do", async () => {
    for (const text of ["lp_key", "sk-foreign", "", "LPT_UPPER"]) {
      const refused = await authenticate(text).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code: "unknown_relay_token",
        message: "This is not a relay token of Lockport; they begin with lpt_.",
      });
    }
  });

  test("ends with the token on the very next request", async () => {
    await authenticate(token.plaintext);
    await fixture.relayTokens.delete({ id: token.id, principalId: owner.id }, null);
    expect(await refusal(token.plaintext)).toBe("unknown_relay_token");
  });

  test("stops with a disabled principal, comes back with it, and goes with a deleted one", async () => {
    await fixture.principals.update(owner.id, { enabled: false }, null);
    expect(await refusal(token.plaintext)).toBe("unknown_relay_token");
    await fixture.principals.update(owner.id, { enabled: true }, null);
    expect((await authenticate(token.plaintext)).principal.name).toBe("mia");
    await fixture.principals.delete(owner.id, null);
    expect(await refusal(token.plaintext)).toBe("unknown_relay_token");
    expect((await fixture.relayTokens.list({}, ALL)).total).toBe(0);
  });

  test("is noted as a use of the token at most once a minute, and a refused one is not", async () => {
    await refusal("lpt_unknown");
    await fixture.principals.update(owner.id, { enabled: false }, null);
    await refusal(token.plaintext);
    expect(fixture.keyUseStore.saved).toEqual([]);
    await fixture.principals.update(owner.id, { enabled: true }, null);
    const firstUs = fixture.clock.nowUs();
    await authenticate(token.plaintext);
    fixture.clock.advance(KEY_USE_REFRESH_US / 1000 - 1);
    await authenticate(token.plaintext);
    expect(fixture.keyUseStore.saved).toEqual([[token.id, firstUs]]);
    fixture.clock.advance(1);
    await authenticate(token.plaintext);
    expect(fixture.keyUseStore.saved).toEqual([
      [token.id, firstUs],
      [token.id, firstUs + KEY_USE_REFRESH_US],
    ]);
    const { rows } = await fixture.relayTokens.list({}, ALL);
    expect(await fixture.keyUse.lastUsed(rows.map(({ id }) => id))).toEqual(
      new Map([[token.id, firstUs + KEY_USE_REFRESH_US]]),
    );
  });

  test("costs one question to the store, and none when it cannot be a token", async () => {
    const asked = spyOn(fixture.store.relayTokens, "findByHash");
    await authenticate(token.plaintext);
    expect(asked).toHaveBeenCalledTimes(1);
    await refusal("lp_key");
    expect(asked).toHaveBeenCalledTimes(1);
  });
});

describe("a relay token elsewhere", () => {
  test("is invalid_api_key in either header and no session, and the keys are not even asked", async () => {
    const asked = spyOn(fixture.store.keys, "findByHash");
    const by = (headers: Record<string, string>) =>
      refusalOf(() => fixture.authenticator.authenticate(new Headers(headers)));
    expect(await by({ authorization: `Bearer ${token.plaintext}` })).toBe("invalid_api_key");
    expect(await by({ "x-api-key": token.plaintext })).toBe("invalid_api_key");
    expect(await by({ cookie: `proxy_session=${token.plaintext}` })).toBe("missing_api_key");
    expect(asked).not.toHaveBeenCalled();
    expect(fixture.keyUseStore.saved).toEqual([]);
  });
});

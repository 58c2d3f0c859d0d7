import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { toModelScope } from "#identity/caller.ts";
import { createKeyUse, KEY_USE_REFRESH_US } from "#identity/key-use.ts";
import type { Principal } from "#identity/principal.ts";
import { createSecretText } from "#identity/secret.ts";
import { issueSession } from "#identity/sessions.ts";
import { formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { readWhole } from "../support/stored.ts";
import {
  ADMIN,
  ALL,
  createRecordedKeyUse,
  createTestClock,
  openTestIdentity,
  refusalOf,
  type TestIdentity,
} from "./support.ts";

let fixture: TestIdentity;
let owner: Principal;
let other: Principal;
beforeEach(async () => {
  fixture = await openTestIdentity();
  owner = await fixture.principals.create({ name: "mia" }, null);
  other = await fixture.principals.create({ name: "bob", kind: "service" }, null);
});
afterEach(() => fixture.close());

const laterBy = (ms: number) => formatInstant(fixture.clock.nowUs() + ms * 1000);
const authenticate = (plaintext: string) =>
  fixture.authenticator.authenticate(new Headers({ "x-api-key": plaintext }));
const authenticateToken = (text: string) => fixture.relayAuthenticator.authenticate(text);

/** A use's refusal with its message, or null. */
async function refusalBy(use: () => unknown): Promise<string | null> {
  try {
    await use();
    return null;
  } catch (cause) {
    if (cause instanceof ProxyError) return `${cause.code}: ${cause.message}`;
    throw cause;
  }
}

describe("a secret's plaintext", () => {
  test("is lp_ and 43 letters and digits, never the same twice", () => {
    const made = Array.from({ length: 200 }, () => createSecretText("lp_", createSystemIds()));
    for (const text of made) expect(text).toMatch(/^lp_[0-9A-Za-z]{43}$/);
    expect(new Set(made).size).toBe(made.length);
  });

  test("tells every one of its 256 bits: other bytes make another text", () => {
    const of = (bytes: Uint8Array) => createSecretText("lp_", { uuid: () => "", randomBytes: () => bytes });
    const texts = new Set([of(new Uint8Array(32)), of(new Uint8Array(32).fill(255))]);
    for (let bit = 0; bit < 256; bit += 1) {
      const bytes = new Uint8Array(32);
      bytes[bit >> 3] = 1 << (bit & 7);
      texts.add(of(bytes));
    }
    expect(texts.size).toBe(258);
    expect([...texts].every((text) => text.length === 46)).toBe(true);
  });
});

/** Keys and relay tokens are made, changed and ended in the same way; each is refused with a code of its own. */
const KINDS = [
  {
    name: "keys",
    noun: "API key",
    prefix: "lp_",
    audited: { action: "key", kind: "api_key" },
    codes: { refused: "invalid_api_key", missing: "key_not_found" },
    use: (text: string): unknown => authenticate(text),
  },
  {
    name: "relayTokens",
    noun: "relay token",
    prefix: "lpt_",
    audited: { action: "relay_token", kind: "relay_token" },
    codes: { refused: "unknown_relay_token", missing: "relay_token_not_found" },
    use: (text: string): unknown => authenticateToken(text),
  },
] as const;

describe.each(KINDS)("of $name", ({ name, noun, prefix, audited: { action, kind }, codes, use }) => {
  const create = (terms: { label?: string; expiresAt?: unknown; enabled?: boolean } = {}) =>
    fixture[name].create({ principalId: owner.id, ...terms }, null);
  const list = (principalId?: string) =>
    fixture[name].list(principalId === undefined ? {} : { principalId }, ALL);

  test("one is shown once: the store keeps its last four characters and a hash, and not the rest", async () => {
    const { secret, plaintext } = await fixture[name].create(
      { principalId: owner.id, label: "laptop" },
      ADMIN,
    );
    expect(plaintext).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{43}$`));
    expect(secret.suffix).toBe(plaintext.slice(-4));
    const { rows } = await list();
    expect(JSON.stringify([secret, rows])).not.toContain(plaintext.slice(0, -4));
    expect(Object.keys(rows[0]!)).not.toContain("hash");
    expect(await readWhole(fixture.path)).not.toContain(plaintext.slice(prefix.length));
    expect(await fixture.audited()).toEqual([`${action}.create ${kind} ${secret.id}`]);
  });

  test("all are listed by creation, of one principal or of every one", async () => {
    const ids: string[] = [];
    for (const principal of [owner, other, owner]) {
      fixture.clock.advance(1);
      ids.push((await fixture[name].create({ principalId: principal.id }, null)).secret.id);
    }
    expect((await list()).rows.map(({ id, principalName }) => `${principalName} ${id}`)).toEqual([
      `mia ${ids[0]}`,
      `bob ${ids[1]}`,
      `mia ${ids[2]}`,
    ]);
    expect((await list(owner.id)).rows.map(({ id }) => id)).toEqual([ids[0]!, ids[2]!]);
  });

  test.each(["x".repeat(121), "😀".repeat(121), "a\u001B[31mb", "a\nb"])(
    "one with the label %p is invalid_label",
    async (label) => {
      const refused = await refusalOf(() => fixture[name].create({ principalId: owner.id, label }, ADMIN));
      expect(refused).toBe("invalid_label label");
      expect((await list()).total).toBe(0);
      expect(await fixture.audited()).toEqual([]);
    },
  );

  test("one takes a label of 120 characters, counted as code points, or none", async () => {
    const label = "😀".repeat(120);
    expect((await create({ label })).secret.label).toBe(label);
    expect((await create()).secret.label).toBe("");
  });

  test("none is made for a principal that is not there", async () => {
    expect(await refusalOf(() => fixture[name].create({ principalId: "none" }, ADMIN))).toBe(
      "principal_not_found",
    );
    expect(await fixture.audited()).toEqual([]);
  });

  test("one is deleted by an admin or by its owner, ends with the very next use, and is not found by another principal", async () => {
    const { secret, plaintext } = await create();
    for (const filter of [{ id: secret.id, principalId: other.id }, { id: "none" }])
      expect(await refusalOf(() => fixture[name].delete(filter, ADMIN))).toBe(codes.missing);
    expect(await refusalBy(() => use(plaintext))).toBeNull();
    await fixture[name].delete({ id: secret.id, principalId: owner.id }, ADMIN);
    expect(await refusalBy(() => use(plaintext))).toStartWith(codes.refused);
    expect(await refusalOf(() => fixture[name].delete({ id: secret.id }, ADMIN))).toBe(codes.missing);
    expect(await fixture.audited()).toEqual([`${action}.delete ${kind} ${secret.id}`]);
  });

  test("one with an expiry works up to it, and from that very moment on says that it expired and when", async () => {
    const expiresAt = laterBy(1_000);
    const { plaintext } = await create({ expiresAt });
    fixture.clock.advance(999.999);
    expect(await refusalBy(() => use(plaintext))).toBeNull();
    fixture.clock.advance(0.001);
    expect(await refusalBy(() => use(plaintext))).toStartWith(
      `${codes.refused}: This ${noun} expired at ${expiresAt}.`,
    );
    fixture.clock.advance(86_400_000);
    expect(await refusalBy(() => use(plaintext))).toContain("expired");
  });

  test("one that is paused says so until it is resumed, and each change holds for the very next use", async () => {
    const { secret, plaintext } = await create();
    const change = (patch: object) =>
      fixture[name].update({ id: secret.id, principalId: owner.id }, patch, null);
    for (let round = 0; round < 3; round += 1) {
      expect(await refusalBy(() => use(plaintext))).toBeNull();
      await change({ enabled: false });
      expect(await refusalBy(() => use(plaintext))).toStartWith(`${codes.refused}: This ${noun} is paused.`);
      await change({ enabled: true });
    }
    await change({ expiresAt: laterBy(1) });
    expect(await refusalBy(() => use(plaintext))).toBeNull();
    fixture.clock.advance(1);
    expect(await refusalBy(() => use(plaintext))).toContain("expired");
    await change({ expiresAt: laterBy(1) });
    expect(await refusalBy(() => use(plaintext))).toBeNull();
    await change({ expiresAt: null });
    fixture.clock.advance(2);
    expect(await refusalBy(() => use(plaintext))).toBeNull();
  });

  test("a refused use is not noted as a use, and nothing is told of one whose principal is disabled", async () => {
    const { secret, plaintext } = await create({ enabled: false });
    await refusalBy(() => use(plaintext));
    expect(await fixture.keyUse.lastUsed([secret.id])).toEqual(new Map());
    await fixture.principals.update(owner.id, { enabled: false }, null);
    const unknown = await refusalBy(() =>
      use(`${plaintext.slice(0, -1)}${plaintext.endsWith("a") ? "b" : "a"}`),
    );
    expect(await refusalBy(() => use(plaintext))).toBe(unknown);
    expect(unknown).not.toContain("paused");
  });

  test("another principal's is not found, and nothing changes or is audited", async () => {
    const { secret, plaintext } = await create();
    const before = await fixture.audited();
    const foreign = { id: secret.id, principalId: "somebody" };
    expect(await refusalOf(() => fixture[name].update(foreign, { enabled: false }, ADMIN))).toBe(
      codes.missing,
    );
    expect(await refusalBy(() => use(plaintext))).toBeNull();
    expect(await fixture.audited()).toEqual(before);
  });

  test("a change is audited with it, and one that is refused is not", async () => {
    const { secret } = await create();
    const byAdmin = { enabled: false, setter: "admin" } as const;
    await fixture[name].update({ id: secret.id }, byAdmin, ADMIN);
    const own = { id: secret.id, principalId: owner.id };
    expect(await refusalOf(() => fixture[name].update(own, { enabled: true }, ADMIN))).toBe(
      "admin_required enabled",
    );
    expect(await refusalOf(() => fixture[name].update(own, { expiresAt: "no" }, ADMIN))).toBe(
      "invalid_expiry expires_at",
    );
    expect(await refusalOf(() => fixture[name].update(own, { label: "a\nb" }, ADMIN))).toBe(
      "invalid_label label",
    );
    expect(await fixture.audited()).toEqual([`${action}.update ${kind} ${secret.id}`]);
  });
});

test("a key's models come with its caller, and a change of them with the next request's", async () => {
  const { secret, plaintext } = await fixture.keys.create(
    { principalId: owner.id, models: ["b", "a"] },
    null,
  );
  expect(toModelScope(await authenticate(plaintext))).toEqual(new Set(["b", "a"]));
  await fixture.keys.update({ id: secret.id }, { models: null, label: "free" }, null);
  expect(toModelScope(await authenticate(plaintext))).toBeNull();
  const { rows } = await fixture.keys.list({}, { limit: 1, offset: 0 });
  expect(rows[0]).toMatchObject({ label: "free", terms: { models: null } });
});

describe("the last use of a key", () => {
  test("reaches the store at most once a minute, and each key has a minute of its own", () => {
    const [clock, store] = [createTestClock(), createRecordedKeyUse()];
    const keyUse = createKeyUse(store, clock);
    const startUs = clock.nowUs();
    for (let second = 0; second < 120; second += 1) {
      keyUse.touch("a");
      if (second === 30) keyUse.touch("b");
      clock.advance(1000);
    }
    expect(store.saved).toEqual([
      ["a", startUs],
      ["b", startUs + 30_000_000],
      ["a", startUs + KEY_USE_REFRESH_US],
    ]);
  });

  test("is known at once, before the store has it, and does not go back behind what the store has", async () => {
    const [clock, store] = [createTestClock(), createRecordedKeyUse()];
    const laterUs = clock.nowUs() + 1;
    const slow = { saveLastUsed: () => {}, loadLastUsed: async () => new Map([["b", laterUs]]) };
    const keyUse = createKeyUse(slow, clock);
    keyUse.touch("a");
    keyUse.touch("b");
    expect(await keyUse.lastUsed(["a", "b", "never"])).toEqual(
      new Map([
        ["a", clock.nowUs()],
        ["b", laterUs],
      ]),
    );
    expect(store.saved).toEqual([]);
  });

  test("is noted again when the wall clock is set back", () => {
    const [clock, store] = [createTestClock(), createRecordedKeyUse()];
    const keyUse = createKeyUse(store, clock);
    keyUse.touch("a");
    clock.advance(-3_600_000);
    keyUse.touch("a");
    expect(store.saved.length).toBe(2);
  });
});

describe("the caller of a relay path", () => {
  let token: { id: string; plaintext: string };
  beforeEach(async () => {
    const { secret, plaintext } = await fixture.relayTokens.create({ principalId: owner.id }, null);
    token = { id: secret.id, plaintext };
  });
  const refusal = (text: string) => refusalOf(() => authenticateToken(text));

  test("is the token's owner, with the token's id", async () => {
    expect(await authenticateToken(token.plaintext)).toEqual({
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
      const refused = authenticateToken(text).catch((error: Error) => error.message);
      expect(await refusal(text)).toBe("unknown_relay_token");
      if (text !== "") expect(await refused).not.toContain(text);
    }
  });

  test("is refused in one way, so that a deleted token looks like one that never was", async () => {
    const messages = new Set<unknown>();
    const note = async (text: string) => {
      const refused = await authenticateToken(text).catch((error: unknown) => error);
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
      const refused = await authenticateToken(text).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code: "unknown_relay_token",
        message: "This is not a relay token of Lockport; they begin with lpt_.",
      });
    }
  });

  test("stops with a disabled principal, comes back with it, and goes with a deleted one", async () => {
    await fixture.principals.update(owner.id, { enabled: false }, null);
    expect(await refusal(token.plaintext)).toBe("unknown_relay_token");
    await fixture.principals.update(owner.id, { enabled: true }, null);
    expect((await authenticateToken(token.plaintext)).principal.name).toBe("mia");
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
    await authenticateToken(token.plaintext);
    fixture.clock.advance(KEY_USE_REFRESH_US / 1000 - 1);
    await authenticateToken(token.plaintext);
    expect(fixture.keyUseStore.saved).toEqual([[token.id, firstUs]]);
    fixture.clock.advance(1);
    await authenticateToken(token.plaintext);
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
    await authenticateToken(token.plaintext);
    expect(asked).toHaveBeenCalledTimes(1);
    await refusal("lp_key");
    expect(asked).toHaveBeenCalledTimes(1);
  });

  test("has no key: its token is invalid_api_key in either header and no session, and the keys are not even asked", async () => {
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

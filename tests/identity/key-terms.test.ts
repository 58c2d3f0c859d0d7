import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { toModelScope } from "#identity/caller.ts";
import type { Principal } from "#identity/principal.ts";
import { formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { ADMIN, openTestIdentity, refusalOf, type TestIdentity } from "./support.ts";

let fixture: TestIdentity;
let owner: Principal;
beforeEach(async () => {
  fixture = await openTestIdentity();
  owner = await fixture.principals.create({ name: "mia" }, null);
});
afterEach(() => fixture.close());

const laterBy = (ms: number) => formatInstant(fixture.clock.nowUs() + ms * 1000);
const authenticate = (plaintext: string) =>
  fixture.authenticator.authenticate(new Headers({ "x-api-key": plaintext }));

/** What a use is refused with, or null. */
async function refusalBy(use: () => unknown): Promise<string | null> {
  try {
    await use();
    return null;
  } catch (cause) {
    if (cause instanceof ProxyError) return `${cause.code}: ${cause.message}`;
    throw cause;
  }
}

/** Keys and relay tokens end in the same way; each is refused with a code of its own. */
const KINDS = [
  ["keys", "API key", "invalid_api_key", (text: string) => authenticate(text)],
  [
    "relayTokens",
    "relay token",
    "unknown_relay_token",
    (text: string) => fixture.relayAuthenticator.authenticate(text),
  ],
] as const;

describe.each(KINDS)("of %s, %s", (name, noun, code, use) => {
  const create = (terms: { expiresAt?: unknown; enabled?: boolean } = {}) =>
    fixture[name].create({ principalId: owner.id, ...terms }, null);

  test("one with an expiry works up to it, and from that very moment on says that it expired and when", async () => {
    const expiresAt = laterBy(1_000);
    const { plaintext } = await create({ expiresAt });
    fixture.clock.advance(999.999);
    expect(await refusalBy(() => use(plaintext))).toBeNull();
    fixture.clock.advance(0.001);
    expect(await refusalBy(() => use(plaintext))).toStartWith(
      `${code}: This ${noun} expired at ${expiresAt}.`,
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
      expect(await refusalBy(() => use(plaintext))).toStartWith(`${code}: This ${noun} is paused.`);
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
    expect(await refusalOf(() => fixture[name].update(foreign, { enabled: false }, ADMIN))).toMatch(
      /^(key|relay_token)_not_found$/,
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
    const [action, kind] = name === "keys" ? ["key", "api_key"] : ["relay_token", "relay_token"];
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

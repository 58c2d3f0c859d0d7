import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { requireAdmin } from "#identity/caller.ts";
import type { Principal } from "#identity/principal.ts";
import { NO_TERMS } from "#identity/secret.ts";
import { issueSession } from "#identity/sessions.ts";
import { ADMIN, openTestIdentity, refusalOf, SESSION_TTL_SECONDS, type TestIdentity } from "./support.ts";

let fixture: TestIdentity;
let member: Principal;
let admin: Principal;
let key: { id: string; plaintext: string };
let cookie: string;

beforeEach(async () => {
  fixture = await openTestIdentity();
  member = await fixture.principals.create({ name: "mia" }, null);
  admin = await fixture.principals.create({ name: "ada", role: "admin" }, null);
  const created = await fixture.keys.create({ principalId: member.id }, null);
  key = { id: created.secret.id, plaintext: created.plaintext };
  cookie = `proxy_session=${(await issueSession(fixture.sessions, admin)).cookieValue}`;
});
afterEach(() => fixture.close());

type HeadersInit = ConstructorParameters<typeof Headers>[0];
const authenticate = (headers: HeadersInit) => fixture.authenticator.authenticate(new Headers(headers));
const refusal = (headers: HeadersInit) => refusalOf(() => authenticate(headers));
const nameOf = async (headers: HeadersInit) => (await authenticate(headers)).principal.name;
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

describe("an API key", () => {
  test("in the bearer header names its principal and itself", async () => {
    expect(await authenticate(bearer(key.plaintext))).toEqual({
      principal: member,
      fixedTags: [],
      credential: {
        kind: "key",
        key: expect.objectContaining({ id: key.id, terms: NO_TERMS }),
        isFormer: false,
      },
    });
  });

  test.each(["bearer", "BEARER", "bEaReR"])("is taken with the scheme written %p", async (scheme) => {
    expect(await nameOf({ authorization: `${scheme} ${key.plaintext}` })).toBe("mia");
    expect(await nameOf({ authorization: `${scheme} \t ${key.plaintext}  ` })).toBe("mia");
  });

  test("that does not begin with lp_ is told that keys of this server do; one that does is not", async () => {
    const messageFor = async (headers: Record<string, string>) => {
      try {
        await authenticate(headers);
      } catch (refused) {
        if (refused instanceof Error) return refused.message;
      }
      return null;
    };
    for (const text of ["sk-foreign", "null", "lpt_0000", "LP_UPPER"]) {
      const message = await messageFor(bearer(text));
      expect(message).toBe("This is not a Lockport key; they begin with lp_.");
      expect(await messageFor({ "x-api-key": text })).toBe(message);
    }
    expect(await messageFor(bearer("lp_unknown"))).toBe("This API key is not valid.");
  });

  test("in x-api-key is consulted only when no bearer header is present", async () => {
    const good = { "x-api-key": key.plaintext };
    expect(await nameOf(good)).toBe("mia");
    expect(await nameOf({ ...good, authorization: "Basic dXNlcjpwYXNz" })).toBe("mia");
    expect(await nameOf({ ...good, authorization: "Bearer" })).toBe("mia");
    expect(await nameOf({ ...good, authorization: "Bearer   " })).toBe("mia");
    expect(await nameOf({ ...good, authorization: "" })).toBe("mia");
    expect(await refusal({ ...good, ...bearer("lp_unknown") })).toBe("invalid_api_key");
    expect(await nameOf({ "x-api-key": "lp_unknown", ...bearer(key.plaintext) })).toBe("mia");
  });

  test.each([
    "lp_",
    "lp_unknown",
    "sk-foreign",
    "lpt_0000000000000000000000000000000000000000000",
    "\u00FC",
    "null",
    `lp_${"x".repeat(10_000)}`,
  ])("that is not one of ours (%p) is invalid_api_key in either header", async (text) => {
    expect(await refusal(bearer(text))).toBe("invalid_api_key");
    expect(await refusal({ "x-api-key": text })).toBe("invalid_api_key");
  });

  test("is not found by a part of it, by another case, or by its hash", async () => {
    const { plaintext } = key;
    const hash = fixture.sessions.secrets.hashToken(plaintext);
    for (const text of [
      plaintext.slice(0, -1),
      `${plaintext}x`,
      plaintext.toUpperCase(),
      plaintext.slice(3),
      hash,
      `lp_${hash}`,
    ]) {
      expect(await refusal(bearer(text))).toBe("invalid_api_key");
    }
  });

  test("in one of two Authorization headers is invalid_api_key, whichever comes first", async () => {
    const good = `Bearer ${key.plaintext}`;
    for (const values of [
      [good, good],
      [good, "Basic dXNlcg=="],
      ["Basic dXNlcg==", good],
      ["Bearer", good],
      ["", good],
    ]) {
      const headers = new Headers();
      for (const value of values) headers.append("authorization", value);
      headers.set("x-api-key", key.plaintext);
      expect(await refusal(headers)).toBe("invalid_api_key");
    }
    const twice = new Headers([
      ["x-api-key", key.plaintext],
      ["x-api-key", key.plaintext],
    ]);
    expect(await refusal(twice)).toBe("invalid_api_key");
  });

  test("that is deleted fails on the very next request and looks like an unknown one", async () => {
    await authenticate(bearer(key.plaintext));
    await fixture.keys.delete({ id: key.id }, null);
    expect(await refusal(bearer(key.plaintext))).toBe("invalid_api_key");
  });

  test("of a disabled principal is invalid_api_key at once and comes back with the principal", async () => {
    await fixture.principals.update(member.id, { enabled: false }, null);
    expect(await refusal(bearer(key.plaintext))).toBe("invalid_api_key");
    await fixture.principals.update(member.id, { enabled: true }, null);
    expect(await nameOf(bearer(key.plaintext))).toBe("mia");
  });

  test("goes with its principal", async () => {
    await fixture.principals.delete(member.id, null);
    expect(await refusal(bearer(key.plaintext))).toBe("invalid_api_key");
  });

  test("in use is noted, and one that is refused is not", async () => {
    await refusal(bearer("lp_unknown"));
    await fixture.principals.update(member.id, { enabled: false }, null);
    await refusal(bearer(key.plaintext));
    expect(fixture.keyUseStore.saved).toEqual([]);
    await fixture.principals.update(member.id, { enabled: true }, null);
    await authenticate(bearer(key.plaintext));
    expect(fixture.keyUseStore.saved.map(([id]) => id)).toEqual([key.id]);
  });

  test("costs one question to the store, and none when it cannot be a key", async () => {
    const asked = spyOn(fixture.store.keys, "findByHash");
    await authenticate({ ...bearer(key.plaintext), cookie });
    expect(asked).toHaveBeenCalledTimes(1);
    await refusal(bearer("lpt_relay"));
    expect(asked).toHaveBeenCalledTimes(1);
  });
});

describe("no credential", () => {
  const absent: readonly Record<string, string>[] = [
    {},
    { authorization: "" },
    { authorization: "Bearer" },
    { authorization: "Basic dXNlcjpwYXNz" },
    { "x-api-key": "" },
    { cookie: "other=1" },
    { cookie: "proxy_session=" },
  ];
  test.each(absent)("is missing_api_key: %p", async (headers) => {
    expect(await refusal(headers)).toBe("missing_api_key");
  });

  test("is what a key without its scheme counts as", async () => {
    expect(await refusal({ authorization: key.plaintext })).toBe("missing_api_key");
    expect(await refusal({ authorization: `Bearer${key.plaintext}` })).toBe("missing_api_key");
  });
});

describe("a session", () => {
  test("names its principal, with other cookies around it", async () => {
    const caller = await authenticate({ cookie: `a=1; ${cookie}; b=2` });
    expect(caller.principal).toEqual(admin);
    expect(caller.credential.kind).toBe("session");
  });

  test("together with a key leaves the decision to the key: a bad key with a good session is invalid_api_key", async () => {
    expect(await nameOf({ cookie, ...bearer(key.plaintext) })).toBe("mia");
    expect(await refusal({ cookie, ...bearer("lp_unknown") })).toBe("invalid_api_key");
    expect(await refusal({ cookie, "x-api-key": "lp_unknown" })).toBe("invalid_api_key");
    expect(await nameOf({ cookie, authorization: "Bearer" })).toBe("ada");
  });

  test("sent twice counts as none, in one header or in two, and never as the first or the last of them", async () => {
    expect(await refusal({ cookie: `${cookie}; ${cookie}` })).toBe("missing_api_key");
    expect(await refusal({ cookie: `proxy_session=x; ${cookie}` })).toBe("missing_api_key");
    expect(
      await refusal(
        new Headers([
          ["cookie", cookie],
          ["cookie", "proxy_session=x"],
        ]),
      ),
    ).toBe("missing_api_key");
  });

  test("under a name that only looks like it is not one", async () => {
    expect(await refusal({ cookie: `x${cookie}` })).toBe("missing_api_key");
    expect(await refusal({ cookie: cookie.replace("proxy_session", "Proxy_Session") })).toBe(
      "missing_api_key",
    );
    expect(await nameOf({ cookie: `xproxy_session=1; ${cookie}` })).toBe("ada");
  });

  test("whose cookie was changed anywhere is missing_api_key, and the store is not asked", async () => {
    const asked = spyOn(fixture.store, "findSession");
    const value = cookie.slice("proxy_session=".length);
    for (let index = 0; index < value.length; index += 1) {
      const changed = value.slice(0, index) + (value[index] === "A" ? "B" : "A") + value.slice(index + 1);
      expect(await refusal({ cookie: `proxy_session=${changed}` })).toBe("missing_api_key");
    }
    expect(await refusal({ cookie: `proxy_session=${value.replace(".admin.", ".member.")}` })).toBe(
      "missing_api_key",
    );
    expect(asked).not.toHaveBeenCalled();
  });

  test("ends at its absolute age, however much it is used", async () => {
    fixture.clock.advance(SESSION_TTL_SECONDS * 1000 - 1);
    expect(await nameOf({ cookie })).toBe("ada");
    fixture.clock.advance(1);
    expect(await refusal({ cookie })).toBe("missing_api_key");
  });

  test("that is revoked, deleted or of a disabled or removed principal is missing_api_key on the next request", async () => {
    const sessions = async () =>
      `proxy_session=${(await issueSession(fixture.sessions, member)).cookieValue}`;
    const [revoked, deleted, disabled] = [await sessions(), await sessions(), await sessions()];

    const caller = await authenticate({ cookie: deleted });
    if (caller.credential.kind !== "session") throw new Error("not a session");
    await fixture.store.deleteSession(caller.credential.session.tokenHash);
    expect(await refusal({ cookie: deleted })).toBe("missing_api_key");

    await fixture.principals.update(member.id, { enabled: false }, null);
    expect(await refusal({ cookie: disabled })).toBe("missing_api_key");
    await fixture.principals.update(member.id, { enabled: true }, null);
    expect(await nameOf({ cookie: disabled })).toBe("mia");

    expect(await fixture.principals.revokeSessions(member.id, null)).toBe(2);
    expect(await refusal({ cookie: revoked })).toBe("missing_api_key");
    expect(await nameOf(bearer(key.plaintext))).toBe("mia");
    expect(await nameOf({ cookie })).toBe("ada");

    const last = await sessions();
    await fixture.principals.delete(member.id, null);
    expect(await refusal({ cookie: last })).toBe("missing_api_key");
  });

  test("has the role that its principal has now, not the one in its cookie", async () => {
    const other = await fixture.principals.create({ name: "abe", role: "admin" }, ADMIN);
    const demoted = `proxy_session=${(await issueSession(fixture.sessions, other)).cookieValue}`;
    requireAdmin(await authenticate({ cookie: demoted }));
    await fixture.principals.update(other.id, { role: "member" }, null);
    const caller = await authenticate({ cookie: demoted });
    expect(await refusalOf(() => requireAdmin(caller))).toBe("admin_required");
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ATTEMPTS_BURST, createOwnAttempts, FAILURE_DELAY_MS } from "#identity/attempts.ts";
import {
  createLoginLinks,
  createLoginLinkSignIn,
  LOGIN_LINK_TTL_SECONDS,
  type LoginLinks,
} from "#identity/login-links.ts";
import type { Principal } from "#identity/principal.ts";
import { readStored } from "../support/stored.ts";
import { openTestIdentity, PEER, refusalOf, type TestIdentity } from "./support.ts";

let fixture: TestIdentity;
let links: LoginLinks;
let ada: Principal;
let slept: number[];
let signIn: (token: string) => Promise<{ readonly principal: Principal; readonly cookieValue: string }>;

beforeEach(async () => {
  fixture = await openTestIdentity();
  slept = [];
  links = createLoginLinks(fixture.sessions);
  const sleep = async (durationMs: number) => void slept.push(durationMs);
  const pause = async (durationMs: number) => fixture.clock.advance(durationMs);
  const door = createLoginLinkSignIn({
    ...fixture.sessions,
    sharedAttempts: createOwnAttempts(fixture.clock),
    signIns: fixture.signIns,
    sleep,
    pause,
  });
  signIn = (token) => door.signIn(token, PEER);
  ada = await fixture.principals.create({ name: "ada", role: "admin" }, null);
});
afterEach(() => fixture.close());

const rowCount = async () => (await readStored(fixture.path, "login_links")).length;

describe("a login link", () => {
  test("signs its principal in once, without delay and without an audit event; a second time it is refused", async () => {
    const { token } = await links.create(ada);
    const { principal, cookieValue } = await signIn(token);
    expect(principal).toEqual(ada);
    const headers = new Headers({ cookie: `proxy_session=${cookieValue}` });
    expect((await fixture.authenticator.authenticate(headers)).principal).toEqual(ada);
    expect(slept).toEqual([]);
    expect(await refusalOf(() => signIn(token))).toBe("invalid_login_link");
    expect(slept).toEqual([FAILURE_DELAY_MS]);
    expect((await fixture.audited()).filter((entry) => entry.includes("session"))).toEqual([]);
  });

  test("tried by many at once signs in one of them", async () => {
    const { token } = await links.create(ada);
    const attempts = Array.from({ length: 8 }, () =>
      signIn(token).then(
        () => "in",
        () => "refused",
      ),
    );
    expect((await Promise.all(attempts)).filter((outcome) => outcome === "in")).toHaveLength(1);
  });

  test("is good for ten minutes and not for a microsecond more, and an expired one leaves no row behind", async () => {
    const [first, second] = [await links.create(ada), await links.create(ada)];
    expect(first.expiresAtUs).toBe(fixture.clock.nowUs() + LOGIN_LINK_TTL_SECONDS * 1_000_000);
    fixture.clock.advance(LOGIN_LINK_TTL_SECONDS * 1000 - 0.001);
    await signIn(first.token);
    fixture.clock.advance(0.001);
    expect(await refusalOf(() => signIn(second.token))).toBe("invalid_login_link");
    expect(await rowCount()).toBe(0);
    await links.create(ada);
    fixture.clock.advance(LOGIN_LINK_TTL_SECONDS * 1000);
    await links.create(ada);
    expect(await rowCount()).toBe(1);
  });

  test("does not let in a principal that is disabled or gone, and dies with a revocation of its sessions", async () => {
    await fixture.principals.create({ name: "bob", role: "admin" }, null);
    const [disabled, revoked, gone] = [
      await links.create(ada),
      await links.create(ada),
      await links.create(ada),
    ];
    await fixture.principals.update(ada.id, { enabled: false }, null);
    expect(await refusalOf(() => signIn(disabled.token))).toBe("invalid_login_link");
    await fixture.principals.update(ada.id, { enabled: true }, null);
    expect(await fixture.principals.revokeSessions(ada.id, null)).toBe(0);
    expect(await refusalOf(() => signIn(revoked.token))).toBe("invalid_login_link");
    await fixture.principals.delete(ada.id, null);
    expect(await refusalOf(() => signIn(gone.token))).toBe("invalid_login_link");
    expect(await refusalOf(() => links.create(ada))).toBe("principal_not_found");
  });

  test("is kept as a keyed hash only", async () => {
    const { token } = await links.create(ada);
    expect(token).toMatch(/^lpl_[0-9A-Za-z]{43}$/);
    const rows = JSON.stringify(await readStored(fixture.path, "login_links"));
    expect(rows).not.toContain(token.slice(4));
    expect(rows).toContain(fixture.sessions.secrets.hashToken(token));
  });

  test("is not an API key, a relay token or a session, and none of those is a login link", async () => {
    const { token } = await links.create(ada);
    const bearer = new Headers({ authorization: `Bearer ${token}` });
    expect(await refusalOf(() => fixture.authenticator.authenticate(bearer))).toBe("invalid_api_key");
    expect(await refusalOf(() => fixture.relayAuthenticator.authenticate(token))).toBe("unknown_relay_token");
    const { plaintext } = await fixture.keys.create({ principalId: ada.id }, null);
    expect(await refusalOf(() => signIn(plaintext))).toBe("invalid_login_link");
    await signIn(token);
  });

  test("beyond 20 attempts at once waits for its turn, and signs in then", async () => {
    const { token } = await links.create(ada);
    await Promise.all(
      Array.from({ length: ATTEMPTS_BURST }, (_, index) => refusalOf(() => signIn(`lpl_guess${index}`))),
    );
    const askedAtUs = fixture.clock.nowUs();
    expect((await signIn(token)).principal).toEqual(ada);
    expect(fixture.clock.nowUs() - askedAtUs).toBe(100_000);
  });
});

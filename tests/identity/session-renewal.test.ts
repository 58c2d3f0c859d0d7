import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Principal } from "#identity/principal.ts";
import {
  createSessionRenewal,
  FORMER_COOKIE_SECONDS,
  issueSession,
  RENEW_AFTER_SECONDS,
  type SessionRenewal,
} from "#identity/sessions.ts";
import { openTestIdentity, PASSWORD, refusalOf, SESSION_TTL_SECONDS, type TestIdentity } from "./support.ts";

/** Longer than a cookie is left as it is. */
const TTL_SECONDS = 4 * SESSION_TTL_SECONDS;

let fixture: TestIdentity;
let renewal: SessionRenewal;
let ada: Principal;
let first: Headers;
let expiresAtUs: number;
beforeEach(async () => {
  fixture = await openTestIdentity();
  renewal = createSessionRenewal(fixture.sessions);
  ada = await fixture.principals.create({ name: "ada", role: "admin" }, null);
  const issued = await issueSession({ ...fixture.sessions, sessionTtlSeconds: TTL_SECONDS }, ada);
  first = toHeaders(issued);
  expiresAtUs = issued.expiresAtUs;
});
afterEach(() => fixture.close());

const toHeaders = ({ cookieValue }: { readonly cookieValue: string }) =>
  new Headers({ cookie: `proxy_session=${cookieValue}` });
const nameOf = async (headers: Headers) => (await fixture.authenticator.authenticate(headers)).principal.name;
const dead = (headers: Headers) => refusalOf(() => fixture.authenticator.authenticate(headers));

describe("a session's cookie", () => {
  test("is another one after an hour, and the former one is dead a minute later, wherever it was copied to", async () => {
    fixture.clock.advance(RENEW_AFTER_SECONDS * 1000 - 1);
    expect(await renewal.renew(first)).toBeNull();
    fixture.clock.advance(1);
    const second = toHeaders((await renewal.renew(first)) ?? expect.unreachable());
    expect(await Promise.all([nameOf(first), nameOf(second)])).toEqual(["ada", "ada"]);
    fixture.clock.advance(FORMER_COOKIE_SECONDS * 1000);
    expect(await dead(first)).toBe("missing_api_key");
    expect(await nameOf(second)).toBe("ada");
    expect(await renewal.renew(first)).toBeNull();
  });

  test("prolongs nothing: the session ends when it would have ended", async () => {
    fixture.clock.advance(RENEW_AFTER_SECONDS * 1000);
    const renewed = await renewal.renew(first);
    expect(renewed?.expiresAtUs).toBe(expiresAtUs);
    fixture.clock.advance((TTL_SECONDS - RENEW_AFTER_SECONDS) * 1000);
    expect(await dead(toHeaders(renewed ?? expect.unreachable()))).toBe("missing_api_key");
  });

  test("asked for by many tabs at once is renewed once, and the former one does not replace it", async () => {
    fixture.clock.advance(RENEW_AFTER_SECONDS * 1000);
    const renewals = await Promise.all(Array.from({ length: 8 }, () => renewal.renew(first)));
    expect(renewals.filter((renewed) => renewed !== null)).toHaveLength(1);
  });

  test("made by a password still ends with it after a renewal", async () => {
    const sessions = { ...fixture.sessions, sessionTtlSeconds: TTL_SECONDS };
    const issued = await issueSession(sessions, ada, fixture.passwordPrint.of(PASSWORD));
    fixture.clock.advance(RENEW_AFTER_SECONDS * 1000);
    const renewed = await renewal.renew(toHeaders(issued));
    const headers = toHeaders(renewed ?? expect.unreachable());
    expect(await nameOf(headers)).toBe("ada");
    fixture.setPassword("another password");
    expect(await dead(headers)).toBe("missing_api_key");
  });

  test("that is not ours, or whose session has ended, is not renewed", async () => {
    fixture.clock.advance(RENEW_AFTER_SECONDS * 1000);
    expect(await renewal.renew(new Headers({ cookie: "proxy_session=a.admin.b" }))).toBeNull();
    expect(await renewal.renew(new Headers())).toBeNull();
    await fixture.authenticator.endSession(first);
    expect(await renewal.renew(first)).toBeNull();
  });
});

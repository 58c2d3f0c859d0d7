import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { Authenticator } from "#identity/caller.ts";
import type { Principal } from "#identity/principal.ts";
import { signSession, OVERLAP_SECONDS, RENEW_AFTER_SECONDS, issueSession } from "#identity/sessions.ts";
import { openTestIdentity, PASSWORD, refusalOf, type TestIdentity } from "./support.ts";

const TTL_SECONDS = 7 * 86_400;

let fixture: TestIdentity;
let ada: Principal;
let first: Headers;
let expiresAtUs: number;
beforeEach(async () => {
  fixture = await openTestIdentity();
  ada = await fixture.principals.create({ name: "ada", role: "admin" }, null);
  const issued = await issueSession({ ...fixture.sessions, sessionTtlSeconds: TTL_SECONDS }, ada);
  first = toHeaders(issued);
  ({ expiresAtUs } = issued);
});
afterEach(() => fixture.close());

const toHeaders = ({ cookieValue }: { readonly cookieValue: string }) =>
  new Headers({ cookie: `proxy_session=${cookieValue}` });
const pass = (seconds: number) => fixture.clock.advance(seconds * 1000);

/** The result of a request with this cookie: another cookie, or null when none is due. Throws when it is not let in. */
async function use(headers: Headers, by: Authenticator = fixture.authenticator): Promise<Headers | null> {
  const caller = await by.authenticate(headers);
  expect(caller.principal.name).toBe("ada");
  const issued = await by.renew(caller);
  expect(issued?.expiresAtUs ?? expiresAtUs).toBe(expiresAtUs);
  return issued === null ? null : toHeaders(issued);
}
const renewed = async (headers: Headers) => (await use(headers)) ?? expect.unreachable();
const refused = (headers: Headers) => refusalOf(() => use(headers));
const reuses = () =>
  fixture.logged.map((line) => JSON.parse(line)).filter(({ message }) => message.includes("ended"));

describe("the cookie of a session", () => {
  test("is another one after an hour of use; a copy of the former one lives a minute from the use of the next, and its owner goes on", async () => {
    pass(RENEW_AFTER_SECONDS - 1);
    expect(await use(first)).toBeNull();
    pass(1);
    const second = await renewed(first);
    expect(await use(second)).toBeNull();
    pass(OVERLAP_SECONDS - 1);
    expect(await use(first)).toBeNull();
    expect(await use(second)).toBeNull();
    expect(reuses()).toEqual([]);
  });

  test("that is used when another replaced it a minute ago ends the session for both, with a warning that names its principal", async () => {
    pass(RENEW_AFTER_SECONDS);
    const second = await renewed(first);
    await use(second);
    pass(OVERLAP_SECONDS);
    expect(await refused(first)).toBe("missing_api_key");
    expect(await refused(second)).toBe("missing_api_key");
    expect(reuses()).toEqual([expect.objectContaining({ level: "warn", principal: "ada" })]);
  });

  test("that a thief renews first ends the thief's session when its owner comes back, days later", async () => {
    pass(RENEW_AFTER_SECONDS);
    let stolen = await renewed(first);
    for (let hour = 0; hour < 48; hour += 1) {
      await use(stolen);
      pass(RENEW_AFTER_SECONDS);
      stolen = await renewed(stolen);
    }
    expect(await refused(first)).toBe("missing_api_key");
    expect(await refused(stolen)).toBe("missing_api_key");
    expect(reuses()).toHaveLength(1);
  });

  test("of a browser that slept for days is still the newest, also when an answer with the next one was lost", async () => {
    pass(3 * 86_400);
    await renewed(first);
    pass(3 * 86_400);
    expect(await use(first)).not.toBeNull();
    pass(86_400 - 1);
    await use(first);
    pass(1);
    expect(await refused(first)).toBe("missing_api_key");
    expect(reuses()).toEqual([]);
  });

  test("is offered to one of many tabs that ask at once, and all of them go on", async () => {
    pass(RENEW_AFTER_SECONDS);
    const offers = await Promise.all(Array.from({ length: 8 }, () => use(first)));
    const [second = expect.unreachable(), ...others] = offers.filter((offer) => offer !== null);
    expect(others).toEqual([]);
    expect(await Promise.all([use(second), use(first), use(second), use(first)])).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  test("lets requests with the former one in while the disk confirms the first use of the next", async () => {
    pass(RENEW_AFTER_SECONDS);
    const second = await renewed(first);
    const confirmed = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const { store } = fixture;
    const unchanged = { ...store };
    spyOn(store, "advanceSession").mockImplementation(async (...given) => {
      await unchanged.advanceSession(...given);
      written.resolve();
      await confirmed.promise;
    });
    const inUse = use(second);
    await written.promise;
    expect(await use(first)).toBeNull();
    confirmed.resolve();
    expect(await inUse).toBeNull();
    expect(reuses()).toEqual([]);
  });

  test("is offered to each request once an offer was not used for a minute: who takes offers cannot keep them from its owner", async () => {
    pass(RENEW_AFTER_SECONDS);
    const grabbed = await renewed(first);
    expect(await use(first)).toBeNull();
    pass(60);
    await renewed(first);
    pass(1);
    const second = await renewed(first);
    await use(second);
    pass(OVERLAP_SECONDS);
    expect(await refused(grabbed)).toBe("missing_api_key");
    expect(reuses()).toHaveLength(1);
  });

  test("of a session that ended is good for nothing, whichever copy of whichever age it is", async () => {
    pass(RENEW_AFTER_SECONDS);
    const second = await renewed(first);
    await use(second);
    await fixture.authenticator.endSession(first);
    expect(await refused(first)).toBe("missing_api_key");
    expect(await refused(second)).toBe("missing_api_key");
    expect(reuses()).toEqual([]);
  });

  test("that was replaced just before a restart is good for a minute after it, and the next one for as long as ever", async () => {
    pass(RENEW_AFTER_SECONDS);
    const second = await renewed(first);
    await use(second);
    const restarted = fixture.restartAuthenticator();
    expect(await use(first, restarted)).toBeNull();
    pass(OVERLAP_SECONDS);
    expect(await use(second, restarted)).toBeNull();
    expect(await refusalOf(() => use(first, restarted))).toBe("missing_api_key");
  });

  test("is offered by one of the replicas that are asked at once, and the former one is let in by each for a minute", async () => {
    const other = fixture.restartAuthenticator();
    pass(RENEW_AFTER_SECONDS);
    const offers = await Promise.all([use(first), use(first, other), use(first), use(first, other)]);
    const [second = expect.unreachable(), ...others] = offers.filter((offer) => offer !== null);
    expect(others).toEqual([]);
    expect(await use(second)).toBeNull();
    expect([await use(first, other), await use(second, other), await use(first)]).toEqual([null, null, null]);
    expect(reuses()).toEqual([]);
    pass(RENEW_AFTER_SECONDS);
    const next = await Promise.all([use(second), use(second, other), use(second, other)]);
    const [third = expect.unreachable(), ...more] = next.filter((offer) => offer !== null);
    expect(more).toEqual([]);
    expect([await use(third, other), await use(second), await use(third)]).toEqual([null, null, null]);
    expect(reuses()).toEqual([]);
    pass(OVERLAP_SECONDS);
    expect(await refusalOf(() => use(second))).toBe("missing_api_key");
    expect(reuses()).toHaveLength(1);
  });

  test("made by a password still ends with it after it was replaced", async () => {
    const sessions = { ...fixture.sessions, sessionTtlSeconds: TTL_SECONDS };
    const issued = await issueSession(sessions, ada, fixture.passwordPrint.of(PASSWORD));
    pass(RENEW_AFTER_SECONDS);
    const second = await renewed(toHeaders(issued));
    await use(second);
    fixture.setPassword("another password");
    expect(await refused(second)).toBe("missing_api_key");
  });

  test("costs one look-up for each request, and one write for each replacement", async () => {
    const [looked, wrote] = [spyOn(fixture.store, "findSession"), spyOn(fixture.store, "advanceSession")];
    pass(RENEW_AFTER_SECONDS);
    const second = await renewed(first);
    expect(wrote).toHaveBeenCalledTimes(0);
    for (const headers of [second, second, first, second]) await use(headers);
    expect(looked).toHaveBeenCalledTimes(5);
    expect(wrote).toHaveBeenCalledTimes(1);
  });

  test("of an executable that did not say when it was issued is none", async () => {
    const { secrets } = fixture.sessions;
    const token = secrets.verify(first.get("cookie")?.split("=")[1] ?? "")?.split(".")[0] ?? "";
    expect(token).toHaveLength(43);
    const nowUs = fixture.clock.nowUs();
    const now = signSession(secrets, { token, role: "admin", passwordPrint: null, issuedAtUs: nowUs });
    await use(toHeaders({ cookieValue: now }));
    const before = secrets.sign(`${token}.admin.-`);
    expect(await refused(toHeaders({ cookieValue: before }))).toBe("missing_api_key");
    expect(await use(toHeaders({ cookieValue: now }))).toBeNull();
  });
});

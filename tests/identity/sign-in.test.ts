import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  ATTEMPTS_BURST,
  createOwnAttempts,
  FAILURE_DELAY_MS,
  WAITING_OF_PEER_MAX,
} from "#identity/attempts.ts";
import { createPasswordSignIn } from "#identity/password.ts";
import { type Peer, toPeer } from "#identity/peer.ts";
import {
  type IssuedSession,
  issueSession,
  buildClearedSessionCookie,
  buildSessionCookie,
  findSessionCookie,
} from "#identity/sessions.ts";
import {
  openTestIdentity,
  PASSWORD,
  PEER,
  refusalOf,
  SESSION_TTL_SECONDS,
  type TestIdentity,
} from "./support.ts";

let fixture: TestIdentity;
let slept: number[];
let signIn: (given: string, peer?: Peer) => Promise<IssuedSession>;
beforeEach(async () => {
  fixture = await openTestIdentity();
  slept = [];
  const passwordSignIn = createPasswordSignIn({ ...deps(), password: PASSWORD });
  signIn = (given, peer = PEER) => passwordSignIn.signIn(given, peer);
  await fixture.principals.ensureAdmin();
});
afterEach(() => fixture.close());

async function sleep(durationMs: number): Promise<void> {
  slept.push(durationMs);
}

const deps = () => ({
  sharedAttempts: createOwnAttempts(fixture.clock),
  ...fixture.sessions,
  signIns: fixture.signIns,
  passwordPrint: fixture.passwordPrint,
  sleep,
  pause: async (durationMs: number) => fixture.clock.advance(durationMs),
});

const callerOf = (cookieValue: string) =>
  fixture.authenticator.authenticate(new Headers({ cookie: `proxy_session=${cookieValue}` }));

describe("signing in with the admin password", () => {
  test("makes a session of the principal admin, without delay, without an audit event and with its full age", async () => {
    const { principal, cookieValue, expiresAtUs } = await signIn(PASSWORD);
    expect(principal.name).toBe("admin");
    expect(expiresAtUs).toBe(fixture.clock.nowUs() + SESSION_TTL_SECONDS * 1_000_000);
    expect((await callerOf(cookieValue)).principal).toEqual(principal);
    expect(slept).toEqual([]);
    expect(await fixture.audited()).toEqual([]);
  });

  test("always makes a new session, and the one before lives on", async () => {
    const [first, second] = [await signIn(PASSWORD), await signIn(PASSWORD)];
    expect(second.cookieValue).not.toBe(first.cookieValue);
    await callerOf(first.cookieValue);
    await callerOf(second.cookieValue);
  });

  test.each(["", "correct horse", `${PASSWORD} `, PASSWORD.toUpperCase()])(
    "by %p is wrong_password after 400 ms",
    async (given) => {
      expect(await refusalOf(() => signIn(given))).toBe("wrong_password");
      expect(slept).toEqual([FAILURE_DELAY_MS]);
      expect(FAILURE_DELAY_MS).toBe(400);
    },
  );

  test("is not answered before the delay has passed", async () => {
    const delay = Promise.withResolvers<void>();
    const slow = createPasswordSignIn({
      ...deps(),
      password: PASSWORD,
      sleep: () => delay.promise,
    });
    let answered = false;
    const attempt = refusalOf(() => slow.signIn("wrong", PEER)).finally(() => {
      answered = true;
    });
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    expect(answered).toBe(false);
    delay.resolve();
    expect(await attempt).toBe("wrong_password");
  });

  test("is password_login_disabled, at once, when there is no password", async () => {
    const off = createPasswordSignIn({ ...deps(), password: null });
    expect(await refusalOf(() => off.signIn(PASSWORD, PEER))).toBe("password_login_disabled");
    expect(slept).toEqual([]);
  });

  test("is wrong_password, delayed like any other, while the principal admin is disabled or gone", async () => {
    const admin = await fixture.principals.ensureAdmin();
    await fixture.principals.create({ name: "ada", role: "admin" }, null);
    await fixture.principals.update(admin.id, { enabled: false }, null);
    expect(await refusalOf(() => signIn(PASSWORD))).toBe("wrong_password");
    await fixture.principals.delete(admin.id, null);
    expect(await refusalOf(() => signIn(PASSWORD))).toBe("wrong_password");
    expect(slept).toEqual([FAILURE_DELAY_MS, FAILURE_DELAY_MS]);
  });

  test("is looked at 20 times at once and 10 times a second; who comes then waits for a turn", async () => {
    const startedUs = fixture.clock.nowUs();
    const guesses = Array.from({ length: ATTEMPTS_BURST + 5 }, (_, index) =>
      refusalOf(() => signIn(`guess ${index}`)),
    );
    const right = signIn(PASSWORD);
    expect(new Set(await Promise.all(guesses))).toEqual(new Set(["wrong_password"]));
    expect((await right).principal.name).toBe("admin");
    expect(fixture.clock.nowUs() - startedUs).toBe(600_000);
  });

  test("is wrong_password unseen, even when right, for the one that has waited longest where too many wait, and nobody is locked out", async () => {
    const guess = (count: number) =>
      Array.from({ length: count }, (_, index) => refusalOf(() => signIn(`guess ${index}`)));
    const seen = guess(ATTEMPTS_BURST);
    const right = refusalOf(() => signIn(PASSWORD));
    const waiting = guess(WAITING_OF_PEER_MAX);
    expect(await right).toBe("wrong_password");
    await Promise.all([...seen, ...waiting]);
    expect((await signIn(PASSWORD)).principal.name).toBe("admin");
    const refused = ATTEMPTS_BURST + 1 + WAITING_OF_PEER_MAX;
    expect(slept).toEqual(Array.from({ length: refused }, () => FAILURE_DELAY_MS));
  });

  test("ends with the password: its session is dead at once, for good, and sessions made otherwise live on", async () => {
    const { principal, cookieValue } = await signIn(PASSWORD);
    const other = await issueSession(fixture.sessions, principal);
    await callerOf(cookieValue);
    fixture.setPassword("another password");
    expect(await refusalOf(() => callerOf(cookieValue))).toBe("missing_api_key");
    expect((await callerOf(other.cookieValue)).principal).toEqual(principal);
    fixture.setPassword(PASSWORD);
    expect(await refusalOf(() => callerOf(cookieValue))).toBe("missing_api_key");
  });

  test("with a password that was changed a moment ago makes a session that lives at once", async () => {
    const passwordSignIn = createPasswordSignIn({ ...deps(), password: () => "another password" });
    await callerOf((await signIn(PASSWORD)).cookieValue);
    fixture.setPassword("another password");
    await callerOf((await passwordSignIn.signIn("another password", PEER)).cookieValue);
  });

  test("is logged: who, from where and how, whether it was let in or not, and never what was typed", async () => {
    await signIn(PASSWORD, toPeer("203.0.113.9"));
    await refusalOf(() => signIn("my other password", toPeer("2001:db8:1:2:3::9")));
    expect(fixture.logged.map((line) => JSON.parse(line))).toEqual([
      {
        ts: "",
        level: "info",
        message: "signed in",
        way: "password",
        principal: "admin",
        role: "admin",
        address: "203.0.113.9",
      },
      {
        ts: "",
        level: "info",
        message: "a sign-in failed",
        way: "password",
        code: "wrong_password",
        address: "2001:db8:1:2:3::9",
        looked_at: true,
      },
    ]);
    expect(fixture.logged.join()).not.toMatch(/my other|horse/);
  });
});

describe("the session cookie", () => {
  test("is closed to scripts and to other sites, for the whole server, and Secure under https only", () => {
    const cookie = { value: "t.admin.s", maxAgeSeconds: 604_800 };
    const plain = "proxy_session=t.admin.s; Path=/; HttpOnly; SameSite=Lax; Max-Age=604800";
    expect(buildSessionCookie({ ...cookie, secure: false })).toBe(plain);
    expect(buildSessionCookie({ ...cookie, secure: true })).toBe(`${plain}; Secure`);
    expect(buildClearedSessionCookie({ secure: false })).toBe(
      "proxy_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0",
    );
  });

  test("lives for 7 days to the second, not for one less because signing in took a moment", () => {
    for (const maxAgeSeconds of [604_800, 604_799.999_999, 604_799.000_001]) {
      expect(buildSessionCookie({ value: "v", maxAgeSeconds, secure: false })).toEndWith("; Max-Age=604800");
    }
  });

  test("has a value that needs no quoting and tells the role and its moment, and neither the row's hash nor the principal", async () => {
    const { principal, cookieValue } = await signIn(PASSWORD);
    expect(cookieValue).toMatch(/^[A-Za-z0-9_-]{43}\.admin\.[A-Za-z0-9_-]{22}\.\d{16}\.[A-Za-z0-9_-]{43}$/);
    expect(cookieValue).not.toContain(principal.id);
    const caller = await callerOf(cookieValue);
    if (caller.credential.kind !== "session") throw new Error("not a session");
    expect(cookieValue).not.toContain(caller.credential.session.tokenHash);
  });

  test.each([
    ["proxy_session=v", "v"],
    ["a=b;proxy_session=v", "v"],
    ["a=b;  proxy_session = v ; c", "v"],
    ["a=proxy_session=v", null],
    ["proxy_session", null],
    ["proxy_session=", null],
    ["proxy_session=v; proxy_session=v", null],
    ["proxy_session=v, proxy_session=w", null],
    ["proxy_sessions=v", null],
    [";;;", null],
  ])("in %p is read as %p", (header, value) => {
    expect(findSessionCookie(new Headers({ cookie: header }))).toBe(value);
  });
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toGroups, toNumberedName, toPrincipalName } from "#identity/sso.ts";
import {
  buildStateCookie,
  createUsedStates,
  takeAttempt,
  type SignInAttempt,
  isRetryState,
  readStateCookie,
  STATE_SECONDS,
  toSignInAttempt,
} from "#identity/sso-state.ts";
import { signSession } from "#identity/sessions.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import { isName } from "#kernel/text.ts";
import { createTestClock, type TestClock } from "./support.ts";

const secrets = createSecretBox(new Uint8Array(32).fill(1));
const otherSecrets = createSecretBox(new Uint8Array(32).fill(2));
const SECRET = "a".repeat(43);

function begin(clock = createTestClock(), isRetry = false) {
  const expiresAtUs = clock.nowUs() + STATE_SECONDS * 1_000_000;
  return toSignInAttempt(secrets, { secret: SECRET, isRetry, expiresAtUs });
}

function taker(clock: TestClock) {
  const used = createUsedStates(clock);
  return (attempt: SignInAttempt, state: string) =>
    takeAttempt(used, { attempt, state, nowUs: clock.nowUs() });
}

describe("a sign-in attempt", () => {
  test("is found again in its cookie, and none of what goes to the provider tells the cookie or the rest", () => {
    const attempt = begin();
    expect(readStateCookie(secrets, attempt.cookieValue)).toEqual(attempt);
    const { state, nonce, codeVerifier, cookieValue } = attempt;
    expect(codeVerifier).toMatch(/^[A-Za-z0-9._~-]{43,128}$/);
    expect(new Set([state, nonce, codeVerifier, cookieValue]).size).toBe(4);
    for (const sent of [state, nonce, codeVerifier]) {
      expect(sent).not.toContain(SECRET);
      expect(cookieValue).not.toContain(sent);
    }
  });

  test("is read from no cookie that was changed, made by another installation, or meant for something else", () => {
    const { cookieValue, state } = begin();
    const session = signSession(secrets, {
      token: SECRET,
      role: "admin",
      passwordPrint: null,
      issuedAtUs: 1,
    });
    const foreign = otherSecrets.sign(secrets.verify(cookieValue) ?? "");
    const changed = cookieValue.replace(".first.", ".retry.");
    for (const value of ["", "x", state, session, foreign, changed, `${cookieValue}x`]) {
      expect(readStateCookie(secrets, value)).toBeNull();
    }
  });

  test("is good once, with its own state, and for ten minutes", async () => {
    const clock = createTestClock();
    const take = taker(clock);
    const attempt = begin(clock);
    expect(await take(attempt, "forged")).toBe(false);
    expect(await take(attempt, "")).toBe(false);
    expect(await take(attempt, attempt.state)).toBe(true);
    expect(await take(attempt, attempt.state)).toBe(false);

    const late = toSignInAttempt(secrets, { ...attempt, secret: "b".repeat(43) });
    clock.advance(STATE_SECONDS * 1000 - 1);
    expect(await take(late, late.state)).toBe(true);
    const tooLate = toSignInAttempt(secrets, { ...attempt, secret: "c".repeat(43) });
    clock.advance(1);
    expect(await take(tooLate, tooLate.state)).toBe(false);
    expect(await take(attempt, attempt.state)).toBe(false);
  });

  test("of which very many are used is still good once, as long as it is among the newest ten thousand", async () => {
    const clock = createTestClock();
    const take = taker(clock);
    const { expiresAtUs } = begin(clock);
    const attempts = Array.from({ length: 10_050 }, (_, index) =>
      toSignInAttempt(secrets, { secret: `s${index}`, isRetry: false, expiresAtUs }),
    );
    for (const attempt of attempts) expect(await take(attempt, attempt.state)).toBe(true);
    for (const attempt of attempts.slice(-9_000)) expect(await take(attempt, attempt.state)).toBe(false);
  });

  test("says in its signed state whether it was the retry, and a forged state says nothing", () => {
    expect(isRetryState(secrets, begin(undefined, true).state)).toBe(true);
    expect(isRetryState(secrets, begin().state)).toBe(false);
    expect(isRetryState(secrets, begin().state.replace(".first.", ".retry."))).toBe(false);
    expect(isRetryState(otherSecrets, begin(undefined, true).state)).toBe(false);
    expect(isRetryState(secrets, begin(undefined, true).cookieValue)).toBe(false);
  });

  test("has a cookie that no page can read and no other path sees", () => {
    expect(buildStateCookie("v", { secure: true })).toBe(
      "proxy_sso_state=v; Path=/auth; HttpOnly; SameSite=Lax; Max-Age=600; Secure",
    );
    expect(buildStateCookie("", { secure: false })).toBe(
      "proxy_sso_state=; Path=/auth; HttpOnly; SameSite=Lax; Max-Age=0",
    );
  });
});

describe("the groups of a claim", () => {
  test.each<[unknown, string[]]>([
    [
      ["a", "b c", "d,e", "", " f"],
      ["a", "b c", "d,e", "", " f"],
    ],
    ["a b,c , d\te\nf", ["a", "b", "c", "d", "e", "f"]],
    [" ,, ", []],
    ["", []],
    [["a", 1, null, ["b"], { c: 1 }, true], ["a"]],
    [{ a: true, length: 1, 0: "a" }, []],
    [undefined, []],
    [null, []],
    [7, []],
    [true, []],
  ])("%j are %j", (claim, groups) => {
    expect([...toGroups(claim)]).toEqual(groups);
  });
});

describe("the name of a principal", () => {
  const toName = (claims: Record<string, unknown>, subject = "sub-1") =>
    toPrincipalName({ subject, claim: (name) => claims[name] });

  test.each<[Record<string, unknown>, string]>([
    [{ preferred_username: "jane", email: "x@example.org" }, "jane"],
    [{ preferred_username: "Jane Doe" }, "jane-doe"],
    [{ preferred_username: "JOSÉ.Müller_2" }, "jose.muller_2"],
    [{ preferred_username: "CORP\\jane" }, "corp-jane"],
    [{ preferred_username: "jane@example.org" }, "jane-example.org"],
    [{ preferred_username: "--._jane--" }, "jane"],
    [{ preferred_username: "a".repeat(300) }, "a".repeat(120)],
    [{ preferred_username: "", email: "Jane.Doe@example.org" }, "jane.doe"],
    [{ preferred_username: "山田", email: "yamada@example.org" }, "yamada"],
    [{ preferred_username: 5, email: { toString: "x" } }, "sub-1"],
    [{ email: "@example.org" }, "sub-1"],
    [{ preferred_username: "<script>alert(1)</script>" }, "script-alert-1-script"],
    [{ preferred_username: "a\u0000b\r\nc" }, "a-b-c"],
    [{}, "sub-1"],
  ])("of %j is %s", (claims, name) => {
    expect(toName(claims)).toBe(name);
  });

  test("is `user` when nothing else has a character that may stand in a name", () => {
    expect(toName({ preferred_username: "…", email: "山@x" }, "山")).toBe("user");
  });

  test("fits the rule of section 2.8 whatever the claims are, also with a number", () => {
    fc.assert(
      fc.property(
        fc.anything(),
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.string(),
        fc.integer({ min: 1, max: 1000 }),
        (username, email, subject, number) => {
          const name = toName({ preferred_username: username, email }, subject);
          return isName(name) && isName(toNumberedName(name, number));
        },
      ),
    );
  }, 60_000);

  test("gets a number from the second one on, and stays within its length", () => {
    expect([1, 2, 3].map((number) => toNumberedName("jane", number))).toEqual(["jane", "jane-2", "jane-3"]);
    expect(toNumberedName("a".repeat(120), 10)).toBe(`${"a".repeat(117)}-10`);
  });
});

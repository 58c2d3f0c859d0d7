import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createApp } from "#http/app.ts";
import { signSession } from "#identity/sessions.ts";
import {
  call,
  createCaller,
  expectError,
  openSession,
  PASSWORD,
  signIn,
  startHarness,
  type Harness,
} from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const JSON_TYPE = { "content-type": "application/json" };

describe("POST /auth/password", () => {
  test("signs in as admin: name, role and a cookie that pages cannot read", async () => {
    const response = await call(harness, "POST", "/auth/password", {
      body: { password: PASSWORD, extra: 1 },
      headers: JSON_TYPE,
    });
    expect([response.status, await response.json()]).toEqual([200, { name: "admin", role: "admin" }]);
    const [cookie = "", device, ...others] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^proxy_session=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=3600$/);
    expect(device).toMatch(
      /^proxy_device=[\w.-]+; Path=\/auth; HttpOnly; SameSite=Strict; Max-Age=31536000$/,
    );
    expect(others).toEqual([]);
    const me = await call(harness, "GET", "/auth/me", { headers: { cookie: cookie.split(";", 1)[0] ?? "" } });
    expect(await me.json()).toEqual({
      authenticated: true,
      name: "admin",
      role: "admin",
      sso_enabled: false,
      password_enabled: true,
    });
  });

  test("ends the session that the browser had before, and a wrong password ends none", async () => {
    const cookie = await signIn(harness);
    const send = (password: string) =>
      call(harness, "POST", "/auth/password", { body: { password }, headers: { ...JSON_TYPE, cookie } });
    expect((await send("wrong")).status).toBe(401);
    expect((await call(harness, "GET", "/my/keys", { headers: { cookie } })).status).toBe(200);
    const response = await send(PASSWORD);
    const fresh = response.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    await expectError(await call(harness, "GET", "/my/keys", { headers: { cookie } }), "401 missing_api_key");
    expect((await call(harness, "GET", "/my/keys", { headers: { cookie: fresh } })).status).toBe(200);
  });

  test("sets a Secure cookie when the public URL is https", async () => {
    const config = { ...harness.deps.config, publicUrl: "https://models.example.org" };
    const app = createApp({ ...harness.deps, config });
    const request = new Request("http://models.example.org/auth/password", {
      method: "POST",
      body: JSON.stringify({ password: PASSWORD }),
      headers: { ...JSON_TYPE, host: "models.example.org", origin: "https://models.example.org" },
    });
    const response = await app.fetch(request, null);
    const cookies = response.headers.getSetCookie();
    expect(cookies.map((cookie) => cookie.endsWith("; Secure"))).toEqual([true, true]);
  });

  test("clears a Secure cookie with a Secure one: a browser takes no other for it", async () => {
    const config = { ...harness.deps.config, publicUrl: "https://models.example.org" };
    const app = createApp({ ...harness.deps, config });
    const headers = { host: "models.example.org" };
    const response = await app.fetch(
      new Request("http://models.example.org/auth/logout", { headers, redirect: "manual" }),
      null,
    );
    expect(response.headers.get("set-cookie")).toBe(
      "proxy_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure",
    );
  });

  test("answers a wrong password with 401 wrong_password and sets nothing", async () => {
    const response = await call(harness, "POST", "/auth/password", {
      body: { password: "guess" },
      headers: JSON_TYPE,
    });
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(await expectError(response, "401 wrong_password", null)).not.toContain("guess");
  });

  test.each([[{}], [{ password: 5 }], [{ password: null }], [{ Password: "x" }], [[]], ["text"], [null]])(
    "without a text password is 400 invalid_request: %j",
    async (body) => {
      const response = await call(harness, "POST", "/auth/password", {
        body: JSON.stringify(body),
        headers: JSON_TYPE,
      });
      await expectError(response, "400 invalid_request");
    },
  );

  test.each(["", "{", "password=x", "\u0000"])("that is not JSON is 400 invalid_json: %j", async (body) => {
    const response = await call(harness, "POST", "/auth/password", { body, headers: JSON_TYPE });
    await expectError(response, "400 invalid_json", null);
  });

  test("from another origin is 403 cross_origin_rejected, and the password is not looked at", async () => {
    for (const headers of [
      { origin: "http://evil.example" },
      { origin: "null" },
      { origin: harness.url.replace("127.0.0.1", "localhost") },
      { origin: `http://127.0.0.1:${harness.port ^ 1}` },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: harness.url },
    ]) {
      const response = await call(harness, "POST", "/auth/password", {
        body: { password: PASSWORD },
        headers: { ...JSON_TYPE, ...headers },
      });
      expect(response.headers.get("set-cookie")).toBeNull();
      await expectError(response, "403 cross_origin_rejected");
    }
    const own = { ...JSON_TYPE, origin: harness.url, "sec-fetch-site": "same-origin" };
    expect(
      (await call(harness, "POST", "/auth/password", { body: { password: PASSWORD }, headers: own })).status,
    ).toBe(200);
  });

  test("behind a proxy the public URL is the own origin, whatever X-Forwarded-* says", async () => {
    const config = { ...harness.deps.config, publicUrl: "https://models.example.org" };
    const app = createApp({ ...harness.deps, config });
    const send = (origin: string) =>
      app.fetch(
        new Request("http://127.0.0.1/auth/password", {
          method: "POST",
          body: JSON.stringify({ password: PASSWORD }),
          headers: {
            ...JSON_TYPE,
            host: "127.0.0.1",
            origin,
            "x-forwarded-host": "evil.example",
            "x-forwarded-proto": "https",
          },
        }),
        null,
      );
    expect((await send("https://models.example.org")).status).toBe(200);
    await expectError(await send("https://evil.example"), "403 cross_origin_rejected");
    await expectError(await send("http://models.example.org"), "403 cross_origin_rejected");
  });

  test("as a form is 400 invalid_json, since a page elsewhere can send one", async () => {
    for (const type of [
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "text/plain",
    ]) {
      const body = type.startsWith("text") ? { password: PASSWORD } : `password=${PASSWORD}`;
      const response = await call(harness, "POST", "/auth/password", {
        body,
        headers: { "content-type": type },
      });
      expect(response.headers.get("set-cookie")).toBeNull();
      await expectError(response, "400 invalid_json");
    }
  });
});

describe("sign-in that is switched off", () => {
  test("POST /auth/password is 404 password_login_disabled, and /auth/me says so", async () => {
    const disabled = await startHarness({ config: { adminPasswordEnabled: false }, password: null });
    try {
      const response = await call(disabled, "POST", "/auth/password", {
        body: { password: PASSWORD },
        headers: JSON_TYPE,
      });
      await expectError(response, "404 password_login_disabled", null);
      // There is nothing to sign in to: neither the body nor its origin is judged.
      for (const [body, headers] of [
        [{}, JSON_TYPE],
        ["", JSON_TYPE],
        ["{", JSON_TYPE],
        ["a=b", { "content-type": "text/plain" }],
        [{ password: PASSWORD }, { ...JSON_TYPE, origin: "https://evil.example" }],
      ] as const) {
        const refused = await call(disabled, "POST", "/auth/password", { body, headers });
        expect(refused.headers.get("set-cookie")).toBeNull();
        await expectError(refused, "404 password_login_disabled", null);
      }
      const me = await call(disabled, "GET", "/auth/me", { headers: {} });
      expect(await me.json()).toEqual({ authenticated: false, sso_enabled: false, password_enabled: false });
    } finally {
      await disabled.stop();
    }
  });

  test("GET /auth/login and /auth/callback are 404 sso_not_configured, whatever comes with them", async () => {
    for (const path of [
      "/auth/login",
      "/auth/login?retry=1",
      "/auth/callback",
      "/auth/callback?code=a&state=b&error=c",
    ]) {
      const response = await call(harness, "GET", path, { headers: {} });
      expect(response.headers.get("location")).toBeNull();
      await expectError(response, "404 sso_not_configured", null);
    }
  });
});

describe("GET /auth/me", () => {
  test("is always 200, and says who calls by key, by session, or nobody", async () => {
    const { principal, key } = await createCaller(harness, "someone");
    const me = async (headers: Record<string, string>) => {
      const response = await call(harness, "GET", "/auth/me", { headers });
      expect(response.status).toBe(200);
      return await response.json();
    };
    const someone = {
      authenticated: true,
      name: "someone",
      role: "member",
      sso_enabled: false,
      password_enabled: true,
    };
    expect(await me({ authorization: `Bearer ${key}` })).toEqual(someone);
    expect(await me({ "x-api-key": key })).toEqual(someone);
    expect(await me({ cookie: await openSession(harness, principal) })).toEqual(someone);
    const nobody = { authenticated: false, sso_enabled: false, password_enabled: true };
    expect(await me({})).toEqual(nobody);
    expect(await me({ authorization: "Bearer lp_bad" })).toEqual(nobody);
    expect(await me({ cookie: "proxy_session=a.b" })).toEqual(nobody);
  });
});

describe("a session's cookie that is older than an hour", () => {
  test.each([
    ["/auth/me", 200],
    ["/stats/summary", 200],
    ["/admin/v1/providers/absent", 404],
  ])("is replaced by the answer of GET %s, with the age that is left", async (path, status) => {
    const { value, cookie } = await openOldSession();
    const first = await call(harness, "GET", path, { headers: { cookie } });
    expect(first.status).toBe(status);
    const renewed = first.headers.get("set-cookie") ?? "";
    expect(renewed).toMatch(
      /^proxy_session=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=(?:600|5\d\d)$/,
    );
    expect(renewed).not.toContain(value);
    const next = renewed.split(";", 1)[0] ?? "";
    for (const used of [next, cookie, next]) {
      const response = await call(harness, "GET", path, { headers: { cookie: used } });
      expect([response.status, response.headers.get("set-cookie")]).toEqual([status, null]);
    }
    expect((await call(harness, "GET", "/auth/logout", { headers: { cookie } })).status).toBe(303);
    for (const used of [next, cookie])
      expect((await call(harness, "GET", "/my/keys", { headers: { cookie: used } })).status).toBe(401);
  });

  test("is replaced by no request that a key decides, and not on /v1", async () => {
    const { cookie } = await openOldSession();
    const byKey = { cookie, authorization: `Bearer ${harness.adminKey}` };
    const requests = [
      call(harness, "GET", "/auth/me", { headers: byKey }),
      call(harness, "POST", "/v1/chat/completions", {
        headers: { cookie, "content-type": "application/json" },
        body: { model: "any", messages: [] },
      }),
    ];
    for (const response of await Promise.all(requests)) {
      expect(response.status).toBe(200);
      expect(response.headers.get("set-cookie")).toBeNull();
    }
  });

  async function openOldSession() {
    const { identity, clock } = harness.deps;
    const token = "t".repeat(43);
    const issuedAtUs = clock.nowUs() - 3_601_000_000;
    await identity.createSession(
      {
        tokenHash: harness.secrets.hashToken(token),
        principalId: harness.adminId,
        cookieIssuedAtUs: issuedAtUs,
        expiresAtUs: clock.nowUs() + 600_000_000,
      },
      issuedAtUs,
    );
    const value = signSession(harness.secrets, { token, role: "admin", passwordPrint: null, issuedAtUs });
    return { value, cookie: `proxy_session=${value}` };
  }
});

describe("GET /auth/logout", () => {
  test("ends the session on the server, so that a copied cookie dies with it, and clears the cookie", async () => {
    const cookie = await signIn(harness);
    const other = await signIn(harness);
    expect((await call(harness, "GET", "/my/keys", { headers: { cookie } })).status).toBe(200);
    const response = await call(harness, "GET", "/auth/logout", { headers: { cookie } });
    expect([response.status, response.headers.get("location")]).toEqual([303, "/"]);
    expect(response.headers.get("set-cookie")).toMatch(/^proxy_session=; .*Max-Age=0/);
    await expectError(await call(harness, "GET", "/my/keys", { headers: { cookie } }), "401 missing_api_key");
    expect((await call(harness, "GET", "/my/keys", { headers: { cookie: other } })).status).toBe(200);
  });

  test("ends the session also when a key comes with it, and needs none", async () => {
    const cookie = await signIn(harness);
    const headers = { cookie, authorization: `Bearer ${harness.adminKey}` };
    expect((await call(harness, "GET", "/auth/logout", { headers })).status).toBe(303);
    await expectError(await call(harness, "GET", "/my/keys", { headers: { cookie } }), "401 missing_api_key");
    expect((await call(harness, "GET", "/auth/logout", { headers: {} })).status).toBe(303);
    expect((await call(harness, "GET", "/my/keys")).status).toBe(200);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createLoginLinks } from "#identity/login-links.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const JSON_TYPE = { "content-type": "application/json" };

async function makeToken(name = "admin"): Promise<string> {
  const { identity: store, clock, principals } = harness.deps;
  const links = createLoginLinks({ store, clock, secrets: harness.secrets, ids: createSystemIds() });
  return (await links.create(await principals.getByName(name))).token;
}

const redeem = (token: unknown, headers: Record<string, string> = {}) =>
  call(harness, "POST", "/auth/login-link", { body: { token }, headers: { ...JSON_TYPE, ...headers } });

describe("POST /auth/login-link", () => {
  test("signs in whom the link is for: name, role and a cookie that pages cannot read", async () => {
    await createCaller(harness, "mira");
    const response = await redeem(await makeToken("mira"));
    expect([response.status, await response.json()]).toEqual([200, { name: "mira", role: "member" }]);
    const [cookie = "", device] = response.headers.getSetCookie();
    expect(device).toStartWith("proxy_device=");
    expect(cookie).toMatch(/^proxy_session=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=3600$/);
    const headers = { cookie: cookie.split(";", 1)[0] ?? "" };
    expect((await call(harness, "GET", "/my/keys", { headers })).status).toBe(200);
  });

  test("ends the session that the browser had before, and a refused link ends none", async () => {
    const cookie = await openSession(harness, await harness.deps.principals.getByName("admin"));
    const own = () => call(harness, "GET", "/my/keys", { headers: { cookie } });
    await expectError(await redeem("lpl_nothing", { cookie }), "401 invalid_login_link");
    expect((await own()).status).toBe(200);
    expect((await redeem(await makeToken(), { cookie })).status).toBe(200);
    await expectError(await own(), "401 missing_api_key");
  });

  test("is refused from another origin and as a form, and the link is not used up by that", async () => {
    const token = await makeToken();
    for (const headers of [
      { origin: "http://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ]) {
      await expectError(await redeem(token, headers), "403 cross_origin_rejected");
    }
    await expectError(await redeem(token, { "content-type": "text/plain" }), "400 invalid_json");
    expect((await redeem(token, { origin: harness.url })).status).toBe(200);
  });

  test.each([[undefined], [5], [null]])("without a text token is 400 invalid_request: %j", async (token) => {
    await expectError(await redeem(token), "400 invalid_request");
  });

  test("a refusal and the log tell nothing of the token, and a GET is no endpoint", async () => {
    const token = await makeToken();
    await redeem(token);
    const text = await expectError(await redeem(token), "401 invalid_login_link");
    expect(text).not.toContain(token);
    expect(harness.logLines.join("")).not.toContain(token);
    await expectError(
      await call(harness, "GET", `/auth/login-link?token=${await makeToken()}`),
      "404 unknown_endpoint",
    );
  });

  test("works where sign-in by password is switched off: whoever can make a link owns the database", async () => {
    const off = await startHarness({ password: null, config: { adminPasswordEnabled: false } });
    const { identity: store, clock, principals } = off.deps;
    const links = createLoginLinks({ store, clock, secrets: off.secrets, ids: createSystemIds() });
    const { token } = await links.create(await principals.getByName("admin"));
    const response = await call(off, "POST", "/auth/login-link", { body: { token }, headers: JSON_TYPE });
    expect(response.status).toBe(200);
    await off.stop();
  });
});

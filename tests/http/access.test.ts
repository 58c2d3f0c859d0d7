import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Access } from "#http/door/route.ts";
import { connect } from "./open-connection.ts";
import { call, createCaller, expectError, startHarness, type Harness } from "./support.ts";

const UNKNOWN_KEY = `lp_${"a".repeat(43)}`;

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

const routesOf = (...accesses: readonly Access[]) =>
  harness.routes.filter(({ access }) => accesses.includes(access));

/** Who may call what is the matter of auth-matrix.test.ts. */
describe("the door", () => {
  test("the public routes are the ones that the specification names and the login link, and no others", () => {
    expect(
      routesOf("public")
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    ).toEqual([
      "GET /*",
      "GET /auth/callback",
      "GET /auth/login",
      "GET /auth/logout",
      "GET /auth/me",
      "GET /healthz",
      "GET /metrics",
      "GET /models",
      "GET /openapi.json",
      "GET /v1/models",
      // Beyond the specification: see docs/decisions.md.
      "POST /auth/login-link",
      "POST /auth/password",
    ]);
  });

  test("a HEAD is asked for its credential as a GET is", async () => {
    expect((await call(harness, "HEAD", "/admin/v1/providers", { headers: {} })).status).toBe(401);
    expect((await call(harness, "HEAD", "/admin/v1/providers")).status).toBe(200);
  });

  test("a key fails on the very next request of a connection that stays open: deleted, disabled or demoted", async () => {
    const { principal, key, keyId } = await createCaller(harness, "short-lived", "admin");
    const headers = { authorization: `Bearer ${key}` };
    const change = (body: unknown) =>
      call(harness, "PATCH", `/admin/v1/principals/${principal.id}`, { body });
    using connection = await connect(harness.port);
    const ask = () => connection.send("GET", "/admin/v1/keys", headers);
    expect((await ask()).status).toBe(200);
    await change({ role: "member" });
    await expectError(await ask(), "403 admin_required");
    await change({ role: "admin", enabled: false });
    await expectError(await ask(), "401 invalid_api_key");
    await change({ enabled: true });
    expect((await ask()).status).toBe(200);
    await call(harness, "DELETE", `/admin/v1/keys/${keyId}`);
    await expectError(await ask(), "401 invalid_api_key");
    const chat = await connection.send("POST", "/v1/chat/completions", headers);
    await expectError(chat, "401 invalid_api_key");
  });

  test("a refusal names no credential and a 401 says how to authenticate", async () => {
    const response = await call(harness, "GET", "/my/keys", {
      headers: { authorization: `Bearer ${UNKNOWN_KEY}` },
    });
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.text()).not.toContain(UNKNOWN_KEY);
  });
});

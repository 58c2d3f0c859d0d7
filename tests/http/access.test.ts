import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Access } from "#http/door/route.ts";
import { call, startHarness, type Harness } from "./support.ts";

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

  test("a refusal names no credential and a 401 says how to authenticate", async () => {
    const response = await call(harness, "GET", "/my/keys", {
      headers: { authorization: `Bearer ${UNKNOWN_KEY}` },
    });
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.text()).not.toContain(UNKNOWN_KEY);
  });
});

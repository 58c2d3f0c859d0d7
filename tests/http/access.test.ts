import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { createDoor, createGuard, toRouteTable, type Access, type RouteEntry } from "#http/guard.ts";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

const FOREIGN = "http://evil.example";
const UNKNOWN_KEY = `lp_${"a".repeat(43)}`;

type Outcome = "passes" | "missing_api_key" | "invalid_api_key" | "admin_required" | "cross_origin_rejected";

const STATUS = {
  missing_api_key: 401,
  invalid_api_key: 401,
  admin_required: 403,
  cross_origin_rejected: 403,
} as const;

interface Credential {
  readonly name: string;
  readonly headers: Record<string, string>;
  readonly expected: (route: RouteEntry) => Outcome;
}

const always = (outcome: Outcome) => () => outcome;
const asMember = ({ access }: RouteEntry): Outcome => (access === "admin" ? "admin_required" : "passes");
const fromElsewhere = ({ method }: RouteEntry): Outcome =>
  method === "GET" ? "passes" : "cross_origin_rejected";

let harness: Harness;
let credentials: readonly Credential[];

beforeAll(async () => {
  harness = await startHarness();
  const { keys, principals } = harness.deps;
  const member = await createCaller(harness, "member");
  const admin = await createCaller(harness, "second-admin", "admin");
  const deleted = await createCaller(harness, "deleted-key", "admin");
  await keys.delete({ id: deleted.keyId }, null);
  const gone = await createCaller(harness, "gone", "admin");
  const goneSession = await openSession(harness, gone.principal);
  await principals.delete(gone.principal.id, null);
  const disabled = await createCaller(harness, "disabled", "admin");
  const disabledSession = await openSession(harness, disabled.principal);
  await principals.update(disabled.principal.id, { enabled: false }, null);
  const service = await principals.create({ name: "service", kind: "service" }, null);
  const serviceKey = (await keys.create({ principalId: service.id }, null)).plaintext;
  const demoted = await createCaller(harness, "demoted", "admin");
  const demotedSession = await openSession(harness, demoted.principal);
  await principals.update(demoted.principal.id, { role: "member" }, null);
  const revoked = await createCaller(harness, "revoked", "admin");
  const revokedSession = await openSession(harness, revoked.principal);
  await principals.revokeSessions(revoked.principal.id, null);
  const adminSession = await openSession(harness, admin.principal);
  const memberSession = await openSession(harness, member.principal);
  const expiredSession = await openSession(harness, admin.principal, 0);
  const ownOrigin = harness.url;

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  credentials = [
    { name: "nothing", headers: {}, expected: always("missing_api_key") },
    { name: "another scheme", headers: { authorization: "Basic YTpi" }, expected: always("missing_api_key") },
    {
      name: "Bearer with nothing after it",
      headers: { authorization: "Bearer" },
      expected: always("missing_api_key"),
    },
    {
      name: "a key without a scheme",
      headers: { authorization: admin.key },
      expected: always("missing_api_key"),
    },
    { name: "an unknown key", headers: bearer(UNKNOWN_KEY), expected: always("invalid_api_key") },
    { name: "a malformed key", headers: bearer("sk-123"), expected: always("invalid_api_key") },
    { name: "a relay token", headers: bearer(`lpt_${"a".repeat(43)}`), expected: always("invalid_api_key") },
    {
      name: "a relay token in x-api-key",
      headers: { "x-api-key": `lpt_${"a".repeat(43)}` },
      expected: always("invalid_api_key"),
    },
    { name: "a deleted key", headers: bearer(deleted.key), expected: always("invalid_api_key") },
    {
      name: "the key of a deleted principal",
      headers: bearer(gone.key),
      expected: always("invalid_api_key"),
    },
    {
      name: "the key of a disabled principal",
      headers: bearer(disabled.key),
      expected: always("invalid_api_key"),
    },
    { name: "a member's key", headers: bearer(member.key), expected: asMember },
    { name: "a service's key", headers: bearer(serviceKey), expected: asMember },
    { name: "an admin's key", headers: bearer(admin.key), expected: always("passes") },
    {
      name: "an admin's key under a lower-case scheme",
      headers: { authorization: `bearer ${admin.key}` },
      expected: always("passes"),
    },
    { name: "a member's key in x-api-key", headers: { "x-api-key": member.key }, expected: asMember },
    { name: "an admin's key in x-api-key", headers: { "x-api-key": admin.key }, expected: always("passes") },
    {
      name: "a bad bearer beside a good x-api-key",
      headers: { ...bearer(UNKNOWN_KEY), "x-api-key": admin.key },
      expected: always("invalid_api_key"),
    },
    {
      name: "an empty bearer beside a good x-api-key",
      headers: { authorization: "Bearer ", "x-api-key": admin.key },
      expected: always("passes"),
    },
    {
      name: "two Authorization headers",
      headers: { authorization: `Bearer ${admin.key}, Bearer ${admin.key}` },
      expected: always("invalid_api_key"),
    },
    {
      name: "a bad key beside a good session",
      headers: { ...bearer(UNKNOWN_KEY), cookie: adminSession },
      expected: always("invalid_api_key"),
    },
    { name: "an admin's session", headers: { cookie: adminSession }, expected: always("passes") },
    {
      name: "an admin's session from its own origin",
      headers: { cookie: adminSession, origin: ownOrigin },
      expected: always("passes"),
    },
    { name: "a member's session", headers: { cookie: memberSession }, expected: asMember },
    {
      name: "the session of an admin who is a member now",
      headers: { cookie: demotedSession },
      expected: asMember,
    },
    {
      name: "a session from a foreign origin",
      headers: { cookie: adminSession, origin: FOREIGN },
      expected: fromElsewhere,
    },
    {
      name: "a session from a null origin",
      headers: { cookie: adminSession, origin: "null" },
      expected: fromElsewhere,
    },
    {
      name: "a session from another site, as the browser tells",
      headers: { cookie: adminSession, "sec-fetch-site": "cross-site" },
      expected: fromElsewhere,
    },
    {
      name: "a key from a foreign origin",
      headers: { ...bearer(admin.key), cookie: adminSession, origin: FOREIGN },
      expected: always("passes"),
    },
    { name: "an expired session", headers: { cookie: expiredSession }, expected: always("missing_api_key") },
    { name: "a revoked session", headers: { cookie: revokedSession }, expected: always("missing_api_key") },
    {
      name: "a tampered session",
      headers: { cookie: `${adminSession}x` },
      expected: always("missing_api_key"),
    },
    {
      name: "a session whose role was rewritten",
      headers: { cookie: memberSession.replace(".member.", ".admin.") },
      expected: always("missing_api_key"),
    },
    {
      name: "two sessions",
      headers: { cookie: `${adminSession}; ${adminSession}` },
      expected: always("missing_api_key"),
    },
    {
      name: "the session of a deleted principal",
      headers: { cookie: goneSession },
      expected: always("missing_api_key"),
    },
    {
      name: "the session of a disabled principal",
      headers: { cookie: disabledSession },
      expected: always("missing_api_key"),
    },
    {
      name: "a key in the session's cookie",
      headers: { cookie: `proxy_session=${admin.key}` },
      expected: always("missing_api_key"),
    },
  ];
});
afterAll(() => harness.stop());

/** Reaches nothing that exists, so that whoever passes changes nothing. */
function send(route: RouteEntry, headers: Record<string, string>): Promise<Response> {
  const path = route.path.replaceAll(/:[a-z]+/g, "no-such-thing").replace("*", "");
  return call(harness, route.method, path, {
    headers: { "content-type": "application/json", ...headers },
    ...(route.method !== "GET" && { body: "[]" }),
  });
}

const routesOf = (...accesses: readonly Access[]) =>
  harness.app.routes.filter(({ access }) => accesses.includes(access));

describe("who may call what", () => {
  test("every route that asks for a caller decides alike on every credential", async () => {
    let cells = 0;
    for (const credential of credentials) {
      for (const route of routesOf("caller", "admin")) {
        const response = await send(route, credential.headers);
        const expected = credential.expected(route);
        const cell = `${route.method} ${route.path} with ${credential.name}`;
        if (expected === "passes") {
          expect({ cell, refused: [401, 403].includes(response.status) }).toEqual({ cell, refused: false });
          await response.body?.cancel();
        } else {
          expect({ cell, status: response.status }).toEqual({ cell, status: STATUS[expected] });
          await expectError(response, { status: STATUS[expected], code: expected, param: null });
        }
        cells += 1;
      }
    }
    expect(cells).toBe(credentials.length * routesOf("caller", "admin").length);
    expect(cells).toBeGreaterThan(900);
  });

  test("a public route answers whatever the credential, and asks only a browser's sign-in where it comes from", async () => {
    for (const credential of credentials) {
      for (const route of routesOf("public")) {
        if (route.path === "/auth/logout") continue;
        const { status } = await send(route, credential.headers);
        const isSignIn = route.path === "/auth/password";
        const foreign =
          credential.headers["origin"] === FOREIGN ||
          credential.headers["origin"] === "null" ||
          "sec-fetch-site" in credential.headers;
        const cell = `${route.method} ${route.path} with ${credential.name}`;
        expect({ cell, refused: [401, 403].includes(status) }).toEqual({
          cell,
          refused: isSignIn && foreign,
        });
      }
    }
  });

  test("the public routes are the ones that the specification names, and no others", () => {
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
      "GET /v1/models",
      "POST /auth/password",
    ]);
  });

  test("everything under /admin needs an admin, and nothing else does", () => {
    for (const { path, access } of harness.app.routes) {
      expect({ path, access: access === "admin" }).toEqual({ path, access: path.startsWith("/admin/v1/") });
    }
  });

  test("a HEAD is asked for its credential as a GET is", async () => {
    expect((await call(harness, "HEAD", "/admin/v1/providers", { headers: {} })).status).toBe(401);
    expect((await call(harness, "HEAD", "/admin/v1/providers")).status).toBe(200);
  });

  test("a deleted key fails on the very next request of a connection that stays open", async () => {
    const { key, keyId } = await createCaller(harness, "short-lived");
    const headers = { authorization: `Bearer ${key}` };
    expect((await call(harness, "GET", "/my/keys", { headers })).status).toBe(200);
    await call(harness, "DELETE", `/admin/v1/keys/${keyId}`);
    await expectError(await call(harness, "GET", "/my/keys", { headers }), {
      status: 401,
      code: "invalid_api_key",
    });
  });

  test("a refusal names no credential and a 401 says how to authenticate", async () => {
    const response = await call(harness, "GET", "/my/keys", {
      headers: { authorization: `Bearer ${UNKNOWN_KEY}` },
    });
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.text()).not.toContain(UNKNOWN_KEY);
  });
});

describe("the declaration", () => {
  const door = createDoor({
    authenticator: { authenticate: () => Promise.reject(new Error("not asked")) },
    publicUrl: null,
  });

  test("a route that declares nothing does not start", () => {
    const guard = createGuard(door, 1000);
    const declared = new Elysia().use(guard).get("/open", () => "open", { public: true });
    expect(toRouteTable(declared.routes)).toEqual([{ method: "GET", path: "/open", access: "public" }]);
    const forgotten = new Elysia()
      .use(guard)
      .get("/open", () => "open", { public: true })
      .post("/forgotten", () => "?");
    expect(() => toRouteTable(forgotten.routes)).toThrow("POST /forgotten does not declare who may call it");
  });

  test("an access that is not one of the three counts as none", () => {
    const detail = { summary: "x", "x-access": "everybody" };
    const misspelt = new Elysia().get("/x", () => "?", { detail });
    expect(() => toRouteTable(misspelt.routes)).toThrow("GET /x does not declare who may call it");
  });
});
